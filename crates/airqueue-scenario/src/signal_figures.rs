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
            let frames = of.frames as f64;
            let mean = ratio(of.snr_db, frames);
            let variance = |mean: f64| of.snr_db_squared / frames - mean * mean;
            let figures = SignalFigures {
                frames: of.frames,
                lost_ratio: ratio(of.lost as f64, frames),
                snr_mean_db: mean,
                snr_sd_db: mean.map(|mean| variance(mean).max(0.0).sqrt()),
            };
            (Cow::from(format!("{}->{}", name(from), name(to))), figures)
        };
        Named(self.network.wlan().links().map(figures).collect())
    }
}
