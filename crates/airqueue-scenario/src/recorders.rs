//! Recordings of a replication besides its figures.

use super::error::{Result, wrong};
use super::{Run, Scenario};
use airqueue_core::{Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::Opportunities;
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
    ) -> std::result::Result<Pcap<W>, PcapError> {
        let view = match station {
            None => View::Air,
            Some(name) => {
                let id = self.names.stations.iter().position(|known| known == name);
                let nobody = || PcapError::NoStation(format!("{name:?}"));
                View::Station(StationId(id.ok_or_else(nobody)? as u32))
            }
        };
        self.started_spec().pcap(view, snap_bytes, out)
    }
}

impl Scenario {
    /// The link of stations that a text such as `ap:phone` names, or all links from a station as in `ap`.
    pub(super) fn link(&self, text: &str) -> Result<(StationId, Option<StationId>)> {
        let find = |name: &str| {
            let found = self.names.stations.iter().position(|known| known == name);
            found.map(|id| StationId(id as u32))
        };
        // The name of a station may have a colon.
        if let Some(from) = find(text) {
            return Ok((from, None));
        }
        let (from, to) = text.split_once(':').unwrap_or((text, text));
        for name in [from, to] {
            if find(name).is_none() {
                let known = self.names.stations.join(", ");
                let problem = format_args!(
                    "there is no station {name:?}; name FROM:TO, or FROM, of the stations {known}"
                );
                return wrong("trace", problem);
            }
        }
        Ok((find(from).expect("it was found"), find(to)))
    }

    /// Has a run keep the delivery opportunities of a link ([`Self::link`]) after the warm-up.
    pub fn watch(&self, run: &mut Run, text: &str) -> Result<()> {
        let link = self.link(text)?;
        let begin = Time::ZERO + self.warm_up;
        if !run.network.model.start_watch(&self.started_spec(), link, begin) {
            return wrong("trace", format_args!("no flow has a hop over the link {text}"));
        }
        Ok(())
    }
}

impl Run {
    /// The delivery opportunities of the link that [`Scenario::watch`] has named, so far.
    pub fn opportunities(&self) -> Option<Opportunities> {
        self.network.model.opportunities(self.now())
    }

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
    pub fn record_series(&mut self, interval: Span) -> std::result::Result<(), SeriesError> {
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
