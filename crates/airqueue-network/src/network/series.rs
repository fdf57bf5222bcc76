//! Time series of a network: throughputs, delays, windows of TCP and queue lengths per interval.

use super::engine::Network;
use super::spec::QueueId;
use crate::FlowId;
use crate::counters::Delivered;
use crate::run_loop::{Clock, Simulation};
use airqueue_core::{Span, Time};
use airqueue_transport::tcp::Sender;
use thiserror::Error;

/// Columns that a run fills, one row per whole interval since time zero, warm-up included.
///
/// The network itself is unaware of the series: the run stops the network at the end of each interval and reads its
/// counters.
#[derive(Clone, Debug)]
pub struct Series {
    interval: Span,
    next: Time,
    /// The ends of the intervals.
    pub ends: Vec<Time>,
    /// The recorded flows.
    pub flows: Vec<FlowSeries>,
    /// The recorded queues.
    pub queues: Vec<QueueSeries>,
}

/// What reached the destination of a flow in each interval, and what TCP makes of the path.
#[derive(Clone, Debug)]
pub struct FlowSeries {
    /// The flow.
    pub flow: FlowId,
    /// IP bits per second.
    pub throughput_bps: Vec<f64>,
    /// Mean delay from source to destination of the delivered packets; NaN if none was delivered.
    pub delay_mean_s: Vec<f64>,
    /// TCP's congestion window at the end of the interval; NaN while the flow has no connection.
    pub cwnd_bytes: Vec<f64>,
    /// TCP's smoothed round-trip time at the end of the interval (RFC 6298); NaN before the first sample too.
    pub srtt_s: Vec<f64>,
    before: Delivered,
}

/// Packets waiting in a queue, driver ring included.
#[derive(Clone, Debug)]
pub struct QueueSeries {
    /// The queue.
    pub queue: QueueId,
    /// Mean length over the interval.
    pub length_mean_packets: Vec<f64>,
    /// Length at the end of the interval.
    pub length_packets: Vec<f64>,
    before: i128,
}

/// Why a series cannot be recorded.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[expect(missing_docs)] // the messages say it
pub enum SeriesError {
    #[error("an interval of {0}; it must be longer than nothing")]
    Interval(Span),
    #[error(
        "{rows} intervals of {columns} columns are more than {} values; choose a longer interval, or fewer \
         flows and queues",
        Series::MOST_VALUES
    )]
    TooMany { rows: i64, columns: usize },
}

impl Series {
    /// The largest number of values of all columns together: 1 GiB.
    pub const MOST_VALUES: i64 = 1 << 27;

    /// Empty columns for some flows and queues of a network at time zero that will run to `end`.
    pub fn new(
        interval: Span,
        end: Time,
        flows: &[FlowId],
        queues: &[QueueId],
    ) -> Result<Series, SeriesError> {
        if interval <= Span::ZERO {
            return Err(SeriesError::Interval(interval));
        }
        let rows = end.as_nanos() / interval.as_nanos();
        let columns = 1 + 4 * flows.len() + 2 * queues.len();
        if rows.saturating_mul(columns as i64) > Self::MOST_VALUES {
            return Err(SeriesError::TooMany { rows, columns });
        }
        let flow = |&flow: &FlowId| FlowSeries {
            flow,
            throughput_bps: Vec::new(),
            delay_mean_s: Vec::new(),
            cwnd_bytes: Vec::new(),
            srtt_s: Vec::new(),
            before: Delivered::default(),
        };
        let queue = |&queue: &QueueId| QueueSeries {
            queue,
            length_mean_packets: Vec::new(),
            length_packets: Vec::new(),
            before: 0,
        };
        Ok(Series {
            interval,
            next: Time::ZERO + interval,
            ends: Vec::new(),
            flows: flows.iter().map(flow).collect(),
            queues: queues.iter().map(queue).collect(),
        })
    }

    /// Runs the network to what is due at `until`, and reads its counters at the end of each interval.
    ///
    /// # Panics
    ///
    /// If the network does not have a recorded flow or queue.
    pub fn run_before<C: Clock>(&mut self, network: &mut Simulation<Network, C>, until: Time) {
        while self.next <= until {
            network.run_before(self.next);
            self.read(&mut network.model);
            self.next += self.interval;
        }
        network.run_before(until);
    }

    /// An interval ends.
    fn read(&mut self, network: &mut Network) {
        let (now, seconds) = (self.next, self.interval.as_secs_f64());
        self.ends.push(now);
        for of in &mut self.flows {
            let after = network.delivered_ever(of.flow);
            let packets = after.counters.packets - of.before.counters.packets;
            let bytes = after.counters.bytes - of.before.counters.bytes;
            let delay_ns = after.delay_ns - of.before.delay_ns;
            of.throughput_bps.push(8.0 * bytes as f64 / seconds);
            // 0/0 is NaN.
            of.delay_mean_s.push(1e-9 * delay_ns as f64 / packets as f64);
            let sender = network.sender(of.flow);
            of.cwnd_bytes.push(sender.map_or(f64::NAN, |sender| sender.cwnd_bytes() as f64));
            let srtt = sender.and_then(Sender::srtt);
            of.srtt_s.push(srtt.map_or(f64::NAN, Span::as_secs_f64));
            of.before = after;
        }
        for of in &mut self.queues {
            let packet_time = network.packet_time_ever(of.queue, now);
            of.length_mean_packets.push(1e-9 * (packet_time - of.before) as f64 / seconds);
            of.length_packets.push(network.waiting(of.queue).0 as f64);
            of.before = packet_time;
        }
    }
}
