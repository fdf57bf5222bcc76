//! Hosts that answer at once to what their station receives: the backoff before the answer, from a recording.
//!
//! Nothing else is on the air, and bursts are so far apart that no counter runs. The gap between the station's own
//! response and the answer is then AIFS (or DIFS) and the backoff: nothing, or a draw from the smallest window.

use crate::cells;
use crate::cells::{CellSpec, Flow};
use airqueue_core::{Ecn, Payload, Seed, Span, Time};
use airqueue_network::network::{
    FlowSpec, Hop, Network, NetworkSpec, Node, OfferedPacket, TcpFlowSpec, Traffic, Work,
};
use airqueue_network::wlan::tap::{Recording, TracedFrame};
use airqueue_network::{FlowId, HopId};
use airqueue_transport::tcp::{Opening, TcpSpec};
use airqueue_transport::traffic::{FilesSpec, Law, SizeDistribution};
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{Aggregation, BackoffDraw, Behaviour, FrameKind, MacConfig, Radio};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::{AccessCategory, Band, Capability, Preamble, Width, dsss, ht};

const SENDER: StationId = StationId(0);
const ANSWERER: StationId = StationId(1);
const BEST_EFFORT: AccessCategory = AccessCategory::at(1);
const BURSTS: u32 = 1_000;
const APART_MS: i64 = 20;

/// Two stations with one kind of channel access.
struct Pair {
    radio: Radio,
    mac: MacConfig,
    rate: RateIndex,
    overhead_bytes: u32,
    ac: AccessCategory,
}

/// EDCA with A-MPDUs: 802.11n.
fn aggregating(behaviour: Behaviour) -> Pair {
    let rules = behaviour.rules();
    let one = Capability { width: Width::MHZ_20, streams: 1 };
    let radio = Radio::new(ht(Band::Ghz5, one, rules.conventions).unwrap(), rules);
    let aggregation = Some(Aggregation::STANDARD);
    let mac = MacConfig { aggregation, ..cells::edca(&radio.phy) };
    let rate = radio.phy.rates().max_by_key(|&(_, rate)| rate).unwrap().0;
    Pair { radio, mac, rate, overhead_bytes: cells::EDCA_OVERHEAD, ac: BEST_EFFORT }
}

/// DCF: 802.11b.
fn dcf(behaviour: Behaviour) -> Pair {
    let rules = behaviour.rules();
    let radio = Radio::new(dsss(Preamble::Long, rules.conventions), rules);
    let (mac, rate) = (cells::dcf(&radio.phy), cells::rate(&radio.phy, 11));
    Pair { radio, mac, rate, overhead_bytes: cells::DCF_OVERHEAD, ac: AccessCategory::FIRST }
}

impl Pair {
    /// Both stations, with a hop in each direction.
    fn network(&self) -> NetworkSpec {
        let hop = |from, to| Flow {
            overhead_bytes: self.overhead_bytes,
            ..cells::saturated(from, to, self.ac, self.rate, 1_500)
        };
        let macs = vec![self.mac.clone(); 2];
        let cell =
            CellSpec { flows: vec![hop(0, 1), hop(1, 0)], ..cells::cell(self.radio.clone(), macs) };
        NetworkSpec::wireless(cell.wlan(), Vec::new())
    }

    /// Number of values that a backoff is drawn from after a success.
    fn draws(&self) -> u32 {
        let w_min = self.mac.categories[self.ac.index()].w_min;
        w_min - u32::from(self.radio.rules.backoff_draw == BackoffDraw::OneFewer)
    }

    /// The backoffs, in slots, of the answerer's data frames that follow its responses to data frames of at least
    /// `least` MPDUs.
    fn backoffs(&self, frames: &[TracedFrame], least: u16) -> Vec<i64> {
        let (phy, category) = (&self.radio.phy, &self.mac.categories[self.ac.index()]);
        let backoff = |three: &[TracedFrame]| {
            let [received, response, answer] = three else { return None };
            let data = |traced: &TracedFrame, from| {
                traced.frame.kind == FrameKind::Data && traced.frame.from == from
            };
            let is_answer = data(received, SENDER)
                && response.frame.from == ANSWERER
                && data(answer, ANSWERER)
                && received.frame.mpdus >= least;
            let gap = answer.begins - response.ends - phy.aifs(category.aifsn);
            is_answer.then(|| {
                assert_eq!(gap.as_nanos() % phy.slot().as_nanos(), 0, "{gap} is no slots");
                gap.as_nanos() / phy.slot().as_nanos()
            })
        };
        frames.windows(3).filter_map(backoff).collect()
    }
}

