//! From a random network of the engine's tests to the keys of a scenario.
//!
//! Differences: sources do not stop, packets from outside are a packet each 5 ms, a station of which the test has one to three
//! access categories has the defaults of the others, and overheads are those of DCF and EDCA.

use super::cells::{CellSpec, Flow};
use airqueue_core::keys::Word;
use airqueue_core::{DataRate, Limit, Span};
use airqueue_network::wlan::StationSpec;
use airqueue_qdisc::{Behaviour, Discipline, DisciplineName, QueueSpec};
use airqueue_scenario::Scenario;
use airqueue_transport::traffic::Arrivals;
use airqueue_wifi::RateIndex;
use airqueue_wifi::contention::CountdownRule;
use airqueue_wifi::mac::{CategoryConfig, MacConfig, Txop};
use airqueue_wifi::medium::{Capture, FrameErrors, Level, Signal, StationId};
use airqueue_wifi::phy::{Phy, Protection};
use serde_json::{Value, json};

/// What a file cannot describe.
type Drawn = Result<Value, String>;

/// Access categories in the order of their numbers.
const CATEGORIES: [&str; 4] = ["bk", "be", "vi", "vo"];

/// Words for all physical layers and queue disciplines of the random networks, found by what a scenario makes of them.
pub struct Words {
    radios: Vec<(String, [Value; 2])>,
    disciplines: Vec<(Discipline, Value)>,
}

impl Words {
    pub fn new() -> Words {
        Words { radios: radios(), disciplines: disciplines() }
    }

    /// The network as a scenario.
    pub fn scenario(&self, of: &CellSpec) -> Drawn {
        let phy = &of.radio.phy;
        let radio = format!("{:?}", of.radio);
        let known = self.radios.iter().find(|(known, _)| *known == radio);
        let Some((_, [behaviour, layer])) = known else { return Err("phy: other layers".into()) };
        let stations = of.stations.iter().enumerate();
        let stations =
            stations.map(|(id, of)| self.station(id, of, phy)).collect::<Result<Vec<_>, _>>()?;
        let flows = of.flows.iter().enumerate().map(|(id, flow)| flow_keys(id, flow, of));
        Ok(json!({
            "behaviour": behaviour, "warm_up": "10 ms", "duration": "490 ms", "phy": layer, "medium": medium(of),
            "stations": stations, "flows": flows.collect::<Vec<_>>(),
        }))
    }

    fn station(&self, id: usize, of: &StationSpec, phy: &Phy) -> Drawn {
        let queue = self.queue(&of.queues[0])?;
        Ok(json!({"name": name(StationId(id as u32)), "mac": mac(&of.mac, phy), "queue": queue}))
    }

    fn queue(&self, of: &QueueSpec) -> Drawn {
        let known = self.disciplines.iter().find(|(known, _)| *known == in_words(of.discipline));
        let mut queue = match known {
            Some((_, words)) => words.clone(),
            None => {
                let name = of.discipline.name().word();
                return Err(format!("queue: other parameters of {name}"));
            }
        };
        queue["ring"] = json!(format!("{} packets", of.ring_packets));
        queue["limit"] = match of.limit {
            // The most that a file takes.
            Limit::Packets(u32::MAX) => json!("10000000 packets"),
            Limit::Packets(packets) => json!(format!("{packets} packets")),
            Limit::Bytes(bytes) => json!(format!("{bytes} B")),
        };
        Ok(queue)
    }
}

fn radios() -> Vec<(String, [Value; 2])> {
    let layers = [
        json!({"standard": "802.11b", "preamble": "long"}),
        json!({"standard": "802.11b", "preamble": "short"}),
        json!({"standard": "802.11a"}),
        json!({"standard": "802.11g", "slot": "short", "preamble": "long"}),
        json!({"standard": "802.11g", "slot": "long", "preamble": "short"}),
        json!({"standard": "802.11n", "band": "5 GHz", "width": "40 MHz", "streams": 2}),
        json!({"standard": "802.11ac", "width": "80 MHz", "streams": 2}),
        json!({"standard": "802.11ax", "band": "5 GHz", "width": "20 MHz", "streams": 1}),
    ];
    let mut known = Vec::new();
    for (behaviour, layer) in
        ["standard", "ns3", "ns2"].iter().flat_map(|of| layers.iter().map(move |on| (of, on)))
    {
        for control in [None, Some("1 Mb/s"), Some("6 Mb/s")] {
            let mut layer = layer.clone();
            if let Some(control) = control {
                layer["control_rate"] = json!(control);
            }
            let file = json!({"behaviour": behaviour, "phy": layer, "stations": [{"name": "a"}]});
            // ns-2 has 802.11b alone, and rates are of some layers.
            if let Ok(scenario) = Scenario::from_json(&file.to_string()) {
                known.push((format!("{:?}", scenario.wlan().radio), [json!(behaviour), layer]));
            }
        }
    }
    known
}

