//! One session: quiet, flood, drain, quiet.

use crate::args::ClientArgs;
use airqueue_core::Span;
use airqueue_probe::plan::{Plan, Segment};
use serde_json::{Value, json};

/// Five-tuples: the flood, and two that probe (as many as the Python method's).
pub(crate) const FLOWS: u8 = 3;
/// Part of the flood that fills the queue; the rest holds it full.
const FILL_SHARE: f64 = 0.3;

/// The plan of one session.
pub(crate) fn session(args: &ClientArgs) -> Plan {
    let flood_end = args.baseline + args.duration;
    let quiet_again = flood_end + args.drain;
    let segment = |flow, start: f64, duration: f64, rate: f64| Segment {
        flow,
        start: Span::from_secs_f64(start),
        duration: Span::from_secs_f64(duration),
        count: (duration * rate).round().clamp(1.0, f64::from(u32::MAX)) as u32,
        size: args.size,
        traffic_class: 0,
    };
    // Two flows take turns: one shared queue treats both alike.
    let gap = 1.0 / args.baseline_rate;
    let quiet = |start: f64, flow: u8| {
        let shift = gap * f64::from(flow - 1);
        segment(flow, start + shift, args.baseline, args.baseline_rate / 2.0)
    };
    Plan {
        segments: vec![
            quiet(0.0, 1),
            quiet(0.0, 2),
            segment(0, args.baseline, args.duration, args.rate),
            quiet(quiet_again, 1),
            quiet(quiet_again, 2),
        ],
    }
}

/// Data about a session for `airqueue analyze`.
pub(crate) fn meta(args: &ClientArgs, index: u32) -> Value {
    let flood = args.baseline;
    let hold = flood + FILL_SHARE * args.duration;
    let drain = flood + args.duration;
    let after = drain + args.drain;
    json!({
        "kind": "session",
        "profile": "capture",
        "size_bytes": args.size,
        "index": index,
        "phases": {
            "quiet": [0.0, flood],
            "fill": [flood, hold],
            "hold": [hold, drain],
            "drain": [drain, after],
            "after": [after, after + args.baseline],
        },
    })
}
