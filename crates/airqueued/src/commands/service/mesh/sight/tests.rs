use super::*;
use crate::netlink::attributes::Writer;
use crate::radio::nl80211::{Request, attribute, command};
use crate::testing::{message, pretended};
use airqueue_control::flows::{End, Packet, Protocol};
use airqueue_control::mesh::{
    DomainsBy, GRACE, MeshKey, MeshNode, NodePolicy, Policy, RENEWED, Routes, SILENT,
};
use airqueue_core::{Span, Time};
use std::sync::{Arc, Mutex};

/// 802.11b at 11 Mb/s: the hop of 2.698 ms of MESH section 4.1.
const RATE_100_KBPS: u32 = 110;
const OVERHEAD: Span = Span::from_micros(1_529);
/// A segment of 1460 bytes and a TCP acknowledgement.
const FRAMES: [u32; 2] = [1_534, 74];

#[test]
fn channels_have_their_numbers() {
    let numbers = [2412, 2472, 2484, 5180, 5825, 5955, 7115, 900].map(channel);
    assert_eq!(numbers, [1, 13, 14, 36, 165, 1, 233, 0]);
}

/// What the radio of a router counts on its channel.
#[derive(Clone, Copy)]
struct Radio {
    /// The share of the time in which the medium is busy there.
    busy: f64,
    /// The driver takes the counters from the hardware every so many seconds; never for 0.
    counts_every_s: u64,
    /// What the driver has taken.
    active_ms: u64,
    busy_ms: u64,
}

impl Radio {
    fn new(busy: f64) -> Radio {
        Radio { busy, counts_every_s: 1, active_ms: 1_000, busy_ms: 0 }
    }

    /// A second passes.
    fn count(&mut self, second: u64) {
        if self.counts_every_s > 0 && second.is_multiple_of(self.counts_every_s) {
            self.active_ms += 1_000 * self.counts_every_s;
            self.busy_ms += (1_000.0 * self.busy) as u64 * self.counts_every_s;
        }
    }
}

fn mac(router: u8) -> Mac {
    [2, 0, 0, 0, router, 0]
}

fn told(command: u8, attributes: Writer) -> Vec<u8> {
    message(16, &[vec![command, 1, 0, 0], attributes.finish()].concat())
}

/// What cfg80211 lists at a router in a row of mesh stations that hear those beside them.
fn listed(router: u8, routers: u8, radio: Radio, request: &Request) -> Vec<Vec<u8>> {
    let next = |to: u8| if to < router { router - 1 } else { router + 1 };
    let others = (0..routers).filter(|other| *other != router);
    let of = |other: u8| Writer::default().bytes(attribute::MAC, &mac(other));
    match request.command {
        command::GET_INTERFACE => {
            let interface = Writer::default()
                .u32(attribute::IFINDEX, 7)
                .text(attribute::IFNAME, "mesh0")
                .u32(attribute::IFTYPE, 7)
                .u32(attribute::WIPHY, 0)
                .u32(attribute::WIPHY_FREQ, 2412);
            vec![told(command::NEW_INTERFACE, interface)]
        }
        command::GET_STATION => {
            let beside = others.filter(|other| other.abs_diff(router) == 1);
            // `NL80211_STA_INFO_TX_BITRATE` with `NL80211_RATE_INFO_BITRATE32`, and `NL80211_STA_INFO_PLINK_STATE`.
            let rate = Writer::default().u32(5, RATE_100_KBPS);
            let info = Writer::default().nested(8, rate).bytes(6, &[ESTABLISHED]);
            let station = |other| of(other).nested(attribute::STA_INFO, info.clone());
            beside.map(|other| told(command::NEW_STATION, station(other))).collect()
        }
        command::GET_MPATH => {
            let path = |to: u8| {
                let info = Writer::default().bytes(5, &[ACTIVE]);
                of(to)
                    .bytes(attribute::MPATH_NEXT_HOP, &mac(next(to)))
                    .nested(attribute::MPATH_INFO, info)
            };
            others.map(|to| told(command::NEW_MPATH, path(to))).collect()
        }
        command::GET_SURVEY => {
            // Another channel that was scanned once, and the one in use (`enum nl80211_survey_info`).
            let scanned = Writer::default().u32(1, 2437).u64(4, 60).u64(5, 60);
            let used = Writer::default().u32(1, 2412).bytes(3, &[]);
            let used = used.u64(4, radio.active_ms).u64(5, radio.busy_ms);
            let survey = |info| Writer::default().nested(attribute::SURVEY_INFO, info);
            [scanned, used].map(|info| told(command::NEW_SURVEY_RESULTS, survey(info))).to_vec()
        }
        _ => Vec::new(),
    }
}

