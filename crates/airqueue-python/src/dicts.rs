//! Dictionaries passed to Python: names, types, units and meaning.
//!
//! The comments are Python's too: the schema of these structs becomes the types of `airqueue.records`. The unit is in the name,
//! and times whose names end in `_ns` are whole nanoseconds.

use crate::live_dicts::DelaysBelowDict;
use airqueue_probe::records::RunEnd;
use numpy::{Element, IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use std::convert::Infallible;

/// One value for each row, as an array of numpy.
#[derive(IntoPyObject)]
#[pyo3(transparent)]
pub(crate) struct Column<'py, T: Element>(Bound<'py, PyArray1<T>>);

impl<'py, T: Element> Column<'py, T> {
    /// The values move, nothing is copied.
    pub(crate) fn new(py: Python<'py>, values: Vec<T>) -> Self {
        Column(values.into_pyarray(py))
    }
}

/// NumPy's name of the type of an array's elements.
pub(crate) trait Dtype: Element {
    const NAME: &'static str;
}

macro_rules! dtypes {
    ($($rust:ty => $name:literal),* $(,)?) => {
        $(impl Dtype for $rust { const NAME: &'static str = $name; })*
    };
}

dtypes!(
    bool => "bool_", f64 => "float64", i64 => "int64", u8 => "uint8", u16 => "uint16", u64 => "uint64",
);

impl<T: Dtype> JsonSchema for Column<'_, T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Column{}", T::NAME).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "x-numpy": T::NAME })
    }
}

/// Dictionaries by the name of their subject, in the scenario's order.
pub(crate) struct Named<T>(pub(crate) Vec<(String, T)>);

impl<'py, T: IntoPyObject<'py>> IntoPyObject<'py> for Named<T> {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.0 {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Named{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let values = generator.subschema_for::<T>();
        json_schema!({ "type": "object", "additionalProperties": values })
    }
}

/// How a run ended, in one word.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct End(pub(crate) RunEnd);

const ENDS: [(RunEnd, &str); 4] = [
    (RunEnd::Complete, "complete"),
    (RunEnd::Cancelled, "cancelled"),
    (RunEnd::ReceiverSilent, "receiver_silent"),
    (RunEnd::SenderSilent, "sender_silent"),
];

impl End {
    /// The end that a word stands for.
    pub(crate) fn named(word: &str) -> Option<RunEnd> {
        ENDS.iter().find(|(_, known)| *known == word).map(|(end, _)| *end)
    }

    fn word(self) -> Option<&'static str> {
        ENDS.iter().find(|(end, _)| *end == self.0).map(|(_, word)| *word)
    }
}

impl<'py> IntoPyObject<'py> for End {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Infallible> {
        self.word().into_pyobject(py)
    }
}

impl JsonSchema for End {
    fn schema_name() -> Cow<'static, str> {
        "End".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": ENDS.map(|(_, word)| word) })
    }
}

/// Reports of the hosts at both ends of a run.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct HostDict {
    /// Packets that the sending host's own buffer refused.
    pub(crate) send_blocked: u64,
    /// Packets that overflowed the receiving host's socket buffer, as its kernel counted them.
    pub(crate) receive_overflow: u64,
    /// Second and later copies of a packet.
    pub(crate) duplicates: u64,
    /// Wall-clock steps seen while mapping timestamps, sender and receiver together.
    pub(crate) clock_steps: u64,
    /// Whether receive times are the kernel's.
    pub(crate) kernel_receive_timestamps: bool,
    /// Whether the server also carried packets of other clients during the run.
    pub(crate) shared: bool,
}

/// The records of a run: columns of equal length, one row per packet in the order of sending. Times are in nanoseconds;
/// the smallest int64 stands for a missing time.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct RunDict<'py> {
    /// Planned send time of the packet.
    pub(crate) scheduled_ns: Column<'py, i64>,
    /// Send time of the packet.
    pub(crate) sent_ns: Column<'py, i64>,
    /// The kernel's transmit timestamp of the packet.
    pub(crate) kernel_tx_ns: Column<'py, i64>,
    /// Receive time of the packet.
    pub(crate) received_ns: Column<'py, i64>,
    /// Flow of the packet.
    pub(crate) flow: Column<'py, u8>,
    /// Size of the IP packet.
    pub(crate) size_bytes: Column<'py, u16>,
    /// Traffic class of the packet as its sender wrote it: DSCP times 4, plus ECN. None if classes were not recorded.
    pub(crate) sent_class: Option<Column<'py, u8>>,
    /// Traffic class of the packet on arrival; 0 if it did not arrive. None if classes were not recorded.
    pub(crate) received_class: Option<Column<'py, u8>>,
    /// Reports of the hosts.
    pub(crate) host: HostDict,
    /// How the run ended.
    pub(crate) end: End,
}

