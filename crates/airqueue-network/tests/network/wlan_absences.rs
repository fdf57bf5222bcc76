//! Stations that scan, and stations that go out of reach, against closed forms.

use crate::cells;
use crate::cells::{CellSpec, Flow, rate};
use crate::estimates::{RESOLUTION, agree, agree_on_all, exactly};
use crate::wlan_power::{
    AP, INTERVAL, PACKET, PHONE, packets, quiet, run, seconds, sleeper, without_backoff,
};
use airqueue_core::{Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::{Change, Network, TimedChange};
use airqueue_network::wlan::tap::{Recording, TracedFrame};
use airqueue_network::wlan::{AbsenceKind, AbsenceSpec, WakeUp};
use airqueue_transport::traffic::Arrivals;
use airqueue_wifi::mac::FrameKind;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::frames::NULL_BYTES;

const PERIOD: Span = Span::from_secs(1);
const DWELL: Span = Span::from_millis(100);

/// One channel a second, from 0.3 s on.
fn scan(station: StationId, tells: bool) -> AbsenceSpec {
    AbsenceSpec {
        station,
        kind: AbsenceKind::Scan { channels: 1, at_once: 1, home: Span::ZERO, tells },
        first: Some(Span::from_millis(300)),
        period: PERIOD,
        jitter: Span::ZERO,
        lasts: DWELL,
    }
}

/// An access point whose beacons are too rare to matter, and a station that scans; neither draws a backoff.
fn scanning(tells: bool) -> CellSpec {
    let mut spec = contending(tells);
    without_backoff(&mut spec);
    spec
}

/// The same with the backoffs of the standard.
fn contending(tells: bool) -> CellSpec {
    let mut spec = quiet(1);
    spec.beacons[0].interval = Span::from_secs(1_000_000);
    if tells {
        spec.sleepers = vec![sleeper(&spec.radio, PHONE, WakeUp::Awake)];
    }
    spec.absences = vec![scan(PHONE, tells)];
    spec
}

/// Packets of which one comes at each place of a period that is a multiple of 0.1 ms: 0.7003 s and 1 s have the greatest
/// common divisor 0.1 ms.
fn everywhere(spec: &CellSpec) -> Flow {
    let every = Arrivals::Periodic { every: Span::from_micros(1_700_300), on_off: None };
    let mut flow = packets(spec, 0, 1, every, cells::at(1) + Span::from_micros(40));
    flow.source.stop = flow.source.start + Span::from_micros(1_700_300 * 10_000);
    flow
}

/// The time that [`everywhere`] takes, and more.
const EVERYWHERE_S: i64 = 17_006;

fn null(spec: &CellSpec) -> Span {
    spec.radio.phy.airtime(spec.radio.phy.slowest_basic(), NULL_BYTES)
}

/// SIFS and the acknowledgement of a null frame.
fn answer(spec: &CellSpec) -> Span {
    let phy = &spec.radio.phy;
    phy.sifs() + phy.ack(phy.slowest_basic())
}

fn data(spec: &CellSpec) -> Span {
    let phy = &spec.radio.phy;
    phy.airtime(rate(phy, 11), PACKET + cells::DCF_OVERHEAD)
}

/// A station is off the channel for its dwell times, and hears nothing there.
#[test]
fn scans_take_their_share_of_the_time() {
    for (at_once, jitter, times) in [(3, 0, 1), (2, 0, 2), (1, 200, 3)] {
        let mut spec = scanning(false);
        spec.beacons[0].interval = INTERVAL;
        let home = Span::from_millis(100);
        spec.absences[0].kind = AbsenceKind::Scan { channels: 3, at_once, home, tells: false };
        (spec.absences[0].jitter, spec.absences[0].lasts) =
            (Span::from_millis(jitter), Span::from_millis(50));
        let sim = run(&spec, 1, 1000);
        let wlan = sim.model.wlan();
        let counters = wlan.absence(PHONE, sim.now()).unwrap();
        assert_eq!((counters.times, counters.skipped, counters.unheard), (1000 * times, 0, 0));
        assert_eq!(counters.absent, Span::from_secs(150));
        // Of three channels two at once, half of the absences take one channel and half two.
        let lasted = match at_once {
            2 => [0.075, 0.025, 0.05, 0.1, 0.1, 0.1],
            _ => [1.0, 0.0, 1.0, 1.0, 1.0, 1.0].map(|share| share * 0.05 * f64::from(at_once)),
        };
        agree_on_all("absences", wlan.absence_times(PHONE).unwrap().figures_s(), lasted, 1e-9);
        assert_eq!((wlan.absence_times(AP), wlan.kept_times(PHONE)), (None, None));
        assert_eq!(wlan.absence(AP, sim.now()), None);
        // The beacons of an interval that is no divisor of the period come at any time of a scan alike.
        let sent = wlan.station(AP).sent_of(FrameKind::Beacon).time;
        let heard = exactly(seconds(wlan.busy(PHONE, sim.now())));
        agree("busy on the channel", heard, exactly(0.85 * seconds(sent)), 0.02);
    }
}

/// A packet that comes while a station is absent that has told its access point arrives behind the station's return: DIFS,
/// the null frame, its answer, DIFS and the packet later.
#[test]
fn packets_wait_for_a_station_that_has_told() {
    let mut spec = scanning(true);
    spec.flows = vec![everywhere(&spec)];
    let sim = run(&spec, 1, EVERYWHERE_S);
    let counters = sim.model.flow(FlowId(0));
    let (delivered, lost) = (counters.delivered.packets, counters.given_up.packets);
    assert!(delivered.abs_diff(10_000) <= 1 && lost == 0, "{delivered} and {lost}");
    let (null, answer, data) = (seconds(null(&spec)), seconds(answer(&spec)), seconds(data(&spec)));
    let difs = seconds(spec.radio.phy.difs());
    // Packets that come from the beginning of the first null frame to the end of the second wait for the latter.
    let waits = null + answer + seconds(DWELL) + difs + null;
    let behind = answer + difs + data;
    let period = seconds(PERIOD);
    let mean = (waits * (waits / 2.0 + behind) + (period - waits) * data) / period;
    let delay = |of: Option<f64>| exactly(of.unwrap());
    agree("the mean delay", delay(counters.delay.mean_s()), exactly(mean), 0.01);
    let p95 = counters.delay.quantile_s(&counters.delays, 0.95);
    agree("the 95th percentile", delay(p95), exactly(waits + behind - 0.05 * period), 0.02);
    let (longest, most) = (counters.delay.greatest_s().unwrap(), waits + behind);
    assert!((0.995 * most..=most + 1e-9).contains(&longest), "{longest}, not {most}");
    let absence = sim.model.wlan().absence(PHONE, sim.now()).unwrap();
    assert_eq!((absence.unheard, absence.dropped), (0, 0));
    agree("packets kept", exactly(absence.kept as f64), exactly(10_000.0 * waits / period), 0.01);
    // Those that come up to the end of the second null frame are kept until then, in the same order.
    let kept = sim.model.wlan().kept_times(PHONE).unwrap();
    assert_eq!(kept.took.count, absence.kept);
    let even = answer + seconds(DWELL) + difs + null;
    for (q, got) in
        [(0.5, kept.quantile_s(0.5)), (0.95, kept.quantile_s(0.95)), (1.0, kept.took.greatest_s())]
    {
        agree(&format!("quantile {q} of the time kept"), delay(got), exactly(q * even), RESOLUTION);
    }
}

/// An access point that knows nothing of an absence repeats a packet seven times. The packet is lost if the seventh begins
/// before the station is back.
#[test]
fn packets_are_given_up_for_a_station_that_has_not_told() {
    let mut spec = scanning(false);
    spec.flows = vec![everywhere(&spec)];
    let sim = run(&spec, 1, EVERYWHERE_S);
    let counters = sim.model.flow(FlowId(0));
    let phy = &spec.radio.phy;
    let once = data(&spec) + phy.response_timeout(rate(phy, 11)) + phy.difs();
    let lost = (seconds(DWELL + data(&spec)) - 6.0 * seconds(once)) / seconds(PERIOD);
    let found = counters.given_up.packets as f64 / counters.offered.packets as f64;
    agree("the share lost", exactly(found), exactly(lost), 0.01);
    // The seventh may begin just behind the return.
    let most = seconds(once) * 6.0 + seconds(data(&spec));
    let longest = counters.delay.greatest_s().unwrap();
    assert!((0.98 * most..=most + 1e-9).contains(&longest), "{longest}, not {most}");
    let access = sim.model.wlan().access(AP, airqueue_wifi::phy::AccessCategory::FIRST);
    assert_eq!(access.given_up, counters.given_up.packets);
}

/// A station that tells loses the time of its absences and of its null frames, and nothing else.
#[test]
fn the_throughput_with_telling_is_the_share_on_the_channel() {
    let mut spec = scanning(true);
    let home = Span::from_millis(150);
    spec.absences[0].kind = AbsenceKind::Scan { channels: 3, at_once: 1, home, tells: true };
    spec.flows = vec![packets(&spec, 0, 1, Arrivals::Saturated, Time::ZERO)];
    let still = CellSpec { absences: Vec::new(), sleepers: Vec::new(), ..spec.clone() };
    let delivered = |spec: &CellSpec| {
        let sim = run(spec, 1, 200);
        let counters = sim.model.flow(FlowId(0));
        assert_eq!(counters.given_up.packets, 0);
        counters.delivered.packets as f64
    };
    // Each null frame with its answer and DIFS; the first waits for the frame on the air.
    let told = seconds(null(&spec) + answer(&spec) + spec.radio.phy.difs());
    let share = 1.0 - 3.0 * (seconds(DWELL) + 2.0 * told) / seconds(PERIOD);
    let (with, without) = (delivered(&spec), delivered(&still));
    agree("throughput with scans", exactly(with), exactly(share * without), 0.005);
}

/// While the station is absent that has told, others get all of the air; frames for a station that has not told are sent
/// in vain, one for each packet of the others.
#[test]
fn others_pay_for_a_station_that_does_not_tell() {
    let delivered = |absence: Option<bool>| {
        let mut spec = quiet(2);
        spec.sleepers = vec![sleeper(&spec.radio, PHONE, WakeUp::Awake)];
        spec.absences = vec![scan(PHONE, true)];
        match absence {
            Some(true) => {}
            Some(false) => {
                (spec.sleepers, spec.absences) = (Vec::new(), vec![scan(PHONE, false)]);
            }
            None => (spec.sleepers, spec.absences) = (Vec::new(), Vec::new()),
        }
        spec.flows = [1, 2]
            .map(|to| {
                let every = Arrivals::Periodic { every: Span::from_millis(6), on_off: None };
                packets(&spec, 0, to, every, Time::ZERO)
            })
            .to_vec();
        let sim = run(&spec, 1, 100);
        [0, 1].map(|flow| {
            let counters = sim.model.flow(FlowId(flow));
            (counters.given_up.packets, counters.delay.mean_s().unwrap())
        })
    };
    let [[_, still], [told_phone, told], [untold_phone, untold]] =
        [None, Some(true), Some(false)].map(delivered);
    assert_eq!((told_phone.0, told.0, still.0, untold.0), (0, 0, 0, 0));
    assert!(untold_phone.0 > 100, "{untold_phone:?}");
    // One queue for both: what cannot be sent to the phone holds up the other.
    assert!(told.1 < 2.0 * still.1 && untold.1 > 3.0 * told.1, "{still:?} {told:?} {untold:?}");
}

/// An access point on another channel sends no beacons and receives nothing; a saturated station gets on at once when the
/// access point is back, or one exchange later.
#[test]
fn an_access_point_scans() {
    let mut spec = scanning(false);
    spec.beacons[0].interval = INTERVAL;
    spec.absences = vec![scan(AP, false)];
    // Nobody gives up.
    spec.stations[1].mac.short_retry_limit = 10_000;
    spec.flows = vec![packets(&spec, 1, 0, Arrivals::Saturated, Time::ZERO)];
    let still = CellSpec { absences: Vec::new(), ..spec.clone() };
    let counts = |spec: &CellSpec| {
        let sim = run(spec, 1, 200);
        let beacons = sim.model.wlan().beacons(AP).unwrap();
        (sim.model.flow(FlowId(0)).delivered.packets as f64, beacons)
    };
    let ((with, beacons), (without, of_still)) = (counts(&spec), counts(&still));
    agree("throughput of the station", exactly(with), exactly(0.9 * without), 0.01);
    assert_eq!(beacons.sent + beacons.skipped, of_still.sent);
    let skipped = exactly(beacons.skipped as f64);
    agree("beacons skipped", skipped, exactly(0.1 * of_still.sent as f64), 0.05);
}

/// An access point that is on another channel itself does not hear that a station leaves: the station leaves all the same.
#[test]
fn a_null_frame_that_nobody_hears() {
    let mut spec = scanning(true);
    let of_ap = AbsenceSpec { first: Some(Span::from_millis(250)), ..scan(AP, false) };
    spec.absences.push(of_ap);
    let every = Arrivals::Periodic { every: Span::from_millis(20), on_off: None };
    spec.flows = vec![packets(&spec, 0, 1, every, Time::ZERO)];
    let sim = run(&spec, 1, 50);
    let absence = sim.model.wlan().absence(PHONE, sim.now()).unwrap();
    assert_eq!((absence.times, absence.unheard, absence.kept), (50, 50, 0));
    assert!(sim.model.flow(FlowId(0)).given_up.packets > 50);
}

/// The null frame, the way there, the way back, what either side kept; no frame of any station between.
#[test]
fn a_scan_on_the_air() {
    let mut spec = contending(true);
    let every = Arrivals::Periodic { every: Span::from_millis(30), on_off: None };
    // Never at the same time as a null frame or each other.
    let both = [(0, 1, 7), (1, 0, 17)];
    let flow = |(from, to, ms)| packets(&spec, from, to, every, Time::ZERO + Span::from_millis(ms));
    spec.flows = both.map(flow).to_vec();
    let mut sim = spec.start(Seed(1));
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    sim.run_until(Time::ZERO + Span::from_millis(900));
    let recording = sim.model.wlan_mut().unplug::<Recording>().unwrap();
    let frames = &recording.frames;
    let nulls: Vec<_> = frames.iter().filter(|of| of.frame.kind == FrameKind::Null).collect();
    let powers: Vec<_> = nulls.iter().map(|of| of.frame.power).collect();
    assert_eq!(powers, [true, false]);
    let left = nulls[0].ends + answer(&spec);
    let back = left + DWELL;
    let next = frames.iter().find(|of| of.begins >= left).unwrap();
    assert_eq!(next.frame.from, PHONE, "{next:?}");
    // The packet that the MAC has held since 317 ms goes before the null frame; its backoff may not have begun.
    let (first, slot) = (back + spec.radio.phy.difs(), spec.radio.phy.slot());
    let last = first + Span::from_nanos(31 * slot.as_nanos());
    assert!((first..=last).contains(&next.begins), "{next:?}");
    // Packets of 307, 337, 367 and 397 ms one way; of 317, 347 and 377 ms, and a new one of 407 ms, the other way.
    let burst = back..back + Span::from_millis(20);
    let data_ends =
        |of: &&TracedFrame| of.frame.kind == FrameKind::Data && burst.contains(&of.begins);
    let acknowledged = frames.iter().filter(data_ends).filter(|of| {
        let ack = of.ends + spec.radio.phy.sifs();
        frames.iter().any(|of| of.frame.kind == FrameKind::Ack && of.begins == ack)
    });
    assert_eq!(acknowledged.count(), 8);
}

/// A station that sleeps need not say that it leaves; its scans are no sleep.
#[test]
fn a_sleeping_station_leaves_without_a_word() {
    let mut spec = scanning(true);
    spec.beacons[0].interval = INTERVAL;
    let timeout = Span::from_millis(20);
    spec.sleepers = vec![sleeper(&spec.radio, PHONE, WakeUp::Null { timeout })];
    let sim = run(&spec, 1, 100);
    let wlan = sim.model.wlan();
    // The first null frame says that the station sleeps.
    assert_eq!(wlan.station(PHONE).sent_of(FrameKind::Null).frames, 1);
    let (slept, absent) =
        (wlan.sleep(PHONE, sim.now()).unwrap(), wlan.absence(PHONE, sim.now()).unwrap());
    assert_eq!((absent.times, absent.absent), (100, Span::from_secs(10)));
    let awake = Span::from_secs(100) - slept.asleep;
    let beacons = seconds(spec.radio.phy.airtime(spec.radio.phy.slowest_basic(), 300));
    let most = seconds(absent.absent + timeout) + 980.0 * beacons;
    assert!((10.0..most + 0.01).contains(&seconds(awake)), "{awake}, at most {most}");
}

/// Absences out of reach are the changes that one would write for them.
#[test]
fn a_station_out_of_reach_is_a_station_that_changes_take_away() {
    let mut spec = quiet(2);
    spec.flows = (1..=2)
        .flat_map(|at| [(0, at), (at, 0)])
        .map(|(from, to)| packets(&spec, from, to, Arrivals::Saturated, Time::ZERO))
        .collect();
    let (first, lasts) = (Span::from_micros(300_123), Span::from_micros(400_456));
    let changed = {
        let times = (0..10).map(|time| Time::ZERO + first + Span::from_secs(time));
        let change = |(at, away)| TimedChange { at, change: Change::Away { station: PHONE, away } };
        let changes = times.flat_map(|at| [(at, true), (at + lasts, false)].map(change)).collect();
        airqueue_network::network::NetworkSpec { changes, ..spec.network() }
    };
    let first = Some(first);
    spec.absences =
        vec![AbsenceSpec { kind: AbsenceKind::OutOfReach, first, lasts, ..scan(PHONE, false) }];
    let counts = |mut sim: airqueue_network::run_loop::Simulation<Network>| {
        sim.run_until(cells::at(10));
        let flow = |at| {
            let of = sim.model.flow(FlowId(at));
            (of.offered, of.delivered, of.given_up, of.dropped)
        };
        (0..4).map(flow).collect::<Vec<_>>()
    };
    let absent = counts(spec.start(Seed(3)));
    assert!(absent[0].2.packets > 10, "{absent:?}");
    assert_eq!(absent, counts(Network::new(&changed, Seed(3)).unwrap()));
}

/// A station that is away for longer than its queue at the access point lasts: what comes is dropped.
#[test]
fn the_queue_of_a_departed_station_fills() {
    let mut spec = quiet(1);
    let lasts = Span::from_secs(4);
    let kind = AbsenceKind::OutOfReach;
    let period = Span::from_secs(10);
    spec.absences = vec![AbsenceSpec { kind, lasts, period, ..scan(PHONE, false) }];
    let every = Arrivals::Periodic { every: Span::from_millis(4), on_off: None };
    spec.flows = vec![packets(&spec, 1, 0, every, Time::ZERO)];
    let sim = run(&spec, 1, 100);
    let counters = sim.model.flow(FlowId(0));
    let absent = sim.model.wlan().absence(PHONE, sim.now()).unwrap();
    let longest = sim.model.wlan().absence_times(PHONE).unwrap().took.greatest;
    assert_eq!((absent.times, longest), (10, lasts));
    // 1000 packets in four seconds; 50 fit, and the MAC gives up one.
    let lost = counters.dropped.packets + counters.given_up.packets;
    agree("packets lost", exactly(lost as f64), exactly(10.0 * (1000.0 - 50.0)), 0.002);
}

#[test]
fn what_cannot_be_is_refused() {
    let refusal = |absence: AbsenceSpec| {
        let mut spec = quiet(1);
        spec.absences = vec![absence];
        Network::new(&spec.network(), Seed(1)).unwrap_err().to_string()
    };
    let good = scan(PHONE, false);
    let long = AbsenceSpec { jitter: Span::from_millis(901), ..good.clone() };
    assert!(refusal(long).contains("a time is longer than the period"));
    let none = AbsenceKind::Scan { channels: 0, at_once: 1, home: Span::ZERO, tells: false };
    assert!(refusal(AbsenceSpec { kind: none, ..good.clone() }).contains("must be positive"));
    assert!(refusal(scan(PHONE, true)).contains("no access point to tell"));
    assert!(refusal(scan(StationId(9), false)).contains("there is no such station"));
}
