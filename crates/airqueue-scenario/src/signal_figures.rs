//! The figures of interference, and of links whose signal changes.

use super::figures::{Count, Names, ratio};
use super::reported::{InterferenceFigures, Named, SignalFigures};
use airqueue_network::wlan::{InterfererCounters, LinkCounters};
use airqueue_wifi::medium::StationId;
use std::borrow::Cow;

impl Count<'_> {
    pub(super) fn interference<'n>(&self, names: &'n Names) -> Named<'n, InterferenceFigures> {
        let named = names.interferers.iter().enumerate().filter_map(|(at, name)| {
            let InterfererCounters { bursts, on, hit, hit_lost } =
                self.network.wlan().interferer(at, self.now)?;
            let figures = InterferenceFigures {
                bursts,
                on_ratio: self.share(on),
                hit_frames: hit,
                hit_lost_ratio: ratio(hit_lost as f64, hit as f64),
            };
            Some((Cow::from(&**name), figures))
        });
        Named(named.collect())
    }

    pub(super) fn signals<'n>(&self, names: &'n Names) -> Named<'n, SignalFigures> {
        let name = |id: StationId| &names.stations[id.index()];
        let figures = |((from, to), of): ((StationId, StationId), LinkCounters)| {
            let snr_db = of.snr_db();
            let figures = SignalFigures {
                frames: of.frames,
                lost_ratio: ratio(of.lost as f64, of.frames as f64),
                snr_mean_db: snr_db.map(|of| of.0),
                snr_sd_db: snr_db.map(|of| of.1),
            };
            (Cow::from(format!("{}->{}", name(from), name(to))), figures)
        };
        Named(self.network.wlan().links().map(figures).collect())
    }
}