/// The state of a run.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct PollDict {
    /// The phase of the run.
    #[schemars(extend("enum" = ["running", "collecting", "done", "failed"]))]
    pub(crate) state: &'static str,
    /// Why the run failed.
    pub(crate) reason: Option<String>,
    /// Time since the run began.
    pub(crate) elapsed_s: f64,
    /// Planned length of the run.
    pub(crate) planned_s: f64,
    /// Packets received; upwards, as the server last reported.
    pub(crate) received: u64,
    /// Packets that later ones overtook; upwards, as the server last reported.
    pub(crate) lost: u64,
    /// Recent one-way delay above the least seen in this run; none until known.
    pub(crate) delay_s: Option<f64>,
    /// Estimated time until the run's turn, where other clients measure with the server; none in its turn.
    pub(crate) waits_s: Option<f64>,
    /// Runs of other clients that come first.
    pub(crate) runs_ahead: u16,
    /// Zero of the recorded times that were read here, on `CLOCK_MONOTONIC`: of `received_ns` downwards, of `scheduled_ns`,
    /// `sent_ns` and `kernel_tx_ns` upwards. Also after the run; none upwards before the run begins.
    pub(crate) epoch_ns: Option<i64>,
    /// When the run began as seen from here, on `CLOCK_MONOTONIC`: upwards the epoch, downwards the least of arrival minus
    /// send time. Also after the run; none before its first packet.
    pub(crate) started_ns: Option<i64>,
}

/// The limits of a server.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct LimitsDict {
    /// Highest IP bit rate of a plan, all flows together.
    pub(crate) max_bits_per_s: u64,
    /// Highest packet rate of a plan, all flows together, and of all sessions.
    pub(crate) max_packets_per_s: u64,
    /// Longest run.
    pub(crate) max_run_s: f64,
    /// Most packets in one run.
    pub(crate) max_packets: u32,
    /// Most sessions at a time.
    pub(crate) max_sessions: u32,
    /// Most sessions at a time from one IP address.
    pub(crate) max_sessions_per_address: u32,
}

/// Counters of a server since its start.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct ServerStatsDict {
    /// Sessions open now.
    pub(crate) sessions: u32,
    /// Sessions opened in all.
    pub(crate) sessions_opened: u64,
    /// Requests to open, to join or to run a plan that were refused with a reason.
    pub(crate) refused: u64,
    /// Datagrams that were malformed or belonged to no session.
    pub(crate) ignored: u64,
    /// Runs begun.
    pub(crate) runs: u64,
    /// Datagrams received.
    pub(crate) datagrams_received: u64,
    /// Datagrams sent.
    pub(crate) datagrams_sent: u64,
}

/// The true length of a simulated queue during the last run. The columns have a row after each change of the queue, and
/// are empty unless the configuration asks for them.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct TruthDict<'py> {
    /// Largest number of waiting packets; the packet in service is excluded.
    pub(crate) max_waiting_packets: u64,
    /// Largest number of waiting bytes, link-layer bytes included.
    pub(crate) max_waiting_bytes: u64,
    /// Time of each change, on the path's clock.
    pub(crate) at_ns: Column<'py, i64>,
    /// Packets waiting after the change.
    pub(crate) packets: Column<'py, u64>,
    /// Bytes waiting after the change.
    pub(crate) bytes: Column<'py, u64>,
}

/// Throughput and delay of a flow, and TCP's window, a value for each interval.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct FlowSeriesDict<'py> {
    /// Bits of IP packets per second.
    pub(crate) throughput_bps: Column<'py, f64>,
    /// Delay from source to destination of the packets that were delivered in the interval; NaN if none was.
    pub(crate) delay_mean_s: Column<'py, f64>,
    /// Congestion window of TCP's present connection at the end of the interval; NaN without one.
    pub(crate) cwnd_bytes: Column<'py, f64>,
    /// Smoothed round-trip time of that connection (RFC 6298); NaN before its first sample too.
    pub(crate) srtt_s: Column<'py, f64>,
}

/// Packets waiting in a queue, driver ring included, a value for each interval.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct QueueSeriesDict<'py> {
    /// Mean over the interval.
    pub(crate) length_mean_packets: Column<'py, f64>,
    /// At the end of the interval.
    pub(crate) length_packets: Column<'py, f64>,
}

/// Time series of a network: a row for each whole interval.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct SeriesDict<'py> {
    /// The ends of the intervals, counted from the beginning of the warm-up.
    pub(crate) time_s: Column<'py, f64>,
    /// The series of each flow.
    pub(crate) flows: Named<FlowSeriesDict<'py>>,
    /// The series of each queue that a flow feeds, and of each queue before a wired link.
    pub(crate) queues: Named<QueueSeriesDict<'py>>,
}

