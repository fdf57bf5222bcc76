//! The figures of messages that consist of several packets: pictures, and answers to requests.

use super::reported::{FrameFigures, PingFigures};
use airqueue_core::Span;
use airqueue_network::network::MessageCounters;

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl PingFigures {
    /// The figures of requests and their answers.
    pub(super) fn of(messages: &MessageCounters) -> PingFigures {
        let (took, times) = (&messages.complete.took, &messages.complete.times);
        PingFigures {
            requests: messages.sent,
            answered: took.count,
            loss_ratio: share(messages.lost, messages.lost + took.count),
            round_trip_mean_s: took.mean_s(),
            round_trip_sd_s: took.sd_s(),
            round_trip_p50_s: took.quantile_s(times, 0.5),
            round_trip_p95_s: took.quantile_s(times, 0.95),
            round_trip_p99_s: took.quantile_s(times, 0.99),
            round_trip_max_s: took.greatest_s(),
        }
    }
}

impl FrameFigures {
    /// The figures of pictures that are late after `deadline`.
    pub(super) fn of(messages: &MessageCounters, deadline: Span) -> FrameFigures {
        let (took, times) = (&messages.complete.took, &messages.complete.times);
        let known = messages.lost + took.count;
        FrameFigures {
            frames: messages.sent,
            complete_frames: took.count,
            deadline_s: deadline.as_secs_f64(),
            late_ratio: share(messages.late + messages.lost, known),
            loss_ratio: share(messages.lost, known),
            frame_delay_mean_s: took.mean_s(),
            frame_delay_sd_s: took.sd_s(),
            frame_delay_p50_s: took.quantile_s(times, 0.5),
            frame_delay_p95_s: took.quantile_s(times, 0.95),
            frame_delay_p99_s: took.quantile_s(times, 0.99),
            frame_delay_max_s: took.greatest_s(),
        }
    }
}
