//! What a look costs at many stations, from the bytes of netlink to what is written: recorded messages of cfg80211, replayed.
//!
//! `cargo bench -p airqueued`; the target is that a look each second at 50 stations, and what the service makes of
//! it, takes less than 2 % of a core: 20 ms. At its end the bench prints the most memory that it had.
//!
//! Dumps come in the datagrams in which the kernel sends them, 32 kB at most, over netlink sockets: one socket of this process
//! sends them to another one, so that the kernel copies them as it does its own. What mac80211 takes to write the
//! messages is not in it.

use airqueue_control::flows::{End, FlowKey, Protocol};
use airqueue_control::steer::{Config, FlowSeen, RdqmLoop};
use airqueue_control::watch::{Look, Watch};
use airqueue_core::{DataRate, Span, Time};
use airqueued::commands::watch::prometheus;
use airqueued::netlink::{Message, answer};
use airqueued::radio::facts::Radios;
use airqueued::radio::nl80211::{MacAddress, attribute, bodies};
use airqueued::radio::station::{self, Station};
use airqueued::radio::stations::look_with;
use airqueued::radio::{survey, wiphy};
use divan::Bencher;
use netlink_sys::{Socket, SocketAddr};
use nix::time::{ClockId, clock_gettime};

/// `NETLINK_USERSOCK`: processes among themselves.
const USERSOCK: isize = 2;
/// The kernel cuts dumps into pieces of this size (`netlink_recvmsg`).
const DATAGRAM: usize = 32 << 10;
/// Lengths and sequence numbers in `struct nlmsghdr`.
const LENGTH: usize = 4;
/// Flows that RDQM divides a buffer among.
const FLOWS: u16 = 500;

fn main() {
    divan::main();
    let mut watched = Watched::new(50);
    cost("airqueued watch, 50 stations", || watched.look());
    let mut served = Served::new(50);
    cost("the service, 50 stations and 500 flows", || served.look());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|line| line.starts_with("VmHWM")) {
        println!("most memory of all that ran, the bench itself included: {line}");
    }
}

/// Prints the time of the processor, which other processes do not lengthen as they do the wall clock's, of looks of a minute.
fn cost<T>(what: &str, mut look: impl FnMut() -> T) {
    const LOOKS: u32 = 60;
    let spent = || {
        let spent = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("the clock");
        std::time::Duration::from(spent).as_secs_f64()
    };
    let before = spent();
    for _ in 0..LOOKS {
        divan::black_box(look());
    }
    let each = (spent() - before) / f64::from(LOOKS);
    println!(
        "{what}: {:.2} ms a look, {:.2} % of a core at a look each second",
        each * 1e3,
        each * 1e2
    );
}

/// The datagrams of a recorded dump; messages answer request number 0.
fn recorded(name: &str) -> Vec<Vec<u8>> {
    let path = format!("{}/tests/recorded/txqs/{name}.netlink", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).expect("it is in the repository");
    datagrams(messages(&bytes))
}

/// Each message of a dump, with its header, as number 0.
fn messages(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let Some((length, _)) = bytes.split_first_chunk::<LENGTH>() {
        let length = (u32::from_ne_bytes(*length) as usize).next_multiple_of(4);
        let (message, rest) = bytes.split_at(length.min(bytes.len()));
        let mut message = message.to_vec();
        message[8..12].fill(0);
        found.push(message);
        bytes = rest;
    }
    found
}

/// Messages in as few datagrams as the kernel takes.
fn datagrams(messages: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for message in messages {
        match all.last_mut().filter(|last| last.len() + message.len() <= DATAGRAM) {
            Some(last) => last.extend_from_slice(&message),
            None => all.push(message),
        }
    }
    all
}

fn address(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, number, 0])
}

/// The dump of the recorded station, so many times with other addresses.
fn station_dump(stations: u8) -> Vec<Vec<u8>> {
    let one = recorded("full-station").concat();
    let header = [10, 0, attribute::MAC as u8, 0];
    let of = &messages(&one)[0];
    let at = of.windows(4).position(|bytes| bytes == header).expect("a station has an address");
    let another = |number| {
        let mut message = of.clone();
        message[at + 4..at + 10].copy_from_slice(&address(number).0);
        message
    };
    datagrams((0..stations).map(another).collect())
}

/// Two netlink sockets, one of which sends what the other one reads.
struct Wire {
    from: Socket,
    to: Socket,
    at: SocketAddr,
    buffer: Vec<u8>,
}

impl Wire {
    fn new() -> Wire {
        let from = Socket::new(USERSOCK).expect("a socket");
        let mut to = Socket::new(USERSOCK).expect("a socket");
        let at = to.bind_auto().expect("an address");
        Wire { from, to, at, buffer: Vec::with_capacity(2 * DATAGRAM) }
    }