/// Counters of saturated queues: totals of the medium, and one value for each contender in the contenders' order.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct ContentionDict<'py> {
    /// Idle slots between the end of the smallest AIFS and each transmission.
    pub(crate) idle_slots: u64,
    /// Busy periods, successful or not.
    pub(crate) transmissions: u64,
    /// Busy periods in which several stations transmitted.
    pub(crate) collided: u64,
    /// Transmissions of the contender: successes and collisions.
    pub(crate) attempts: Column<'py, u64>,
    /// Transmissions without a collision.
    pub(crate) successes: Column<'py, u64>,
    /// Transmissions that collided with the transmission of another station.
    pub(crate) collisions: Column<'py, u64>,
    /// Number of times that a queue of higher priority in the node transmitted instead.
    pub(crate) internal_collisions: Column<'py, u64>,
    /// Packets given up after the last retry.
    pub(crate) drops: Column<'py, u64>,
    /// Packets delivered.
    pub(crate) packets: Column<'py, u64>,
}

/// The buffers of a flow of a mesh, as its routers compute them.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct MeshBuffersDict {
    /// B: packets that the nodes in the bottleneck hold together; not rounded.
    pub(crate) buffer_packets: f64,
    /// Link in the middle of the bottleneck, by its index.
    pub(crate) centre: usize,
    /// The flow's hops in the bottleneck, from 0 at the source.
    pub(crate) hops: Vec<usize>,
    /// How much of its time the bottleneck is used.
    pub(crate) utilisation: f64,
    /// Whether the bottleneck is full.
    pub(crate) full: bool,
    /// Limits of the transmitting nodes of the route, from the source.
    pub(crate) packets: Vec<u32>,
}

/// What a router of a mesh sets.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct MeshLimitDict {
    /// Number of the flow whose queue it is; none: the router's one queue.
    pub(crate) flow: Option<u32>,
    /// The limit; none gives the queue back what it holds without this.
    pub(crate) packets: Option<u32>,
}

/// Why a router of a mesh has this limit for a flow, or none.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct MeshReasonDict {
    /// Number of the flow.
    pub(crate) flow: u32,
    /// The reason.
    pub(crate) reason: String,
}

/// A decision of a router of a mesh.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct MeshDecisionDict {
    /// What is to be set.
    pub(crate) changes: Vec<MeshLimitDict>,
    /// The reasons of all active flows of the router.
    pub(crate) reasons: Vec<MeshReasonDict>,
}

/// The fate of packets in a queue before a token bucket: in the arrays one value for each packet, in order.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct FatesDict<'py> {
    /// When the packet left; the smallest int64 if the packet was dropped.
    pub(crate) left_ns: Column<'py, i64>,
    /// Whether the packet had a congestion mark when it left.
    pub(crate) marked: Column<'py, bool>,
    /// Warnings on the queue's table, a sentence each.
    pub(crate) warnings: Vec<String>,
}

/// A codec of calls.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct CodecDict {
    /// Ie of ITU-T G.113: impairment without loss.
    pub(crate) ie: f64,
    /// Bpl of ITU-T G.113: robustness against loss, in percent.
    pub(crate) bpl: f64,
    /// Speech in a frame.
    pub(crate) frame_s: f64,
    /// Speech that the coder needs beyond the frame, or that loss concealment holds back.
    pub(crate) lookahead_s: f64,
    /// Usual number of frames per packet.
    pub(crate) frames_per_packet: u32,
    /// Rate of its frames, without headers.
    pub(crate) rate_bps: f64,
}

/// What the medium gave to a link: times from the beginning of the warm-up.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct OpportunitiesDict<'py> {
    /// Each time at which the sum of the delivered bytes passed a multiple of 1500.
    pub(crate) at_ns: Column<'py, i64>,
    /// The beginnings of times in which no packet waited.
    pub(crate) idle_from_ns: Column<'py, i64>,
    /// Their ends.
    pub(crate) idle_to_ns: Column<'py, i64>,
    /// The beginning.
    pub(crate) from_ns: i64,
    /// The end.
    pub(crate) until_ns: i64,
}

