//! Cells to start from: stations that all hear each other, and saturate the first.

#![allow(dead_code, reason = "each test file uses its part")]

use airqueue_core::{DataRate, Ecn, Limit, Span, Time};
use airqueue_sim::wlan::{FlowSpec, QueueSpec, StationSpec, WlanSpec};
use airqueue_transport::traffic::{Arrivals, SourceSpec};
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{Behaviour, CategoryConfig, MacConfig, Network};
use airqueue_wifi::medium::{FrameErrors, Level, Link, Reach, StationId};
use airqueue_wifi::phy::{EdcaEdition, EdcaRole, Phy, Preamble, dsss, edca_defaults, frames};

/// What a data frame of DCF adds to an IP packet.
pub const DCF_OVERHEAD: u32 = frames::HEADER_BYTES + frames::FCS_BYTES + frames::LLC_SNAP_BYTES;
/// The same of EDCA.
pub const EDCA_OVERHEAD: u32 =
    frames::QOS_HEADER_BYTES + frames::FCS_BYTES + frames::LLC_SNAP_BYTES;

/// So many seconds after the beginning.
pub fn at(seconds: i64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

/// 802.11b with the standard's behaviour and long preambles.
pub fn b() -> Network {
    let rules = Behaviour::Standard.rules();
    Network::new(dsss(Preamble::Long, rules.conventions), rules)
}

/// The place of a rate.
pub fn rate(phy: &Phy, mbps: u64) -> RateIndex {
    phy.rate_index(DataRate::from_bps(mbps * 1_000_000).unwrap()).unwrap()
}

/// `stations` that hear each other as `level` says of each pair, a transmitter and a listener.
pub fn reach(stations: usize, level: impl Fn(u32, u32) -> Option<Level>) -> Reach {
    let ids = || 0..stations as u32;
    let pairs = ids().flat_map(|from| ids().map(move |to| (from, to)));
    let link = |(from, to)| {
        let level = level(from, to).filter(|_| from != to)?;
        Some(Link { from: StationId(from), to: StationId(to), level, power_w: None })
    };
    let links: Vec<Link> = pairs.filter_map(link).collect();
    Reach::from_links(stations, &links).unwrap()
}

/// `stations` that all decode each other.
pub fn everyone(stations: usize) -> Reach {
    reach(stations, |_, _| Some(Level::Decodable))
}

/// The queues of DCF.
pub fn dcf(phy: &Phy) -> MacConfig {
    MacConfig::new(vec![CategoryConfig::dcf(phy)])
}

/// The four queues of EDCA, by rising priority.
pub fn edca(phy: &Phy) -> MacConfig {
    let categories = edca_defaults(phy, EdcaEdition::Ieee2005, EdcaRole::Station);
    MacConfig::new(categories.map(CategoryConfig::from).to_vec())
}

/// A flow that always has packets of `size_bytes`.
pub fn saturated(from: u32, to: u32, queue: usize, rate: RateIndex, size_bytes: u32) -> FlowSpec {
    let source = SourceSpec {
        arrivals: Arrivals::Saturated,
        size_bytes,
        start: Time::ZERO,
        stop: Time::MAX,
    };
    FlowSpec {
        name: format!("{from}.{queue} to {to}"),
        from: StationId(from),
        to: StationId(to),
        queue,
        rate,
        rate_control: None,
        overhead_bytes: DCF_OVERHEAD,
        source,
        ecn: Ecn::NotEct,
        report: None,
        collected: false,
    }
}

/// Stations with these MACs and no flow, in range of each other.
pub fn cell(network: Network, macs: Vec<MacConfig>) -> WlanSpec {
    WlanSpec { reach: everyone(macs.len()), ..stations(network, macs) }
}

/// Stations with these MACs and no flow, who hear nobody.
pub fn stations(network: Network, macs: Vec<MacConfig>) -> WlanSpec {
    let station = |(id, mac): (usize, MacConfig)| StationSpec {
        name: format!("station {id}"),
        queues: vec![QueueSpec::new(Limit::Packets(50)); mac.categories.len()],
        mac,
    };
    WlanSpec {
        network,
        reach: reach(macs.len(), |_, _| None),
        capture: None,
        errors: FrameErrors::None,
        noise_w: 1e-13,
        stations: macs.into_iter().enumerate().map(station).collect(),
        flows: Vec::new(),
        warm_up: Time::ZERO,
        together: WlanSpec::TOGETHER,
    }
}

/// An 802.11b cell with `senders` that saturate station 0 with 1000-byte packets at 11 Mb/s.
pub fn uploads(senders: u32) -> WlanSpec {
    let network = b();
    let fast = rate(&network.phy, 11);
    let macs = vec![dcf(&network.phy); senders as usize + 1];
    let flows = (1..=senders).map(|from| saturated(from, 0, 0, fast, 1000)).collect();
    WlanSpec { flows, ..cell(network, macs) }
}
