//! The figures of messages that consist of several packets: pictures, answers to requests, web pages, and segments of a
//! video.

use super::figures::ratio;
use super::reported::{FrameFigures, PageFigures, PingFigures, VideoFigures};
use airqueue_core::Span;
use airqueue_network::counters::Timings;
use airqueue_network::network::{MessageCounters, PageCounters};
use airqueue_transport::traffic::VideoCounters;

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl PingFigures {
    /// The figures of requests and their answers.
    pub(super) fn of(messages: &MessageCounters) -> PingFigures {
        let answered = messages.complete.took.count;
        let [
            round_trip_mean_s,
            round_trip_sd_s,
            round_trip_p50_s,
            round_trip_p95_s,
            round_trip_p99_s,
            round_trip_max_s,
        ] = messages.complete.figures_s();
        PingFigures {
            requests: messages.sent,
            answered,
            loss_ratio: share(messages.lost, messages.lost + answered),
            round_trip_mean_s,
            round_trip_sd_s,
            round_trip_p50_s,
            round_trip_p95_s,
            round_trip_p99_s,
            round_trip_max_s,
        }
    }
}

impl FrameFigures {
    /// The figures of pictures that are late after `deadline`.
    pub(super) fn of(messages: &MessageCounters, deadline: Span) -> FrameFigures {
        let complete_frames = messages.complete.took.count;
        let known = messages.lost + complete_frames;
        let [
            frame_delay_mean_s,
            frame_delay_sd_s,
            frame_delay_p50_s,
            frame_delay_p95_s,
            frame_delay_p99_s,
            frame_delay_max_s,
        ] = messages.complete.figures_s();
        FrameFigures {
            frames: messages.sent,
            complete_frames,
            deadline_s: deadline.as_secs_f64(),
            late_ratio: share(messages.late + messages.lost, known),
            loss_ratio: share(messages.lost, known),
            frame_delay_mean_s,
            frame_delay_sd_s,
            frame_delay_p50_s,
            frame_delay_p95_s,
            frame_delay_p99_s,
            frame_delay_max_s,
        }
    }
}

impl PageFigures {
    /// The figures of a browser.
    pub(super) fn of(counters: &PageCounters) -> PageFigures {
        let [
            load_time_mean_s,
            load_time_sd_s,
            load_time_p50_s,
            load_time_p95_s,
            load_time_p99_s,
            load_time_max_s,
        ] = counters.pages.figures_s();
        let [
            document_time_mean_s,
            document_time_sd_s,
            document_time_p50_s,
            document_time_p95_s,
            document_time_p99_s,
            document_time_max_s,
        ] = counters.documents.figures_s();
        PageFigures {
            pages: counters.pages.took.count,
            objects: counters.objects,
            load_time_mean_s,
            load_time_sd_s,
            load_time_p50_s,
            load_time_p95_s,
            load_time_p99_s,
            load_time_max_s,
            document_time_mean_s,
            document_time_sd_s,
            document_time_p50_s,
            document_time_p95_s,
            document_time_p99_s,
            document_time_max_s,
        }
    }
}

impl VideoFigures {
    /// The figures of a video.
    pub(super) fn of(video: &VideoCounters, stalls: &Timings) -> VideoFigures {
        let [stall_mean_s, stall_sd_s, stall_p50_s, stall_p95_s, stall_p99_s, stall_max_s] =
            stalls.figures_s();
        let (played_s, stalled_s) = (video.played.as_secs_f64(), video.stalled.as_secs_f64());
        VideoFigures {
            segments: video.segments,
            rate_mean_bps: ratio(video.rates_bps as f64, video.segments as f64),
            rate_changes: video.switches,
            start_up_s: video.start_up.map(Span::as_secs_f64),
            played_s,
            stalls: video.stalls,
            stalls_per_hour: ratio(3600.0 * video.stalls as f64, played_s + stalled_s),
            stalled_ratio: ratio(stalled_s, played_s + stalled_s),
            stall_mean_s,
            stall_sd_s,
            stall_p50_s,
            stall_p95_s,
            stall_p99_s,
            stall_max_s,
        }
    }
}