/// An emulation so far: the packets of real programs, and how well the emulation kept up with the wall clock.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct EmulationDict {
    /// Wall-clock time since the end of the warm-up.
    pub(crate) duration_s: f64,
    /// Packets written to real nodes.
    pub(crate) written_packets: u64,
    /// Median of the lateness of packets: written minus due.
    pub(crate) late_p50_s: Option<f64>,
    /// 99th percentile of the lateness.
    pub(crate) late_p99_s: Option<f64>,
    /// Largest lateness.
    pub(crate) late_max_s: Option<f64>,
    /// Share of packets that were late by more than a millisecond.
    pub(crate) late_ratio: Option<f64>,
    /// 99th percentile of the time that packets may have waited to be read, at most, as far as the emulation can know.
    pub(crate) read_late_p99_s: Option<f64>,
    /// Largest such time.
    pub(crate) read_late_max_s: Option<f64>,
    /// Share of packets that may have waited more than a millisecond to be read.
    pub(crate) read_late_ratio: Option<f64>,
    /// Packets that left the network and that a device did not take.
    pub(crate) unwritten_packets: u64,
    /// Packets in the network now.
    pub(crate) held_packets: u64,
    /// CPU time of the emulation's thread, as a share of one processor.
    pub(crate) cpu_ratio: Option<f64>,
    /// Whether the thread had a real-time priority.
    pub(crate) priority: bool,
    /// How many packets were late by less than each of some times.
    pub(crate) late_below: Vec<DelaysBelowDict>,
    /// The same of the time that packets may have waited to be read, at most.
    pub(crate) read_late_below: Vec<DelaysBelowDict>,
    /// The packets from each real node to each other, by `from->to`.
    pub(crate) pairs: Named<PairDict>,
    /// The packets that were not carried to their destination, by reason.
    pub(crate) refused: Named<RefusedDict>,
}

/// The packets from one real node to another.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct PairDict {
    /// Packets offered to the network.
    pub(crate) offered_packets: u64,
    /// Their IP bytes.
    pub(crate) offered_bytes: u64,
    /// Packets delivered by the network.
    pub(crate) delivered_packets: u64,
    /// Their IP bytes.
    pub(crate) delivered_bytes: u64,
    /// Packets dropped by queues of the network.
    pub(crate) dropped_packets: u64,
    /// Packets given up on the air, after the last retry, or lost in a wired link.
    pub(crate) given_up_packets: u64,
    /// Delivered packets that a queue of the network marked with CE.
    pub(crate) marked_packets: u64,
    /// Mean delay in the network.
    pub(crate) delay_mean_s: Option<f64>,
    /// Median of the delay.
    pub(crate) delay_p50_s: Option<f64>,
    /// 95th percentile of the delay.
    pub(crate) delay_p95_s: Option<f64>,
    /// 99th percentile of the delay.
    pub(crate) delay_p99_s: Option<f64>,
    /// Largest delay.
    pub(crate) delay_max_s: Option<f64>,
    /// Where and why packets were lost.
    pub(crate) losses: Vec<LossDict>,
}

/// Packets of a pair that were lost at one place for one reason.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct LossDict {
    /// The queue, the station that gave packets up, or the wired link.
    pub(crate) place: String,
    /// `full`, `early`, `filtered`, `oversize`, `policed`, `given_up` or `wire`.
    pub(crate) reason: &'static str,
    /// How many.
    pub(crate) packets: u64,
}

/// Packets that were not carried to their destination.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct RefusedDict {
    /// Packets.
    pub(crate) packets: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// How many of them a router has answered with an error.
    pub(crate) answered_packets: u64,
}

/// The JSON Schemas of these dictionaries, and of values passed as JSON, by name under `$defs`: Python's types are made
/// from them.
#[pyfunction]
pub(crate) fn result_schemas() -> (String, String) {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.subschema_for::<RunDict<'static>>();
    generator.subschema_for::<PollDict>();
    generator.subschema_for::<crate::load_dicts::LoadDict>();
    generator.subschema_for::<crate::load_dicts::LoadSeriesDict<'static>>();
    generator.subschema_for::<LimitsDict>();
    generator.subschema_for::<ServerStatsDict>();
    generator.subschema_for::<TruthDict<'static>>();
    generator.subschema_for::<SeriesDict<'static>>();
    generator.subschema_for::<OpportunitiesDict<'static>>();
    generator.subschema_for::<ContentionDict<'static>>();
    generator.subschema_for::<MeshBuffersDict>();
    generator.subschema_for::<MeshDecisionDict>();
    generator.subschema_for::<FatesDict<'static>>();
    generator.subschema_for::<CodecDict>();
    generator.subschema_for::<EmulationDict>();
    generator.subschema_for::<crate::live_dicts::LiveDict>();
    generator.subschema_for::<crate::live_dicts::TotalsDict>();
    generator.subschema_for::<crate::echo_dicts::EchoTargetDict>();
    generator.subschema_for::<crate::echo_dicts::EchoPollDict>();
    generator.subschema_for::<crate::echo_dicts::EchoSeriesDict<'static>>();
    generator.subschema_for::<crate::echo_dicts::HopDict>();
    let schemas = json_schema!({ "$defs": generator.take_definitions(true) });
    (schemas.as_value().to_string(), airqueue_scenario::reported_schema())
}