fn disciplines() -> Vec<(Discipline, Value)> {
    let codel = json!({"target": "100 us", "interval": "2 ms", "mtu": "0 B"});
    let fq_codel =
        json!({"target": "100 us", "interval": "2 ms", "mtu": "0 B", "ecn": false, "flows": 4});
    let few = json!({"target": "100 us", "interval": "2 ms", "ecn": false, "flows": 2});
    let unlimited = json!({"target": "100 us", "interval": "2 ms", "ecn": false, "aql": false});
    let cake = |keys: Value| json!({"discipline": "cake", "cake": keys});
    let given = [
        json!({"discipline": "droptail", "drop_from": "tail"}),
        json!({"discipline": "droptail", "drop_from": "head"}),
        json!({"discipline": "codel", "codel": codel}),
        json!({"discipline": "fq_codel", "fq_codel": fq_codel}),
        json!({"discipline": "red", "red": {"min": "2 packets", "max": "6 packets", "weight": 0.2}}),
        json!({"discipline": "pie", "pie": {
            "target": "100 us", "update": "1 ms", "max_burst": "1 ms", "mean_packet": "500 B", "alpha": 12.5, "beta": 125.0,
        }}),
        json!({"discipline": "sfq", "sfq": {"depth": 5, "divisor": 4, "perturb": "3 ms"}}),
        cake(json!({"rtt": "2 ms"})),
        cake(json!({"rate": "2 Mb/s"})),
        cake(json!({"ack_filter": "ack-filter", "isolation": "flowblind"})),
        cake(json!({"ack_filter": "ack-filter-aggressive", "isolation": "flowblind"})),
        json!({"discipline": "drr", "drr": {"queue_per": "flow", "quantum": "500 B"}}),
        json!({"discipline": "drr", "drr": {"queue_per": "link", "quantum": "500 B"}}),
        json!({"discipline": "mac80211", "mac80211": few}),
        json!({"discipline": "mac80211", "mac80211": unlimited}),
        json!({"discipline": "rdqm", "rdqm": {"expiry": "5 ms"}}),
        json!({"discipline": "adaptive", "adaptive": {"floor": "4000 B"}}),
    ];
    let plain = DisciplineName::all().map(|name| json!({"discipline": name.word()}));
    given.into_iter().chain(plain).map(|queue| (made(&queue), queue)).collect()
}

/// The discipline that a scenario makes of the keys.
fn made(queue: &Value) -> Discipline {
    let file = json!({"phy": {"standard": "802.11b"}, "stations": [{"name": "a", "queue": queue}]});
    let scenario = Scenario::from_json(&file.to_string()).expect("words of the random networks");
    in_words(scenario.wlan().stations[0].queues[0].discipline)
}

/// The discipline without what files do not say: CoDel of mac80211 is Linux's, with packets of any size.
pub fn in_words(mut discipline: Discipline) -> Discipline {
    if let Discipline::Mac80211(params) = &mut discipline {
        (params.codel.mtu, params.codel.behaviour) = (0, Behaviour::Linux);
    }
    discipline
}

fn name(station: StationId) -> String {
    format!("s{}", station.index())
}

fn time(of: Span) -> String {
    format!("{} ns", of.as_nanos())
}

fn rate(of: DataRate) -> String {
    format!("{} b/s", of.as_bps())
}

fn medium(of: &CellSpec) -> Value {
    let known = of.reach.powers_known();
    let ids = || (0..of.reach.stations() as u32).map(StationId);
    let link = |from, to| {
        let Signal { power_w, level } = of.reach.signal(from, to)?;
        let level = match level {
            Level::Decodable => "decode",
            Level::Sensed => "sense",
            Level::Interference => "interfere",
        };
        let mut link = json!({"from": name(from), "to": name(to), "level": level, "both": false});
        if known {
            link["power"] = json!(format!("{power_w:e} W"));
        }
        Some(link)
    };
    let links: Vec<Value> =
        ids().flat_map(|from| ids().filter_map(move |to| link(from, to))).collect();
    let errors = match of.errors {
        FrameErrors::None => json!("none"),
        FrameErrors::PerFrame(chance) => json!({"frame": chance}),
        FrameErrors::PerBit(chance) => json!({"bit": chance}),
        FrameErrors::BySnr => json!("snr"),
    };
    let mut medium = json!({"links": links, "errors": errors});
    if known {
        medium["noise"] = json!(format!("{:e} W", of.noise_w));
    }
    match of.capture {
        None => (),
        Some(Capture::None) => medium["capture"] = json!("none"),
        Some(Capture::Ns2 { margin_db }) => {
            medium["capture"] = json!({"margin": format!("{margin_db} dB")});
        }
        Some(Capture::Sinr { threshold_db, window, .. }) => {
            let threshold = format!("{threshold_db} dB");
            medium["capture"] =
                json!({"sinr": {"threshold": threshold, "preamble_detection": time(window)}});
        }
    }
    medium
}