/// Routers in a row with a flow from the first to the last; what each knows of its radio comes by netlink.
struct Row {
    radios: Vec<Arc<Mutex<Radio>>>,
    routers: Vec<(Eyes, MeshNode)>,
    now: Time,
}

impl Row {
    fn new(busy: [f64; 3]) -> Row {
        let radios = busy.map(|busy| Arc::new(Mutex::new(Radio::new(busy)))).to_vec();
        let limits = Policy { domains: DomainsBy::Busy, ..Policy::default() };
        let policy = NodePolicy {
            limits,
            routes: Routes::MeshPaths,
            overhead: Some(OVERHEAD),
            outside: Span::ZERO,
        };
        let key = || MeshKey::new(b"the routers of this mesh alone").unwrap();
        let router = |(own, radio): (usize, &Arc<Mutex<Radio>>)| {
            let (own, routers, radio) = (own as u8, busy.len() as u8, radio.clone());
            let nl80211 = pretended(move |request| {
                let radio = *radio.lock().unwrap();
                listed(own, routers, radio, request)
            });
            let eyes = Eyes { nl80211: Some(nl80211), ..Eyes::new("mesh0", Vec::new(), FRAMES) };
            (eyes, MeshNode::new(mac(own), 1, key(), policy.clone(), Time::ZERO).unwrap())
        };
        let routers = radios.iter().enumerate().map(router).collect();
        Row { radios, routers, now: Time::ZERO }
    }

    fn radio(&self, router: usize) -> std::sync::MutexGuard<'_, Radio> {
        self.radios[router].lock().unwrap()
    }

    fn run(&mut self, seconds: u64) {
        for _ in 0..10 * seconds {
            self.now += Span::from_millis(100);
            let (first, last) = (0, self.routers.len() - 1);
            let packet = packet(first as u8, last as u8);
            self.routers[first].1.on_packet(&packet, true);
            self.routers[last].1.on_packet(&packet, false);
            if self.now.as_nanos() % 1_000_000_000 == 0 {
                self.look();
            }
            for from in first..=last {
                while let Some(said) = self.routers[from].1.poll_message(self.now) {
                    // The mesh carries it to all; those who are not beside leave it.
                    for to in (first..=last).filter(|to| *to != from) {
                        let _ = self.routers[to].1.on_message(&said, self.now);
                    }
                }
            }
        }
    }

    fn look(&mut self) {
        let second = (self.now.as_nanos() / 1_000_000_000).unsigned_abs();
        for (router, radio) in self.routers.iter_mut().zip(&self.radios) {
            radio.lock().unwrap().count(second);
            let sight = router.0.look();
            router.1.look(sight.as_ref().map_err(Clone::clone), self.now);
        }
    }

    fn limits(&self) -> Vec<Option<u32>> {
        self.routers.iter().map(|(_, node)| node.limit()).collect()
    }

    /// Whether all size the flow by the domain around a link.
    fn agree(&self, link: (u8, u8), words: &str) -> bool {
        let domain = format!("around 02:00:00:00:0{}:00 -> 02:00:00:00:0{}:00", link.0, link.1);
        let by = |(_, node): &(Eyes, MeshNode)| {
            node.why().contains(&domain) && node.why().contains(words)
        };
        self.routers.iter().all(by)
    }

    fn whys(&self) -> Vec<String> {
        self.routers.iter().map(|(_, node)| node.why()).collect()
    }
}

fn packet(from: u8, to: u8) -> Packet {
    let end = |last: u8| End { address: [10, 0, 0, last].into(), port: 5001 };
    Packet {
        source: end(from),
        destination: end(to),
        protocol: Protocol::Udp,
        source_mac: Some(mac(from)),
        destination_mac: Some(mac(to)),
        payload_bytes: 1_460,
        segment: None,
    }
}

