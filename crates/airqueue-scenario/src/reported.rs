//! The reported figures of a replication: names, units and meaning.
//!
//! Each name, its type and its comment stand only here: the schema made from them becomes the types that Python checks
//! and the tables of `docs/simulate.md`. The unit is in the name: `_bps` bits per second, `_s` seconds, `_packets`
//! packets, `_ratio` a share from 0 to 1; a name without a unit is a count. All figures cover the time after the
//! warm-up, and a figure is `null` where its divisor is zero.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// Figures by the name of their subject, in the scenario's order.
pub(super) struct Named<'a, F>(pub(super) Vec<(&'a str, F)>);

impl<F: Serialize> Serialize for Named<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, figures) in &self.0 {
            map.serialize_entry(name, figures)?;
        }
        map.end()
    }
}

impl<F: JsonSchema> JsonSchema for Named<'_, F> {
    fn schema_name() -> Cow<'static, str> {
        format!("Named{}", F::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let figures = generator.subschema_for::<F>();
        json_schema!({ "type": "object", "additionalProperties": figures })
    }
}

/// The figures of a replication by kind and name.
#[derive(Serialize, JsonSchema)]
pub(super) struct Figures<'a> {
    /// Simulated time that the figures stand for, without the warm-up.
    pub(super) duration_s: f64,
    /// What became of the packets of each flow.
    pub(super) flows: Named<'a, FlowFigures>,
    /// What TCP did for each flow that TCP governs.
    pub(super) connections: Named<'a, ConnectionFigures>,
    /// How good each call is.
    pub(super) calls: Named<'a, CallFigures>,
    /// What each station sent.
    pub(super) stations: Named<'a, StationFigures>,
    /// What happened in each queue that a flow feeds, and in each in front of a wired link. A queue is called as its station,
    /// with EDCA `sta1.be`, or as its wired link, `server->ap`.
    pub(super) queues: Named<'a, QueueFigures>,
    /// What all stations together did, and how the time was used.
    pub(super) medium: MediumFigures,
}

/// What became of the packets of a flow.
#[derive(Serialize, JsonSchema)]
pub(super) struct FlowFigures {
    /// Made by the source; of a saturated source what its queue took.
    pub(super) offered_bps: Option<f64>,
    /// Decoded by the destination, each packet once.
    pub(super) throughput_bps: Option<f64>,
    /// Made by the source; of a saturated source those that its queue took.
    pub(super) offered_packets: u64,
    /// Decoded by the destination, each packet once; those behind a gap when the gap is closed.
    pub(super) delivered_packets: u64,
    /// Of the delivered ones, those with a mark of congestion (CE).
    pub(super) marked_packets: u64,
    /// Dropped by a queue.
    pub(super) queue_drops_packets: u64,
    /// Given up by the MAC after the last retry, or at the end of their lifetime.
    pub(super) given_up_packets: u64,
    /// At the end in a queue or in a MAC.
    pub(super) under_way_packets: u64,
    /// Dropped or given up, of all that were dropped, given up or delivered.
    pub(super) loss_ratio: Option<f64>,
    /// The PHY's data rate at which its packets were sent last, mean over those that the MAC is done with.
    pub(super) data_rate_mean_bps: Option<f64>,
    /// Delay from the source to the end of the frame, or of the wired link, that delivers the packet; of a saturated source from the
    /// moment when its queue had room. Mean over the delivered packets.
    pub(super) delay_mean_s: Option<f64>,
    /// Median of that delay. Quantiles are read from buckets of 1/32 of an octave: to 1.6 %.
    pub(super) delay_p50_s: Option<f64>,
    /// 95 % of the packets had no longer delay.
    pub(super) delay_p95_s: Option<f64>,
    /// 99 % of the packets had no longer delay.
    pub(super) delay_p99_s: Option<f64>,
    /// The longest delay.
    pub(super) delay_max_s: Option<f64>,
    /// Interarrival jitter of RFC 3550 (6.4.1, A.8), which follows the differences of successive packets' delays: its mean over
    /// all packets. A report of RTCP has its value at one moment.
    pub(super) jitter_s: Option<f64>,
}

/// What TCP did for a flow.
#[derive(Serialize, JsonSchema)]
pub(super) struct ConnectionFigures {
    /// Data that reached the application, in order; `throughput_bps` of the flow has headers and what arrived twice too.
    pub(super) goodput_bps: Option<f64>,
    /// Segments sent with data or FIN.
    pub(super) segments: u64,
    /// Segments that had been sent before.
    pub(super) retransmitted_segments: u64,
    /// Their share of all segments.
    pub(super) retransmitted_ratio: Option<f64>,
    /// Times that a fast recovery began.
    pub(super) fast_recoveries: u64,
    /// Times that the retransmission timer ran out.
    pub(super) timeouts: u64,
    /// Mean round-trip time, what segments wait in their sender's own queue included: for each acknowledgement of new data the
    /// time since the newest segment that it acknowledges was sent, if that was sent once. Whatever the options of TCP let
    /// its timers measure.
    pub(super) rtt_mean_s: Option<f64>,
    /// Packets that the receiver sent back.
    pub(super) ack_packets: u64,
    /// Of the packets that the receiver sent back, those that a queue dropped or a MAC gave up.
    pub(super) lost_ack_packets: u64,
    /// Transfers that ended.
    pub(super) sessions: u64,
    /// How long transfers took, from the first SYN, or the first segment without one, to the acknowledgement of the last: mean.
    pub(super) session_mean_s: Option<f64>,
    /// Median of how long transfers took.
    pub(super) session_p50_s: Option<f64>,
    /// 95 % of the transfers took no longer.
    pub(super) session_p95_s: Option<f64>,
    /// The longest transfer.
    pub(super) session_max_s: Option<f64>,
}

