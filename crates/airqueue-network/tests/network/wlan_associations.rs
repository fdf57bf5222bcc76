//! Stations that associate, lose their access point and roam, against closed forms and in random networks.

use crate::cells;
use crate::cells::{CellSpec, Flow, cell, dcf, rate, saturated};
use crate::estimates::{agree, agree_on_all, exactly, figures_of};
use crate::pcap_records::{Record, records};
use crate::random_networks::{counts, simulated};
use crate::wlan_power::{AP, PHONE, beacons, packets, quiet, run, seconds, without_backoff};
use airqueue_core::{DataRate, Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::{Change, Network, TimedChange};
use airqueue_network::wlan::pcap::{Pcap, View, WHOLE_FRAMES};
use airqueue_network::wlan::tap::{Recording, TracedFrame};
use airqueue_network::wlan::{AbsenceKind, AbsenceSpec, AssociationSpec, BeaconSpec, Roam};
use airqueue_transport::traffic::Arrivals;
use airqueue_wifi::mac::{CategoryConfig, FrameKind, Handshake, Radio};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::{AccessCategory, frames};
use proptest::prelude::*;

/// The lengths of the frames of an association with keys, without QoS.
const LENGTHS: [u32; 8] = [34, 34, 89, 76, 157, 157, 191, 135];
const OTHER: StationId = StationId(2);

pub fn association(radio: &Radio, station: StationId) -> AssociationSpec {
    AssociationSpec {
        station,
        access_point: AP,
        first: Span::from_millis(5),
        roams: Vec::new(),
        search: Span::ZERO,
        keys: true,
        timeout: AssociationSpec::TIMEOUT,
        rate: radio.phy.slowest_basic(),
        access: CategoryConfig::dcf(&radio.phy),
    }
}

/// An access point whose beacons are too rare to matter, and stations that associate.
fn joining(stations: u32) -> CellSpec {
    let mut spec = quiet(stations as usize);
    spec.beacons[0].interval = Span::from_secs(1_000_000);
    spec.beacons[0].first = Some(Span::from_secs(900_000));
    spec.beacons[0].access = CategoryConfig::dcf(&spec.radio.phy);
    spec.associations = (1..=stations).map(|id| association(&spec.radio, StationId(id))).collect();
    spec
}

/// Nobody draws a backoff.
fn at_once(mut spec: CellSpec) -> CellSpec {
    without_backoff(&mut spec);
    for of in &mut spec.beacons {
        (of.access.w_min, of.access.w_max) = (1, 1);
    }
    for of in &mut spec.associations {
        (of.access.w_min, of.access.w_max) = (1, 1);
    }
    spec
}

/// The frames of an association and their acknowledgements, with SIFS and DIFS between them, without backoff.
fn handshake(spec: &CellSpec, count: usize) -> Span {
    let (phy, slow) = (&spec.radio.phy, spec.radio.phy.slowest_basic());
    let exchange = |bytes: &u32| phy.airtime(slow, *bytes) + phy.sifs() + phy.ack(slow);
    let all: i64 = LENGTHS[..count].iter().map(|bytes| exchange(bytes).as_nanos()).sum();
    Span::from_nanos(all + phy.difs().as_nanos() * (count as i64 - 1))
}

#[test]
fn lengths_are_those_of_the_standard() {
    let keys = (0..4).map(|message| frames::key_bytes(message, false));
    let management = [
        frames::AUTHENTICATION_BYTES,
        frames::AUTHENTICATION_BYTES,
        frames::ASSOCIATION_REQUEST_BYTES,
        frames::ASSOCIATION_RESPONSE_BYTES,
    ];
    assert_eq!(management.into_iter().chain(keys).collect::<Vec<_>>(), LENGTHS);
}

/// Exact: without backoff the time of every frame is known.
#[test]
fn the_gap_of_an_association_is_that_of_its_frames() {
    for (keys, count, search) in [(true, 8, 0), (false, 4, 0), (true, 8, 120)] {
        let mut spec = at_once(joining(1));
        (spec.associations[0].keys, spec.associations[0].search) =
            (keys, Span::from_millis(search));
        let sim = run(&spec, 1, 2);
        let of = sim.model.wlan().association(PHONE, sim.now()).unwrap();
        assert_eq!((of.associations, of.roams, of.timeouts), (1, 0, 0));
        // Back on its channel, the station waits for DIFS as behind any frame.
        let waits = if search > 0 { spec.radio.phy.difs() } else { Span::ZERO };
        let gap = Span::from_millis(search) + waits + handshake(&spec, count);
        assert_eq!(of.unserved, gap);
        let gaps = sim.model.wlan().association_gaps(PHONE).unwrap();
        let alone = [1.0, 0.0, 1.0, 1.0, 1.0, 1.0].map(|share| share * seconds(gap));
        agree_on_all("the gap", gaps.figures_s(), alone, 1e-9);
        assert_eq!(gaps.took.greatest, gap);
        assert_eq!(sim.model.wlan().association_gaps(AP), None);
        assert_eq!(sim.model.wlan().serving(PHONE), Some(AP));
    }
}

/// The mean number of slots of the backoffs of an association in an idle channel, where windows have `w` values. A station
/// whose frame comes before its ACK has ended draws a backoff, unless the one that it drew behind its last frame is still
/// running: `running` has these two, of the phone and of the access point.
fn backoff_slots(w: usize) -> f64 {
    const FROM_AP: [usize; 8] = [0, 1, 0, 1, 1, 0, 1, 0];
    let mut mean = 0.0;
    // Behind the first frame, which comes to an idle channel.
    let mut running = vec![vec![0.0; w]; w];
    for behind in &mut running {
        behind[0] = 1.0 / w as f64;
    }
    for (place, &sender) in FROM_AP.iter().enumerate().skip(1) {
        let own = FROM_AP[place - 1] == sender;
        let mut next = vec![vec![0.0; w]; w];
        for (phone, row) in running.iter().enumerate() {
            for (ap, &likely) in row.iter().enumerate() {
                let left = [phone, ap];
                let drawn = left[sender] == 0 && !own;
                let counts = if drawn { 0..w } else { left[sender]..left[sender] + 1 };
                let each = likely / counts.len() as f64;
                for count in counts {
                    mean += each * count as f64;
                    let other = left[1 - sender].saturating_sub(count);
                    for behind in 0..w {
                        let [phone, ap] =
                            if sender == 0 { [behind, other] } else { [other, behind] };
                        next[phone][ap] += each / w as f64;
                    }
                }
            }
        }
        running = next;
    }
    mean
}

/// Within 1 %, of 2000 associations.
#[test]
fn the_mean_gap_has_the_backoffs_of_the_standard() {
    let mut spec = joining(1);
    spec.absences = vec![AbsenceSpec {
        station: PHONE,
        kind: AbsenceKind::OutOfReach,
        first: Some(Span::from_millis(500)),
        period: Span::from_millis(500),
        jitter: Span::from_millis(1),
        lasts: Span::from_millis(100),
    }];
    let sim = run(&spec, 1, 1000);
    let of = sim.model.wlan().association(PHONE, sim.now()).unwrap();
    assert_eq!((of.associations, of.timeouts), (2000, 0));
    let gaps = sim.model.wlan().association_gaps(PHONE).unwrap();
    assert_eq!(gaps.took.count, 2000);
    let slots = backoff_slots(32) * seconds(spec.radio.phy.slot());
    // All but the first time the station is out of reach before.
    let gone = 0.1 * 1999.0 / 2000.0;
    let mean = exactly(gaps.took.mean_s().unwrap() - gone);
    agree("the mean gap", mean, exactly(seconds(handshake(&spec, 8)) + slots), 0.01);
}

/// The answers of an access point to stations that join together wait for each other.
#[test]
fn many_stations_join_at_once() {
    let spec = joining(20);
    let sim = run(&spec, 7, 5);
    for id in 1..=20 {
        let of = sim.model.wlan().association(StationId(id), sim.now()).unwrap();
        assert_eq!(of.associations, 1, "station {id}: {of:?}");
        let longest = sim.model.wlan().association_gaps(StationId(id)).unwrap().took.greatest;
        assert!(longest >= handshake(&spec, 8), "station {id}: {longest:?}");
    }
}

fn recorded(
    spec: &CellSpec,
    changes: Vec<TimedChange>,
    until: Time,
) -> (Network, Vec<TracedFrame>) {
    let network = airqueue_network::network::NetworkSpec { changes, ..spec.network() };
    let mut sim = Network::new(&network, Seed(5)).unwrap();
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    sim.run_until(until);
    let tap: Recording = sim.model.wlan_mut().unplug().unwrap();
    (sim.model, tap.frames)
}

/// The gaps are those of the frames on the air: a phone is out of reach for 5, 10, ... 200 ms, one time in each half second,
/// and each gap ends with the acknowledgement of the last frame of an association.
#[test]
fn gaps_end_with_the_last_acknowledgement_on_the_air() {
    let spec = joining(1);
    let change = |ms, away| TimedChange {
        at: Time::ZERO + Span::from_millis(ms),
        change: Change::Away { station: PHONE, away },
    };
    let away = |n: i64| [change(500 * n, true), change(505 * n, false)];
    let (model, frames) = recorded(&spec, (1..=40).flat_map(away).collect(), cells::at(21));
    let mut begins = (0..=40).map(|n| if n == 0 { 0.005 } else { 0.5 * f64::from(n) });
    let (mut last, mut gaps_s) = (false, Vec::new());
    for of in frames.iter().filter(|of| of.at_receiver().is_some_and(|at| at.decoded())) {
        if of.frame.kind == FrameKind::Ack && last {
            gaps_s.push(seconds(of.ends - Time::ZERO) - begins.next().unwrap());
        }
        last = of.frame.kind == FrameKind::Handshake(Handshake::Key4);
    }
    assert_eq!(gaps_s.len(), 41);
    let gaps = model.wlan().association_gaps(PHONE).unwrap();
    assert_eq!(gaps.took.count, 41);
    agree_on_all("gaps on the air", gaps.figures_s(), figures_of(gaps_s), 1e-9);
}

/// What a network loses and gains while a station is out of reach for 60 ms from 0.5 s on.
#[test]
fn packets_wait_for_the_association() {
    let mut spec = joining(1);
    let every = Arrivals::Periodic { every: Span::from_millis(4), on_off: None };
    let start = Time::ZERO + Span::from_millis(1);
    spec.flows = vec![packets(&spec, 0, 1, every, start), packets(&spec, 1, 0, every, start)];
    let change = |ms, away| TimedChange {
        at: Time::ZERO + Span::from_millis(ms),
        change: Change::Away { station: PHONE, away },
    };
    let (model, frames) =
        recorded(&spec, vec![change(500, true), change(560, false)], cells::at(1));
    let (mut joining, mut joined) = (false, 0);
    for of in frames.iter().filter(|of| of.at_receiver().is_some_and(|at| at.decoded())) {
        match of.frame.kind {
            FrameKind::Handshake(Handshake::Authentication) => joining = true,
            FrameKind::Handshake(Handshake::Key4) => {
                joined += u32::from(std::mem::replace(&mut joining, false));
            }
            FrameKind::Data => assert!(joined > 0 && !joining, "{of:?}"),
            _ => {}
        }
    }
    assert_eq!(joined, 2);
    let of = model.wlan().association(PHONE, cells::at(1)).unwrap();
    assert_eq!((of.associations, of.roams, of.timeouts), (2, 0, 0));
    // The access point has sent in vain for 60 ms, and then forgets what waits; so it does before the first association.
    assert!(of.lost_down >= 2, "{of:?}");
    let [down, up] = [0, 1].map(|flow| model.flow(FlowId(flow)));
    assert_eq!(down.offered.packets, 250);
    assert!(down.given_up.packets >= 14, "{down:?}");
    // The phone keeps its own packets, but for what its MAC had in hand.
    assert!(up.given_up.packets <= 2 && up.dropped.packets == 0, "{up:?}");
}

/// A phone between two access points, of which the second one is [`OTHER`].
fn roaming() -> CellSpec {
    let mut spec = joining(2);
    spec.associations.truncate(1);
    spec.beacons.push(BeaconSpec { station: OTHER, ..spec.beacons[0].clone() });
    let at = cells::at(1);
    spec.associations[0].roams = vec![Roam { at, to: OTHER }];
    spec
}

#[test]
fn a_station_roams() {
    let mut spec = roaming();
    let every = Arrivals::Periodic { every: Span::from_millis(5), on_off: None };
    let flow = |from, to| packets(&spec, from, to, every, Time::ZERO + Span::from_millis(1));
    spec.flows = vec![flow(0, 1), flow(2, 1), flow(1, 0), flow(1, 2)];
    let (model, frames) = recorded(&spec, Vec::new(), cells::at(2));
    let wlan = model.wlan();
    let of = wlan.association(PHONE, cells::at(2)).unwrap();
    assert_eq!((of.associations, of.roams, of.timeouts), (2, 1, 0));
    assert_eq!(wlan.serving(PHONE), Some(OTHER));
    let kind =
        |kind| frames.iter().filter(|of| of.frame.kind == FrameKind::Handshake(kind)).count();
    assert_eq!([kind(Handshake::Request), kind(Handshake::ReassociationRequest)], [1, 1]);
    assert_eq!([kind(Handshake::Response), kind(Handshake::ReassociationResponse)], [1, 1]);
    // 400 packets each: half of them come while the station is with the access point.
    for (at, served) in [(0, 0..1005), (1, 1000..2005), (2, 0..1005), (3, 1000..2005)] {
        let counters = model.flow(FlowId(at));
        let share = counters.delivered.packets;
        assert!((190..=202).contains(&share), "flow {at}: {counters:?}, served in {served:?}");
        assert_eq!(counters.offered.packets, 400);
    }
    assert!(of.lost_down > 350 && of.lost_up > 350, "{of:?}");
}

/// The frames of associations in captures, byte by byte.
#[test]
fn captures_have_the_frames() {
    let mut spec = at_once(roaming());
    spec.associations[0].roams[0].at = cells::at(1);
    let mut sim = spec.start(Seed(1));
    let tap = Pcap::new(&spec.wlan(), View::Air, WHOLE_FRAMES, Vec::new()).unwrap();
    sim.model.wlan_mut().plug(Box::new(tap));
    sim.run_until(cells::at(2));
    let tap: Pcap<Vec<u8>> = sim.model.wlan_mut().unplug().unwrap();
    let all = records(&tap.finish().unwrap(), WHOLE_FRAMES);
    let sent: Vec<&[u8]> = all.iter().map(Record::frame).filter(|frame| frame[0] != 0xd4).collect();
    let first: Vec<u8> = sent.iter().map(|frame| frame[0]).collect();
    assert_eq!(first[..8], [0xb0, 0xb0, 0x00, 0x10, 8, 8, 8, 8]);
    assert_eq!(first[8..], [0xb0, 0xb0, 0x20, 0x30, 8, 8, 8, 8]);
    let lengths: Vec<u32> = sent.iter().map(|frame| frame.len() as u32).collect();
    assert_eq!(lengths[..8], LENGTHS);
    assert_eq!(lengths[10], LENGTHS[2] + 6);
    // To the access point, from the phone.
    assert_eq!(sent[0][4..16], [2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1]);
    // The BSSID is the access point's address, whoever sends.
    for (at, frame) in sent.iter().enumerate() {
        assert_eq!(frame[16..22], [2, 0, 0, 0, 0, if at < 8 { 0 } else { OTHER.0 as u8 }]);
    }
    // The transaction sequence numbers of authentication, and success.
    assert_eq!(
        (&sent[0][24..30], &sent[1][24..30]),
        (&[0, 0, 1, 0, 0, 0][..], &[0, 0, 2, 0, 0, 0][..])
    );
    // The present access point's address, in a reassociation; the association id of station 1.
    assert_eq!(sent[10][28..34], [2, 0, 0, 0, 0, 0]);
    assert_eq!(sent[3][28..30], [2, 0xc0]);
    for (frame, fixed) in [(2, 4), (3, 6), (10, 10), (11, 6)] {
        let mut left = &sent[frame][24 + fixed..sent[frame].len() - 4];
        while let [_, length, rest @ ..] = left {
            left = &rest[usize::from(*length)..];
        }
        assert!(left.is_empty(), "the elements of frame {frame} end where its FCS begins");
    }
    for (frame, information) in [(4, 0x8a_u16), (5, 0x10a), (6, 0x13ca), (7, 0x30a)] {
        let body = &sent[frame][24..sent[frame].len() - 4];
        assert_eq!(body[..8], [0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e]);
        assert_eq!(usize::from(u16::from_be_bytes([body[10], body[11]])), body.len() - 12);
        assert_eq!(u16::from_be_bytes([body[13], body[14]]), information);
        let data = usize::from(u16::from_be_bytes([body[105], body[106]]));
        assert_eq!(data, body.len() - 107, "key data of message {}", frame - 3);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refusal = |change: &dyn Fn(&mut CellSpec)| {
        let mut spec = roaming();
        change(&mut spec);
        match Network::new(&spec.network(), Seed(1)) {
            Err(error) => error.to_string(),
            Ok(_) => String::new(),
        }
    };
    let found = refusal(&|spec| spec.associations[0].access_point = PHONE);
    assert!(found.contains("sends no beacons"), "{found}");
    let found = refusal(&|spec| spec.associations[0].station = AP);
    assert!(found.contains("does not associate"), "{found}");
    let found = refusal(&|spec| spec.associations[0].timeout = Span::ZERO);
    assert!(found.contains("wait for an answer"), "{found}");
    let found = refusal(&|spec| {
        let roam = Roam { at: cells::at(0), to: AP };
        spec.associations[0].roams.push(roam);
    });
    assert!(found.contains("in the order of time"), "{found}");
    assert_eq!(refusal(&|_| ()), "");
}

#[derive(Clone, Debug)]
struct Station {
    keys: bool,
    first: i64,
    search: i64,
    roams: Vec<i64>,
    absence: Option<(i64, i64)>,
    /// Rates of the flows from and to either access point, in kb/s; 0: none.
    rates: [u64; 4],
}

fn stations() -> impl Strategy<Value = Vec<Station>> {
    let rate = || prop_oneof![Just(0u64), 1u64..600];
    let rates = [rate(), rate(), rate(), rate()];
    let absence = prop::option::of((100i64..900, 1i64..400));
    let roams = prop::collection::vec(0i64..2000, 0..5);
    let station =
        (any::<bool>(), 0i64..300, prop_oneof![Just(0i64), 1i64..200], roams, absence, rates);
    let station = station.prop_map(|(keys, first, search, mut roams, absence, rates)| {
        roams.sort_unstable();
        Station { keys, first, search, roams, absence, rates }
    });
    prop::collection::vec(station, 1..5)
}

/// Two access points, 0 and 1, and stations that associate with either.
fn network(stations: &[Station]) -> CellSpec {
    let radio = cells::b();
    let fast = rate(&radio.phy, 11);
    let mut spec = cell(radio, vec![dcf(&cells::b().phy); stations.len() + 2]);
    let of = |id| BeaconSpec { station: StationId(id), first: None, ..beacons(&spec.radio) };
    spec.beacons = vec![of(0), of(1)];
    for (id, of) in (2..).zip(stations) {
        let ms = |ms: i64| Span::from_millis(ms);
        let roams = of.roams.iter().zip([1, 0].into_iter().cycle());
        spec.associations.push(AssociationSpec {
            first: ms(of.first),
            search: ms(of.search),
            keys: of.keys,
            roams: roams
                .map(|(&at, to)| Roam { at: Time::ZERO + ms(at), to: StationId(to) })
                .collect(),
            ..association(&spec.radio, StationId(id))
        });
        spec.absences.extend(of.absence.map(|(first, lasts)| AbsenceSpec {
            station: StationId(id),
            kind: AbsenceKind::OutOfReach,
            first: Some(ms(first)),
            period: ms(700),
            jitter: Span::ZERO,
            lasts: ms(lasts),
        }));
        let ends = [(0, id), (1, id), (id, 0), (id, 1)];
        // Only with access points that it goes to.
        let count = if of.roams.is_empty() { 1 } else { 2 };
        let joins = |&((from, to), kbps): &((u32, u32), &u64)| *kbps > 0 && from.min(to) < count;
        for ((from, to), &kbps) in ends.into_iter().zip(&of.rates).filter(joins) {
            let mut flow = saturated(from, to, AccessCategory::FIRST, fast, 700);
            flow.source.arrivals = Arrivals::Poisson(DataRate::from_bps(kbps * 1000).unwrap());
            flow.source.stop = Time::from_nanos(2_000_000_000);
            spec.flows.push(Flow { name: format!("{from} to {to}"), ..flow });
        }
    }
    spec
}

fn data_follow(stations: &[Station], seed: u64) -> Result<(), TestCaseError> {
    let spec = network(stations);
    let mut sim = spec.start(Seed(seed));
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    sim.run_until(cells::at(2));
    let tap: Recording = sim.model.wlan_mut().unplug().unwrap();
    let mut done = std::collections::HashSet::new();
    for of in &tap.frames {
        let (from, to) = (of.frame.from, of.frame.to);
        let received = of.at_receiver().is_some_and(|reception| reception.decoded());
        let pair = (from.max(to), from.min(to));
        match of.frame.kind {
            FrameKind::Handshake(Handshake::Authentication) if received => {
                done.remove(&pair);
            }
            FrameKind::Handshake(step) if received => {
                let keys = spec.associations[pair.0.index() - 2].keys;
                let answer = matches!(step, Handshake::Response | Handshake::ReassociationResponse);
                if step == Handshake::Key4 || answer && !keys {
                    done.insert(pair);
                }
            }
            FrameKind::Data => prop_assert!(done.contains(&pair), "{:?}", of),
            _ => {}
        }
    }
    Ok(())
}

/// A station that is back after it was out of reach is to roam at the instant at which it authenticates with the access
/// point that serves it: the frame waits in its MAC while it looks for the other access point, and leaves then. The access
/// point learns from it that it serves the station no longer.
#[test]
fn an_authentication_of_a_station_that_goes_elsewhere_ends_its_association() {
    let station = |first, search, roam, absence, rates: [u64; 2]| Station {
        keys: true,
        first,
        search,
        roams: vec![roam],
        absence,
        rates: [rates[0], 0, rates[1], 0],
    };
    let stations = [
        Station { keys: false, ..station(253, 0, 278, None, [305, 212]) },
        station(4, 19, 836, Some((798, 19)), [344, 449]),
    ];
    data_follow(&stations, 12_653_755_217_624_071_397).expect("data follow associations");
}

proptest! {
    #![proptest_config(crate::random_networks::cases(150))]

    /// At any time offered = delivered + dropped + given up + in transit. In the end every station is associated with the
    /// access point to which it was to roam last, and nothing waits but what is for stations without service.
    #[test]
    fn packets_balance_while_stations_roam(
        stations in stations(), seed: u64, stop_ms in 1i64..2500,
    ) {
        let spec = network(&stations);
        let mut sim = spec.start(Seed(seed));
        sim.run_until(Time::ZERO + Span::from_millis(stop_ms));
        for [offered, delivered, dropped, given_up, left] in counts(&sim.model, spec.flows.len()) {
            prop_assert_eq!(offered, delivered + dropped + given_up + left);
        }
        // Not while a station is out of reach.
        let mut still = spec.clone();
        still.absences.clear();
        let mut sim = still.start(Seed(seed));
        sim.run_until(cells::at(8));
        for (of, id) in still.associations.iter().zip(2..) {
            let last = of.roams.last().map_or(of.access_point, |roam| roam.to);
            prop_assert_eq!(sim.model.wlan().serving(StationId(id)), Some(last));
        }
        for [offered, delivered, dropped, given_up, left] in counts(&sim.model, still.flows.len()) {
            prop_assert_eq!((left, offered), (0, delivered + dropped + given_up));
        }
    }

    /// Data go only between a station and the access point with which it has exchanged all frames of an association, and
    /// never while it exchanges such frames with that access point.
    #[test]
    fn data_follow_associations(stations in stations(), seed: u64) {
        data_follow(&stations, seed)?;
    }

    /// How many stations are simulated together, and whether a tap listens, changes nothing.
    #[test]
    fn how_roaming_stations_are_simulated_changes_nothing(stations in stations(), seed: u64) {
        let spec = network(&stations);
        let run = |together: usize, tapped: bool| {
            let sim = simulated(&CellSpec { together, ..spec.clone() }, seed, tapped);
            let wlan = sim.model.wlan();
            let ids = || (0..spec.stations.len() as u32).map(StationId);
            let joined: Vec<_> = ids().map(|id| wlan.association(id, sim.now())).collect();
            let of_stations: Vec<_> = ids().map(|id| wlan.station(id)).collect();
            let busy: Vec<_> = ids().map(|id| wlan.busy_ever(id, sim.now())).collect();
            (counts(&sim.model, spec.flows.len()), joined, of_stations, busy)
        };
        let alone = run(usize::MAX, false);
        prop_assert_eq!(&run(2, false), &alone);
        prop_assert_eq!(&run(2, true), &alone);
    }
}