    /// The messages of a dump, as the service reads them.
    fn dump(&mut self, datagrams: &[Vec<u8>]) -> Vec<Message> {
        let mut all = Vec::new();
        for datagram in datagrams {
            self.from.send_to(datagram, &self.at, 0).expect("room for a datagram");
            self.buffer.clear();
            self.to.recv_from(&mut self.buffer, 0).expect("the datagram");
            assert_eq!(self.buffer.len(), datagram.len());
            all.extend(answer(&self.buffer).expect("an answer"));
        }
        all
    }
}

/// What cfg80211 tells a machine with so many stations at one access point.
struct Machine {
    wire: Wire,
    phys: Vec<Vec<u8>>,
    interfaces: Vec<Vec<u8>>,
    stations: Vec<Vec<u8>>,
    survey: Vec<Vec<u8>>,
    second: i64,
}

impl Machine {
    fn new(stations: u8) -> Machine {
        Machine {
            wire: Wire::new(),
            phys: recorded("full-wiphy"),
            interfaces: recorded("ap-interface"),
            stations: station_dump(stations),
            survey: recorded("station-survey"),
            second: 0,
        }
    }

    fn radios(&mut self) -> Radios {
        let phys = self.wire.dump(&self.phys);
        let interfaces = self.wire.dump(&self.interfaces);
        Radios {
            phys: wiphy::read_all(bodies(&phys)).expect("phys"),
            interfaces: wiphy::read_interfaces(bodies(&interfaces)).expect("interfaces"),
        }
    }

    fn stations(&mut self) -> Vec<Station> {
        station::read_all(bodies(&self.wire.dump(&self.stations))).expect("stations")
    }

    /// A second later, as `airqueued watch` looks.
    fn look(&mut self) -> Look {
        self.second += 1;
        let radios = self.radios();
        let at = Time::ZERO + Span::from_secs(self.second);
        look_with(&radios, at, |_| Ok(self.stations())).expect("a look")
    }
}

/// `airqueued watch --json --prometheus FILE`, without the file: the queues of all stations are full and do not drain,
/// so that every look has alarms, which is the most that there is to say.
struct Watched {
    machine: Machine,
    watch: Watch,
}

impl Watched {
    fn new(stations: u8) -> Watched {
        let mut watched =
            Watched { machine: Machine::new(stations), watch: Watch::new(Span::from_secs(5)) };
        let report = watched.watch.on_look(&watched.machine.look());
        let told = report.queues.iter().filter(|row| row.backlog_packets > 0).count();
        assert_eq!(told, usize::from(stations), "packets wait for every station");
        watched
    }

    fn look(&mut self) -> (String, String) {
        let report = self.watch.on_look(&self.machine.look());
        (serde_json::to_string(&report).expect("a report is JSON"), prometheus::text(&report))
    }
}

#[divan::bench(args = [1, 10, 50])]
fn watch(bencher: Bencher, stations: u8) {
    let mut watched = Watched::new(stations);
    bencher.bench_local(|| watched.look());
}

/// The service's look: rates of all stations, times of the channels, and a buffer divided among flows by both. The flows'
/// delays change from look to look, so that RDQM has something to change whenever it may.
struct Served {
    machine: Machine,
    rdqm: RdqmLoop,
}

impl Served {
    fn new(stations: u8) -> Served {
        let text = "config = 1\n[[rdqm]]\ninterface = \"br-lan\"\nuplink = \"wan\"\nrate = \"100 Mb/s\"\nbuffer = \"1000 packets\"\nclasses = 200\n";
        let config = Config::read(text).expect("a configuration");
        let rdqm = RdqmLoop::new(config.rdqm[0].policy(config.at_most_every.value));
        let mut served = Served { machine: Machine::new(stations), rdqm };
        assert!(served.look(), "the first flows get classes");
        served
    }

    /// Returns whether limits changed.
    fn look(&mut self) -> bool {
        self.machine.second += 1;
        let radios = self.machine.radios();
        let known = self.machine.stations();
        let channels = self.machine.wire.dump(&self.machine.survey);
        divan::black_box((radios, survey::read_all(bodies(&channels)).expect("channels")));
        let second = self.machine.second;
        let flows: Vec<FlowSeen> = (0..FLOWS).map(|number| flow(number, &known, second)).collect();
        self.rdqm.on_flows(&flows, Time::ZERO + Span::from_secs(second)).is_some()
    }
}

#[divan::bench(args = [1, 10, 50])]
fn service(bencher: Bencher, stations: u8) {
    let mut served = Served::new(stations);
    bencher.bench_local(|| served.look());
}

fn flow(number: u16, stations: &[Station], second: i64) -> FlowSeen {
    let station = &stations[usize::from(number) % stations.len()];
    let end = |host: u8, port| End { address: [10, 0, 0, host].into(), port };
    let key = FlowKey {
        station: end(station.address.0[4], number),
        far: end(255, 443),
        protocol: Protocol::Tcp,
    };
    // 10 to 210 ms, another one each time.
    let rtt_ms = 10 + (i64::from(number) * 7 + second * 37) % 200;
    let rate = station.tx_rate_bps.and_then(DataRate::from_bps);
    FlowSeen { key, rate, rtt: Some(Span::from_millis(rtt_ms)) }
}