/// What a listener gets of a call; `null` where no packet came.
#[derive(Serialize, JsonSchema)]
pub(super) struct CallFigures {
    /// R of the E-model; below 0 is as bad as 0. From R = 80 on most people are satisfied, below 70 many are not, below 60
    /// nearly nobody is (ITU-T G.109).
    pub(super) r_factor: Option<f64>,
    /// Mean opinion score, 1 to 4.5: 4.0 at R = 80, 3.6 at 70, 3.1 at 60.
    pub(super) mos: Option<f64>,
    /// Network, playout and coding.
    pub(super) mouth_to_ear_s: Option<f64>,
    /// Packets that came too late to be played, of those that were dropped, given up or delivered; `loss_ratio` of the flow has
    /// the other missing ones.
    pub(super) late_ratio: Option<f64>,
}

/// What a station sent.
#[derive(Serialize, JsonSchema)]
pub(super) struct StationFigures {
    /// First frames of exchanges that it sent: RTS, or data without RTS.
    pub(super) attempts: u64,
    /// Of its attempts, those destroyed at their receiver by other frames, or because the receiver was busy with another or
    /// transmitted itself.
    pub(super) collided_ratio: Option<f64>,
    /// Of its attempts, those that no response completed, for whatever reason.
    pub(super) failed_ratio: Option<f64>,
    /// Packets whose acknowledgement its MAC got.
    pub(super) acknowledged_packets: u64,
    /// Packets that its MAC gave up.
    pub(super) given_up_packets: u64,
    /// Times that one of its queues went before a queue of lower priority.
    pub(super) internal_collisions: u64,
    /// Share of the time in which it transmits.
    pub(super) airtime_ratio: Option<f64>,
    /// Share of the time in which it transmits RTS.
    pub(super) rts_airtime_ratio: Option<f64>,
    /// Share of the time in which it transmits CTS.
    pub(super) cts_airtime_ratio: Option<f64>,
    /// Share of the time in which it transmits data.
    pub(super) data_airtime_ratio: Option<f64>,
    /// Share of the time in which it transmits ACK and block ack.
    pub(super) ack_airtime_ratio: Option<f64>,
    /// Packets in a data frame, those that are sent again included.
    pub(super) mpdus_per_frame: Option<f64>,
    /// Share of the time in which it senses frames or transmits.
    pub(super) busy_ratio: Option<f64>,
}

/// What happened in a queue.
#[derive(Serialize, JsonSchema)]
pub(super) struct QueueFigures {
    /// Offered to the queue.
    pub(super) offered_packets: u64,
    /// Dropped by the queue.
    pub(super) dropped_packets: u64,
    /// Of the dropped ones, those dropped because the queue was full.
    pub(super) dropped_full_packets: u64,
    /// Of the dropped ones, those dropped although the queue was not full, to slow the sender down.
    pub(super) dropped_early_packets: u64,
    /// Of the dropped ones, TCP acknowledgements that a later one made redundant: those that CAKE's ACK filter drops.
    pub(super) dropped_filtered_packets: u64,
    /// Marked to slow the sender down, and not dropped.
    pub(super) marked_packets: u64,
    /// Taken by the MAC, or by the wired link.
    pub(super) taken_packets: u64,
    /// Waiting in queue and ring, mean over time; the packet that the MAC is busy with is in neither.
    pub(super) length_mean_packets: Option<f64>,
    /// The most that waited at any time.
    pub(super) length_max_packets: u64,
    /// From arriving in the queue to the MAC, mean over the packets that the MAC took.
    pub(super) waiting_mean_s: Option<f64>,
    /// The longest that a packet waited.
    pub(super) waiting_max_s: Option<f64>,
}

/// What all stations together did, and how the time was used.
///
/// The shares of time are sums over all stations: frames that are on the air together count each, so that the sum may
/// exceed 1.
#[derive(Serialize, JsonSchema)]
pub(super) struct MediumFigures {
    /// Throughput of all flows.
    pub(super) throughput_bps: Option<f64>,
    /// Of all stations' attempts, those that collided.
    pub(super) collided_ratio: Option<f64>,
    /// Time of data frames that were decoded.
    pub(super) data_airtime_ratio: Option<f64>,
    /// Time of data frames that were not decoded.
    pub(super) lost_data_airtime_ratio: Option<f64>,
    /// Time of all other frames.
    pub(super) control_airtime_ratio: Option<f64>,
    /// (Σx)² / (n Σx²) of the flows' throughputs: 1 if all are equal, 1/n if one has all.
    pub(super) throughput_jain_index: Option<f64>,
    /// Goodput of all TCP connections.
    pub(super) goodput_bps: Option<f64>,
    /// Transfers of all TCP flows that ended.
    pub(super) sessions: u64,
    /// How long those took, mean.
    pub(super) session_mean_s: Option<f64>,
    /// 95 % of those took no longer.
    pub(super) session_p95_s: Option<f64>,
}
