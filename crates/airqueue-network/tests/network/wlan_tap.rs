//! A tap observes every frame, and changes no result.

use crate::cells;
use crate::cells::CellSpec;
use airqueue_core::Seed;
use airqueue_network::FlowId;
use airqueue_network::counters::HopCounters;
use airqueue_network::network::Network;
use airqueue_network::wlan::tap::{Recording, Tap, TracedFrame, TracedMpdu};
use airqueue_wifi::mac::FrameKind;
use airqueue_wifi::medium::{FrameErrors, StationId};
use std::collections::HashSet;

fn recorded(spec: &CellSpec) -> (Network, Vec<TracedFrame>) {
    let mut sim = spec.start(Seed(7));
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    sim.run_until(cells::at(2));
    let recording: Recording = sim.model.wlan_mut().unplug().unwrap();
    (sim.model, recording.frames)
}

/// A cell with collisions, noise, and RTS at half of the stations.
fn cell() -> CellSpec {
    let mut spec = cells::uploads(6);
    spec.errors = FrameErrors::PerFrame(0.05);
    for station in spec.stations.iter_mut().skip(4) {
        station.mac.rts_threshold_bytes = 0;
    }
    spec
}

#[test]
fn a_tap_changes_nothing() {
    let spec = cell();
    let (tapped, frames) = recorded(&spec);
    let mut plain = spec.start(Seed(7));
    plain.run_until(cells::at(2));
    assert!(frames.len() > 1000);
    let flows = |network: &Network| -> Vec<HopCounters> {
        (0..6).map(|f| network.flow(FlowId::at(f))).collect()
    };
    assert_eq!(flows(&tapped), flows(&plain.model));
    for station in 0..7 {
        assert_eq!(
            tapped.wlan().station(StationId(station as u32)),
            plain.model.wlan().station(StationId(station as u32))
        );
    }
}

#[test]
fn it_sees_every_frame_with_its_packet_and_its_end() {
    let spec = cell();
    let (network, frames) = recorded(&spec);
    assert!(frames.is_sorted_by_key(|traced| traced.ends));
    for station in 0..7 {
        for kind in [FrameKind::Rts, FrameKind::Cts, FrameKind::Data, FrameKind::Ack] {
            let of = |a: &&TracedFrame| a.frame.from.index() == station && a.frame.kind == kind;
            let seen = frames.iter().filter(of).count() as u64;
            assert_eq!(
                seen,
                network.wlan().station(StationId(station as u32)).sent_of(kind).frames
            );
        }
    }
    let mut delivered = [0; 6];
    let mut known = HashSet::new();
    for traced in &frames {
        let lasted = spec.radio.phy.airtime(traced.frame.rate, traced.frame.bytes);
        assert_eq!(traced.ends - traced.begins, lasted);
        assert_eq!(traced.receptions.len(), 6, "everyone else is in range");
        assert_eq!(traced.carried.is_empty(), traced.frame.kind != FrameKind::Data);
        let Some(TracedMpdu { packet, decoded, .. }) = traced.carried.first().copied() else {
            continue;
        };
        assert_eq!(decoded, traced.at_receiver().unwrap().decoded());
        assert_eq!(traced.frame.from.0, packet.flow.0 + 1);
        if decoded && known.insert(packet.id) {
            delivered[packet.flow.index()] += 1;
        }
    }
    let counted: Vec<u64> =
        (0..6).map(|flow| network.flow(FlowId::at(flow)).delivered.packets).collect();
    assert_eq!(delivered.to_vec(), counted);
}

/// In a cell without noise or capture, all stations in range decode a frame, or none does, apart from stations that
/// transmit themselves and are deaf.
#[test]
fn what_overlaps_is_lost_and_nothing_else() {
    let (_, frames) = recorded(&cells::uploads(6));
    let collisions = frames.windows(2).filter(|pair| pair[1].begins < pair[0].ends).count();
    assert!(collisions > 50, "{collisions}");
    for (at, traced) in frames.iter().enumerate() {
        let near = &frames[at.saturating_sub(6)..(at + 7).min(frames.len())];
        let alone =
            near.iter().filter(|o| o.begins < traced.ends && traced.begins < o.ends).count() == 1;
        assert!(
            traced.receptions.iter().all(|reception| reception.decoded() == alone),
            "{traced:?}"
        );
    }
}

#[derive(Debug)]
struct Other;

impl Tap for Other {
    fn on_frame(&mut self, _aired: &TracedFrame) {}
}

#[test]
fn a_tap_is_taken_out_by_its_type() {
    let mut network = cell().start(Seed(1)).model;
    assert!(network.wlan_mut().unplug::<Recording>().is_none());
    network.wlan_mut().plug(Box::new(Other));
    assert!(network.wlan_mut().unplug::<Recording>().is_none());
    assert!(network.wlan_mut().unplug::<Other>().is_some());
    assert!(network.wlan_mut().unplug::<Other>().is_none());
}