fn mac(of: &MacConfig, phy: &Phy) -> Value {
    let protection = match of.protection {
        Protection::None => "none",
        Protection::CtsToSelf => "cts_to_self",
        Protection::RtsCts => "rts_cts",
    };
    let newer = phy.newest_format().is_some();
    let mut mac = json!({
        "experimental": of.experimental, "protection": protection,
        "short_retry_limit": of.short_retry_limit, "long_retry_limit": of.long_retry_limit,
    });
    if of.rts_threshold_bytes < u32::MAX {
        mac["rts_threshold"] = json!(format!("{} B", of.rts_threshold_bytes));
    }
    if let Some(index) = of.protection_rate.filter(|&index| phy.mcs(index).is_none()) {
        mac["protection_rate"] = json!(rate(phy.rate(index)));
    }
    if newer {
        mac["lifetime"] = json!(time(of.lifetime));
        mac["aggregation"] = aggregation(of);
    }
    if let Some(one) = dcf(of, phy) {
        (mac["access"], mac["dcf"]) = (json!("dcf"), category(one));
        return mac;
    }
    let tables = CATEGORIES.iter().zip(&of.categories).map(|(&name, of)| {
        let mut keys = category(of);
        keys["txop"] = txop(of.txop);
        (name.to_owned(), keys)
    });
    (mac["access"], mac["edca"]) = (json!("edca"), Value::Object(tables.collect()));
    mac
}

/// The parameters of DCF, if that is all that the station has.
fn dcf<'a>(of: &'a MacConfig, phy: &Phy) -> Option<&'a CategoryConfig> {
    match &of.categories[..] {
        [one] if one.txop == Txop::One && phy.newest_format().is_none() => Some(one),
        _ => None,
    }
}

fn aggregation(of: &MacConfig) -> Value {
    let Some(limits) = of.aggregation else { return json!({"enabled": false}) };
    let mut keys = json!({"enabled": true});
    if limits.max_bytes < u32::MAX {
        keys["max_size"] = json!(format!("{} B", limits.max_bytes));
    }
    if limits.window < u32::MAX {
        keys["window"] = json!(limits.window);
    }
    keys
}

fn category(of: &CategoryConfig) -> Value {
    let countdown = match of.countdown {
        CountdownRule::Freeze => "freeze",
        CountdownRule::Edca => "edca",
    };
    json!({"aifsn": of.aifsn, "cw_min": of.w_min - 1, "cw_max": of.w_max - 1, "countdown": countdown})
}

fn txop(of: Txop) -> Value {
    match of {
        Txop::One => json!("0 us"),
        Txop::Time(limit) => json!(format!("{} us", limit.as_nanos() / 1000)),
        Txop::Packets(packets) => json!(format!("{packets} packets")),
        Txop::Flows => json!("flows"),
    }
}

fn flow_keys(id: usize, of: &Flow, cell: &CellSpec) -> Value {
    let phy = &cell.radio.phy;
    let start = format!("{} ns", of.source.start.as_nanos());
    let size = format!("{} B", of.source.size_bytes);
    let ecn = of.ecn != airqueue_core::Ecn::NotEct;
    let mut keys = json!({
        "name": format!("f{id}"), "from": name(of.from), "to": name(of.to), "size": size, "start": start, "ecn": ecn,
    });
    if dcf(&cell.stations[of.from.index()].mac, phy).is_none() {
        keys["category"] = json!(CATEGORIES[of.ac.index()]);
    }
    match of.source.arrivals {
        _ if of.offered => {
            (keys["source"], keys["packet_rate"]) = (json!("cbr"), json!("200 packets/s"))
        }
        Arrivals::Constant(at) => (keys["source"], keys["rate"]) = (json!("cbr"), json!(rate(at))),
        Arrivals::Poisson(at) => {
            (keys["source"], keys["rate"]) = (json!("poisson"), json!(rate(at)))
        }
        _ => keys["source"] = json!("saturated"),
    }
    match of.rate_control.as_ref().map(|control| control.algorithm).filter(|name| name.looks()) {
        Some(algorithm) => keys["rate_control"] = json!(algorithm.word()),
        None => keys["phy_rate"] = json!(rate_word(phy, of.rate)),
    }
    if let Some(report) = of.report {
        keys["rdqm_rtt"] = json!(time(report.base));
        keys["rdqm_rtt_kind"] = json!(if report.smoothed { "smoothed" } else { "base" });
    }
    keys
}

fn rate_word(phy: &Phy, index: RateIndex) -> String {
    phy.mcs(index).map_or_else(|| rate(phy.rate(index)), |mcs| mcs.to_string())
}