/// The host of the second station returns each packet of these bursts at once.
fn echo(pair: &Pair, burst: u32) -> Vec<i64> {
    let mut spec = pair.network();
    spec.flows.push(FlowSpec {
        name: "echo".into(),
        from: Node::Station(SENDER),
        to: Node::Station(SENDER),
        route: vec![Hop::Air(HopId(0)), Hop::Air(HopId(1))],
        others: Vec::new(),
        traffic: Traffic::Offered { ecn: Ecn::NotEct },
        dscp: 0,
        spread: Span::ZERO,
    });
    let mut sim = Network::new(&spec, Seed(1)).unwrap();
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    for at in 1..=BURSTS {
        sim.run_until(Time::ZERO + Span::from_millis(APART_MS * i64::from(at)));
        for _ in 0..burst {
            let packet = OfferedPacket::new(1_500, Payload(0));
            sim.model.offer(FlowId(0), packet, &mut sim.queue);
        }
    }
    sim.run_until(Time::ZERO + Span::from_millis(APART_MS * i64::from(BURSTS + 1)));
    let recording: Recording = sim.model.wlan_mut().unplug().unwrap();
    let backoffs = pair.backoffs(&recording.frames, burst as u16);
    assert_eq!(backoffs.len(), BURSTS as usize, "an answer to each burst");
    backoffs
}

/// The second station downloads files of so many segments, and acknowledges every second.
fn download(pair: &Pair, segments: u16) -> Vec<i64> {
    let tcp = TcpSpec { opening: Opening::Open, ..TcpSpec::standard(1_400) };
    let files = FilesSpec {
        mean_bytes: u64::from(segments) * 1_400,
        law: SizeDistribution::Constant,
        unit_bytes: 1,
        think: Span::from_millis(500),
        think_law: Law::Exponential,
    };
    let mut spec = pair.network();
    spec.flows.push(FlowSpec {
        name: "files".into(),
        from: Node::Station(SENDER),
        to: Node::Station(ANSWERER),
        route: vec![Hop::Air(HopId(0))],
        others: Vec::new(),
        traffic: Traffic::Tcp(Box::new(TcpFlowSpec {
            tcp,
            back: vec![Hop::Air(HopId(1))],
            lanes: Vec::new(),
            work: Work::Files(files),
            closes: false,
            start: Time::ZERO,
            stop: Time::MAX,
            reports: None,
        })),
        dscp: 0,
        spread: Span::ZERO,
    });
    let mut sim = Network::new(&spec, Seed(1)).unwrap();
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    sim.run_until(cells::at(600));
    let recording: Recording = sim.model.wlan_mut().unplug().unwrap();
    pair.backoffs(&recording.frames, segments)
}

/// The backoffs are uniform draws below `values`: their mean within four standard errors, and none beyond the window.
fn assert_drawn(backoffs: &[i64], values: u32, what: &str) {
    let (n, values) = (backoffs.len() as f64, f64::from(values));
    let mean = backoffs.iter().sum::<i64>() as f64 / n;
    let deviation = ((values * values - 1.0) / 12.0).sqrt();
    let expected = (values - 1.0) / 2.0;
    assert!(n > 900.0, "{what}: {n} answers");
    assert!((mean - expected).abs() < 4.0 * deviation / n.sqrt(), "{what}: {mean} slots");
    assert!(backoffs.iter().all(|&slots| slots >= 0 && (slots as f64) < values), "{what}");
}

/// The own response makes the medium busy before AIFS has passed. ns-3 does not mind, and draws only if the packet finds
/// the medium busy.
#[test]
fn an_answer_to_a_single_frame() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3, Behaviour::Ns2] {
        let with_ampdus = (behaviour != Behaviour::Ns2).then(|| aggregating(behaviour));
        for pair in [Some(dcf(behaviour)), with_ampdus].into_iter().flatten() {
            let backoffs = echo(&pair, 1);
            if behaviour == Behaviour::Ns3 {
                assert!(backoffs.iter().all(|&slots| slots == 0), "{backoffs:?}");
            } else {
                assert_drawn(&backoffs, pair.draws(), &format!("{behaviour:?}"));
            }
        }
    }
}

/// The answer to any MPDU but the last finds the medium busy in ns-3.
#[test]
fn an_answer_to_an_ampdu() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3] {
        for burst in [2, 3, 10] {
            let pair = aggregating(behaviour);
            let backoffs = echo(&pair, burst);
            assert_drawn(&backoffs, pair.draws(), &format!("{behaviour:?} {burst}"));
        }
    }
}

/// A file of two segments is acknowledged once, at the end of its second MPDU and of the frame: in ns-3 the medium is idle
/// then. A pause may be so short that a counter still runs.
#[test]
fn the_first_acknowledgement_of_tcp() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3] {
        let pair = aggregating(behaviour);
        assert_drawn(&download(&pair, 4), pair.draws(), &format!("{behaviour:?}, four segments"));
        let of_two = download(&pair, 2);
        if behaviour == Behaviour::Ns3 {
            let at_once = of_two.iter().filter(|&&slots| slots == 0).count();
            assert!(of_two.len() > 900 && at_once * 100 >= of_two.len() * 99, "{at_once}");
        } else {
            assert_drawn(&of_two, pair.draws(), &format!("{behaviour:?}, two segments"));
        }
    }
}
