//! Recordings of a replication besides its figures.

use super::{Run, Scenario};
use airqueue_core::{Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::series::{FlowSeries, QueueSeries, Series, SeriesError};
use airqueue_network::wlan::pcap::{Pcap, PcapError, View};
use airqueue_network::wlan::tap::Tap;
use airqueue_wifi::medium::StationId;
use std::io::Write;

/// Time series with the names of their flows and queues, in the scenario's order.
#[derive(Debug)]
pub struct NamedSeries<'a> {
    /// Ends of the intervals, from the beginning of the warm-up.
    pub ends: &'a [Time],
    /// Flows.
    pub flows: Vec<(&'a str, &'a FlowSeries)>,
    /// Queues.
    pub queues: Vec<(&'a str, &'a QueueSeries)>,
}

impl Scenario {
    /// A capture for a replication that has not begun ([`Run::plug`]): of all frames on the air, or from the view of a
    /// station; see [`airqueue_network::network::NetworkSpec::pcap`].
    pub fn pcap<W: Write>(
        &self,
        station: Option<&str>,
        snap_bytes: u32,
        out: W,
    ) -> Result<Pcap<W>, PcapError> {
        let view = match station {
            None => View::Air,
            Some(name) => {
                let id = self.names.stations.iter().position(|known| known == name);
                let nobody = || PcapError::NoStation(format!("{name:?}"));
                View::Station(StationId(id.ok_or_else(nobody)? as u32))
            }
        };
        self.spec.pcap(view, snap_bytes, out)
    }
}

impl Run {
    /// Plugs in a tap, which observes every frame that ends from now on.
    pub fn plug(&mut self, tap: Box<dyn Tap>) {
        self.network.model.wlan_mut().plug(tap);
    }

    /// Removes the tap and returns it, if its type is `T`.
    pub fn unplug<T: Tap>(&mut self) -> Option<T> {
        self.network.model.wlan_mut().unplug()
    }

    /// Records time series of all flows, and of all queues that a flow feeds: one row per whole interval from the
    /// beginning of the warm-up.
    ///
    /// # Panics
    ///
    /// If the run has begun.
    pub fn record_series(&mut self, interval: Span) -> Result<(), SeriesError> {
        assert!(self.now() == Time::ZERO, "series begin with the run");
        let flows: Vec<_> = (0..self.names.flows.len()).map(FlowId::at).collect();
        let queues: Vec<_> = self.names.queues.iter().map(|&(queue, _)| queue).collect();
        self.series = Some(Series::new(interval, self.end(), &flows, &queues)?);
        Ok(())
    }

    /// The time series so far, if they are being recorded.
    pub fn series(&self) -> Option<NamedSeries<'_>> {
        let series = self.series.as_ref()?;
        let queues = self.names.queues.iter().map(|(_, name)| name.as_str());
        Some(NamedSeries {
            ends: &series.ends,
            flows: self.names.flows.iter().map(String::as_str).zip(&series.flows).collect(),
            queues: queues.zip(&series.queues).collect(),
        })
    }
}