/// MESH's rule: the bottleneck is where the medium is measured to be busy for 90 % of the time or more. Without the measurement
/// both hops are equally full, and the first counts. B is 5.08 packets in either case: 2 and 3 of them, and the last router has
/// what the second has.
#[test]
fn routers_agree_on_the_domain_whose_medium_is_measured_to_be_full() {
    let mut row = Row::new([0.40, 0.60, 0.95]);
    // A router states the mean of 10 s.
    row.run(15);
    assert!(row.agree((1, 2), "is full (95 %)"), "{:?}", row.whys());
    assert_eq!(row.limits(), [2, 3, 3].map(Some));
    // The other end of the row becomes the busy one. The mean that spans the change says neither.
    row.radio(0).busy = 0.95;
    row.radio(2).busy = 0.40;
    row.run(25);
    assert!(row.agree((0, 1), "is full (95 %)"), "{:?}", row.whys());
    // No medium is full: the busiest domain is the bottleneck.
    row.radio(0).busy = 0.30;
    row.radio(2).busy = 0.80;
    row.run(25);
    assert!(row.agree((1, 2), "is the busiest (80 %)"), "{:?}", row.whys());
    assert_eq!(row.limits(), [2, 3, 3].map(Some));
}

#[test]
fn counters_that_stand_still_for_some_seconds_blind_no_router() {
    let mut row = Row::new([0.40, 0.60, 0.95]);
    row.radio(1).counts_every_s = 3;
    row.radio(2).counts_every_s = 5;
    row.run(20);
    for _ in 0..20 {
        row.run(1);
        assert_eq!(row.limits(), [2, 3, 3].map(Some), "{:?}", row.whys());
        assert!(row.agree((1, 2), "is full (95 %)"), "{:?}", row.whys());
    }
}

#[test]
fn a_router_whose_radio_counts_no_more_takes_the_safe_limit_and_so_do_the_others() {
    let mut row = Row::new([0.40, 0.60, 0.95]);
    row.run(15);
    row.radio(1).counts_every_s = 0;
    // The last fraction holds for 10 s.
    row.run(9);
    assert_eq!(row.limits(), [2, 3, 3].map(Some), "{:?}", row.whys());
    row.run(1);
    assert_eq!(row.limits()[1], None);
    assert!(row.whys()[1].contains("does not tell how busy"), "{:?}", row.whys());
    // Its flow becomes idle there, and then its statement is missed; a second for looks.
    let after = SILENT.max(Policy::default().idle) + GRACE + Span::from_secs(3);
    row.run(after.as_secs_f64() as u64);
    assert_eq!(row.limits(), [None; 3], "{:?}", row.whys());
    // It counts again: at the latest when statements are renewed all is sized again.
    row.radio(1).counts_every_s = 1;
    row.run(RENEWED.as_secs_f64() as u64 + 5);
    assert_eq!(row.limits(), [2, 3, 3].map(Some), "{:?}", row.whys());
}

#[test]
fn neighbours_have_the_overhead_of_the_frames_that_the_radio_tells() {
    let mut row = Row::new([0.5; 3]);
    let of = |eyes: &mut Eyes| {
        let sight = eyes.look().unwrap();
        sight.neighbours.iter().map(|known| known.overhead).collect::<Vec<_>>()
    };
    // 802.11b with long preambles; what it takes is the business of the modulation's tests.
    let cell = Cell { frequency_mhz: 2412, short_slot: false, short_preamble: false };
    let overhead = Modulation::Legacy.overhead(11_000_000, cell, FRAMES);
    assert!(overhead.is_some());
    assert_eq!(of(&mut row.routers[1].0), [overhead; 2]);
    // A rate that the configuration gives says nothing of how frames are sent.
    row.routers[1].0.given = vec![(mac(2), 54_000_000)];
    assert_eq!(of(&mut row.routers[1].0), [overhead, None]);
}

#[test]
fn a_fraction_spans_the_time_in_which_counters_stood_still() {
    let mut eyes = Eyes { nl80211: None, ..Eyes::new("mesh0", Vec::new(), FRAMES) };
    let counted = |active_ms, busy_ms| {
        Some(ChannelSurvey {
            frequency_mhz: 2412,
            in_use: true,
            noise_dbm: None,
            active_ms: Some(active_ms),
            busy_ms: Some(busy_ms),
            receive_ms: None,
            transmit_ms: None,
        })
    };
    assert_eq!(eyes.busy(counted(1000, 900)), None, "the first look");
    // Drivers need not renew all counters at once.
    assert_eq!(eyes.busy(counted(1000, 950)), None);
    // Not listed once, as while the radio scans.
    assert_eq!(eyes.busy(None), None);
    assert_eq!(eyes.busy(counted(3000, 1400)), Some(0.25));
    assert_eq!(eyes.busy(counted(100, 50)), None, "they began anew");
    assert_eq!(eyes.busy(counted(200, 100)), Some(0.5));
}
