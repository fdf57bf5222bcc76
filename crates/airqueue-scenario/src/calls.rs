//! The quality of a conversation over the packets of a call.

use super::reported::CallFigures;
use airqueue_network::counters::HopCounters;
use airqueue_transport::traffic::Call;
use airqueue_transport::voice;

/// The quality of a call with a fixed delay from a packet's origin to its playout.
struct CallQuality {
    mouth_to_ear_s: f64,
    late_packets: u64,
    r_factor: f64,
}

impl CallFigures {
    /// The figures of a call, from the counters of its packets.
    pub(super) fn of(call: &Call, counters: &HopCounters) -> CallFigures {
        let lost = counters.dropped.packets + counters.given_up.packets;
        let met = lost + counters.delivered.packets;
        let quality = CallQuality::best(call, counters, lost);
        CallFigures {
            r_factor: quality.as_ref().map(|quality| quality.r_factor),
            mos: quality.as_ref().map(|quality| voice::mos(quality.r_factor)),
            mouth_to_ear_s: quality.as_ref().map(|quality| quality.mouth_to_ear_s),
            late_ratio: quality.map(|quality| quality.late_packets as f64 / met as f64),
        }
    }
}

impl CallQuality {
    /// The best playout delay. Delays are known to a bucket of the histogram: the end of each bucket is a candidate.
    fn best(call: &Call, counters: &HopCounters, lost: u64) -> Option<CallQuality> {
        let longest_s = counters.delay.greatest.as_secs_f64();
        let mut in_time = 0;
        let steps: Vec<(f64, u64)> = (counters.delays.steps())
            .map(|(end_s, count)| {
                in_time += count;
                (end_s.min(longest_s), in_time)
            })
            .collect();
        let quality = |network_s: f64, in_time: u64| {
            let late_packets = counters.delivered.packets - in_time;
            let met = (lost + counters.delivered.packets) as f64;
            let coding_s = voice::coding_delay_s(call.codec, f64::from(call.frames));
            let mouth_to_ear_s = coding_s + network_s;
            let missing = (lost + late_packets) as f64 / met;
            let r_factor = call.codec.r_factor(mouth_to_ear_s, missing, 1.0);
            CallQuality { mouth_to_ear_s, late_packets, r_factor }
        };
        let &(fastest_s, _) = steps.first()?;
        if let Some(playout) = call.playout {
            let network_s = fastest_s + playout.as_secs_f64();
            let (_, in_time) = *steps.iter().rfind(|&&(end_s, _)| end_s <= network_s)?;
            return Some(quality(network_s, in_time));
        }
        let each = steps.iter().map(|&(end_s, in_time)| quality(end_s, in_time));
        // The shorter of two equally good delays.
        each.reduce(|best, next| if next.r_factor > best.r_factor { next } else { best })
    }
}
