//! Flows of real TCP through a router: seen, and followed by the service.

use crate::bed::{Bed, GUARDED, PATIENCE, apart};
use serde_json::Value;
use std::cell::RefCell;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server that sends to everybody who connects, at a port of both versions of IP.
const SERVER: &str = "
import socket, threading
listening = socket.create_server(('::', 5001), family=socket.AF_INET6, dualstack_ipv6=True)
def feed(connection):
    try:
        while True:
            connection.sendall(bytes(65536))
    except OSError:
        pass
while True:
    threading.Thread(target=feed, args=(listening.accept()[0],), daemon=True).start()
";
/// A station that downloads, from an address of its own, until it is killed; the server may begin later. Its third argument
/// is its receive buffer in bytes (0: the kernel's).
const STATION: &str = "
import socket, sys, time
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
while True:
    connection = socket.socket(family)
    if int(sys.argv[3]):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(sys.argv[3]))
    connection.bind((sys.argv[1], 0))
    try:
        connection.connect((sys.argv[2], 5001))
        break
    except OSError:
        time.sleep(0.1)
while connection.recv(1 << 18):
    pass
";

/// One way from the router to the server, and from the server to the router.
const WAY_MS: f64 = 25.0;
/// Hands every frame from `in` to `out` and back, so many seconds later as its argument says. Frames have their headers of
/// virtio (PACKET_VNET_HDR): the kernel leaves checksums and the size of packets to the device.
const LINE: &str = "
import heapq, select, socket, sys, time
def end(name):
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    made.setsockopt(263, 15, 1)
    made.bind((name, 0))
    made.setblocking(False)
    return made
ends = [end('in'), end('out')]
under_way, number = [], 0
while True:
    wait_s = max(0, under_way[0][0] - time.monotonic()) if under_way else None
    for one in select.select(ends, [], [], wait_s)[0]:
        frame, about = one.recvfrom(1 << 17)
        if about[2] != socket.PACKET_OUTGOING:
            number += 1
            other = ends[one is ends[0]]
            heapq.heappush(under_way, (time.monotonic() + float(sys.argv[1]), number, other, frame))
    while under_way and under_way[0][0] <= time.monotonic():
        _, _, other, frame = heapq.heappop(under_way)
        try:
            other.send(frame)
        except OSError:
            pass
";

/// A router with an uplink `wan` to a server, and `lan` to a station with several addresses; each in its namespace.
struct Home {
    server: Child,
    station: Child,
    /// What is between the router and a server that is far away.
    line: Option<Child>,
    programs: RefCell<Vec<Child>>,
    bed: Bed,
}

impl Home {
    fn new() -> Option<Home> {
        Home::with(false)
    }

    /// far: whether the server is [`WAY_MS`] away in each direction.
    fn with(far: bool) -> Option<Home> {
        let bed = Bed::new()?;
        let beside = || {
            let mut command = bed.command("unshare");
            command.args(["--net", "sleep", "1000"]).stderr(Stdio::null()).spawn().unwrap()
        };
        let home = Home {
            server: beside(),
            station: beside(),
            line: far.then(beside),
            programs: RefCell::default(),
            bed,
        };
        home.bed.until("all namespaces", PATIENCE, || {
            let of =
                |process: &Child| std::fs::read_link(format!("/proc/{}/ns/net", process.id())).ok();
            let router = home.bed.inside("readlink", &["/proc/self/ns/net"]).stdout;
            let router = String::from_utf8(router).unwrap();
            // On its way each is in the namespace of the tests, and then in the router's.
            let tests = std::fs::read_link("/proc/self/ns/net").unwrap();
            let hosts = [&home.server, &home.station].into_iter().chain(&home.line);
            hosts.map(of).all(|found| {
                found.as_ref().is_some_and(|found| {
                    *found != tests && found.to_string_lossy() != router.trim()
                })
            })
        });
        home.connect("wan", &home.server, 1);
        home.connect("lan", &home.station, 2);
        for extra in 3..6 {
            let address = format!("10.2.0.{extra}/24");
            home.ip(&home.station, &["address", "add", &address, "dev", "eth"]);
        }
        let forward = ["-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"];
        assert!(home.bed.inside("sysctl", &forward).status.success());
        home.start(&home.server, SERVER, &[]);
        Some(home)
    }

    fn connect(&self, interface: &str, host: &Child, net: u8) {
        let pair = |here: &str, there: &str, host: &Child| {
            format!("link add {here} type veth peer name {there} netns {}", host.id())
        };
        let words = |line: String| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let line = self.line.as_ref().filter(|_| interface == "wan");
        let own = match line {
            Some(line) => pair(interface, "in", line),
            None => pair(interface, "eth", host),
        };
        assert!(self.bed.command("ip").args(words(own)).status().unwrap().success());
        if let Some(line) = line {
            let far = words(pair("out", "eth", host));
            self.ip(line, &far.iter().map(String::as_str).collect::<Vec<_>>());
            self.ip(line, &["link", "set", "in", "up"]);
            self.ip(line, &["link", "set", "out", "up"]);
            self.start(line, LINE, &[&(WAY_MS / 1e3).to_string()]);
        }
        let four = |last: u8| format!("10.{net}.0.{last}");
        let six = |last: u8| format!("fd0{net}::{last}");
        for address in [format!("{}/24", four(1)), format!("{}/64", six(1))] {
            let output =
                self.bed.inside("ip", &["address", "add", &address, "dev", interface, "nodad"]);
            assert!(output.status.success(), "{output:?}");
        }
        assert!(self.bed.inside("ip", &["link", "set", interface, "up"]).status.success());
        for address in [format!("{}/24", four(2)), format!("{}/64", six(2))] {
            self.ip(host, &["address", "add", &address, "dev", "eth", "nodad"]);
        }
        self.ip(host, &["link", "set", "eth", "up"]);
        self.ip(host, &["route", "add", "default", "via", &four(1)]);
        self.ip(host, &["-6", "route", "add", "default", "via", &six(1)]);
    }

    fn at(&self, host: &Child) -> Command {
        let mut command = self.bed.command("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", host.id()));
        command
    }

    fn ip(&self, host: &Child, arguments: &[&str]) {
        let output = self.at(host).arg("ip").args(arguments).output().unwrap();
        assert!(output.status.success(), "ip {arguments:?}: {output:?}");
    }

    fn start(&self, host: &Child, program: &str, arguments: &[&str]) {
        let mut command = self.at(host);
        command.args(["python3", "-c", program]).args(arguments);
        self.programs.borrow_mut().push(apart(command));
    }

    /// A station's address begins to download.
    fn download(&self, address: &str) {
        self.download_by_window(address, 0);
    }

    /// A station's address begins to download, with a receive buffer of so many bytes, from which its window follows.
    fn download_by_window(&self, address: &str, buffer_bytes: u32) {
        let server = if address.contains(':') { "fd01::2" } else { "10.1.0.2" };
        self.start(&self.station, STATION, &[address, server, &buffer_bytes.to_string()]);
    }

    /// The flows through an interface, after so many seconds.
    fn flows(&self, interface: &str, seconds: u8) -> Value {
        let mut command = self.bed.command(env!("CARGO_BIN_EXE_airqueued"));
        command.args(["flows", interface, "--json", "--count", &seconds.to_string()]);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        serde_json::from_str(text.lines().last().unwrap()).unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let mut programs = self.programs.borrow_mut();
        let hosts = [&mut self.server, &mut self.station].into_iter().chain(&mut self.line);
        for process in programs.iter_mut().chain(hosts) {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

#[test]
fn downloads_are_seen_with_their_rates_and_round_trips() {
    let Some(home) = Home::new() else { return };
    // 8 Mb/s in a FIFO of 60 packets behind `lan`. The bucket holds one packet, so that merged ones are taken apart. Linux
    // offers at most the buffer that a program asked for as its window: 22 packets of each download, 44 of both, so that a
    // packet waits up to 44 times 1.514 ms and none is lost. With losses nothing says how many acknowledgements are measured.
    home.bed.tc("qdisc add dev lan root handle 1: tbf rate 8mbit burst 1600 limit 3000000");
    home.bed.tc("qdisc add dev lan parent 1:1 handle 10: pfifo limit 60");
    home.download_by_window("10.2.0.2", 32_768);
    home.download_by_window("fd02::2", 32_768);
    home.bed.until("two downloads", PATIENCE, || home.flows("lan", 1)["downloads"] == 2);
    std::thread::sleep(Duration::from_secs(2));
    let look = home.flows("lan", 3);
    let (downloads, uploads) = (look["downloads"].as_u64(), look["uploads"].as_u64());
    assert_eq!((downloads, uploads), (Some(2), Some(0)), "{look:#}");
    let flows = look["flows"].as_array().unwrap();
    let sum: f64 = flows.iter().map(|flow| flow["down_bps"].as_f64().unwrap()).sum();
    // Payload is 1448 of 1514 bytes, 1428 with IPv6.
    assert!((6.8e6..8e6).contains(&sum), "{look:#}");
    for flow in flows {
        assert_eq!(flow["far"].as_str().unwrap().rsplit(':').next(), Some("5001"));
        let near = &flow["station_rtt"];
        // veth has no delay; the station's processor may be late.
        assert!(near["least_s"].as_f64().unwrap() < 0.005, "{flow:#}");
        // One in each round trip, of 67 ms at most; half of them, should the machine be late.
        assert!(near["samples"].as_u64() >= Some(25), "{flow:#}");
    }
    // At the uplink what leaves goes to the server, whose data bring acknowledgements after their wait in the FIFO.
    let look = home.flows("wan", 3);
    for flow in look["flows"].as_array().unwrap() {
        let [server, waits] = ["station_rtt", "far_rtt"].map(|half| &flow[half]);
        assert!(server["least_s"].as_f64().unwrap() < 0.005, "{flow:#}");
        let wait_s = waits["smoothed_s"].as_f64().unwrap();
        assert!((0.01..0.09).contains(&wait_s), "{flow:#}");
        for half in [server, waits] {
            assert!(half["samples"].as_u64() >= Some(25), "{flow:#}");
        }
    }
    assert_eq!(look["flows"].as_array().unwrap().len(), 2, "{look:#}");
}

/// A sender hands its packets over merged, as a driver with GRO does. A FIFO of ten packets holds ten of them, not ten times as
/// many as were merged.
#[test]
fn a_limit_in_packets_counts_packets_that_came_merged() {
    let Some(home) = Home::new() else { return };
    let bed = &home.bed;
    for address in ["10.2.0.2", "10.2.0.3", "fd02::2"] {
        home.download(address);
    }
    let fifo = serde_json::json!({"limit_packets": 10});
    let shaped = |by: &str| serde_json::json!({"shaped": {"by": by, "rate_bps": 6_000_000, "burst_bytes": 24_000, "below": {"fifo": fifo}}});
    let shared = serde_json::json!({"shared": {"handle": 7, "rate_bps": 6_000_000, "other": 2, "classes": [
        {"id": 2, "rate_bps": 6_000_000, "queue": fifo}]}});
    // htb leaves them merged: a plan that asks for htb gets htb alone.
    for (queue, single) in [(shaped("tbf"), true), (shared, true), (shaped("htb"), false)] {
        let about = queue.to_string();
        bed.apply(&bed.plan(&[("lan", queue)]), "60s").ends(0, "Set and read back");
        bed.run(&["confirm"]).ends(0, "Confirmed");
        // Packets of IPv4 and IPv6 have 1514 bytes with their Ethernet headers.
        let (mut most, mut longest) = (0, 0);
        for _ in 0..40 {
            std::thread::sleep(Duration::from_millis(50));
            let output = bed.inside("tc", &["-s", "-j", "qdisc", "show", "dev", "lan"]);
            let told: Value = serde_json::from_slice(&output.stdout).unwrap();
            let told = told.as_array().unwrap().iter().find(|each| each["kind"] == "pfifo");
            let number = |key: &str| told.unwrap()[key].as_u64().unwrap();
            let (packets, bytes) = (number("qlen"), number("backlog"));
            most = most.max(packets);
            // The kernel reads both without a lock: a packet that leaves may be counted in the bytes alone.
            longest = longest.max(bytes / (packets + 1));
        }
        assert!((5..=10).contains(&most), "{most} packets in {about}");
        assert_eq!(longest <= 1514, single, "{longest} bytes in {about}");
    }
}

#[test]
fn a_buffer_is_divided_among_downloads_by_rate_and_given_back() {
    let Some(home) = Home::new() else { return };
    let bed = &home.bed;
    let before = bed.shown("lan");
    let configuration = "config = 1\nat_most_every = \"1 s\"\n[[rdqm]]\ninterface = \"lan\"\n\
        uplink = \"wan\"\nrate = \"20 Mb/s\"\nbuffer = \"100 packets\"\nclasses = 4\nidle = \"2 s\"\n\
        [[rdqm.station]]\naddress = \"10.2.0.2\"\nrate = \"11 Mb/s\"\n\
        [[rdqm.station]]\naddress = \"fd02::2\"\nrate = \"1 Mb/s\"\n";
    let file = bed.plan_file().with_file_name("airqueued.toml");
    std::fs::write(&file, configuration).unwrap();
    let mut service = apart(bed.airqueued(&["--config", file.to_str().unwrap()]));
    bed.until("steered", PATIENCE, || bed.status()["state"] == "steered");
    // Somebody has a filter there first, so that the kernel gives ours other numbers.
    bed.tc("filter add dev lan parent 10: protocol ip pref 5 u32 match u32 1 0xffffffff at 0 flowid 10:6");
    for address in ["10.2.0.2", "fd02::2", "10.2.0.3"] {
        home.download(address);
    }
    let filters = || {
        let output = bed.inside("tc", &["filter", "show", "dev", "lan", "parent", "10:"]);
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter(|line| line.contains("pref 1 ") && line.contains("flowid")).count()
    };
    bed.until("three flows have classes", PATIENCE, || filters() == 3);
    std::thread::sleep(Duration::from_secs(4));
    // N is 4 with what has no class: Q/4 for it and for the flow without a known rate; half the buffer for the two others,
    // whose delays hardly differ: the one with 11 Mb/s has far more of it.
    let shown = bed.disciplines("lan");
    let limit = |line: &str| line.split("limit ").nth(1)?.strip_suffix('p')?.parse::<u32>().ok();
    let mut limits: Vec<u32> = shown.lines().filter_map(|line| limit(line.trim())).collect();
    limits.sort();
    assert_eq!(limits.len(), 5, "{shown}");
    let used = &limits[1..];
    assert_eq!(used.iter().sum::<u32>(), 100, "{shown}");
    assert_eq!(used.iter().filter(|limit| **limit == 25).count(), 2, "{shown}");
    assert!(used[3] >= 35 && used[0] <= 15, "{shown}");
    // Packets go into their classes, and nothing was dropped when classes changed: only full queues drop.
    let output = bed.inside("tc", &["-s", "class", "show", "dev", "lan"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let sent = |class: &str| -> u64 {
        let (_, after) = text.split_once(&format!("class htb 10:{class} ")).unwrap();
        let (_, after) = after.split_once("Sent ").unwrap();
        after.split(' ').next().unwrap().parse().unwrap()
    };
    for class in ["3", "4", "5"] {
        assert!(sent(class) > 100_000, "{class}: {text}");
    }
    assert_eq!(sent("6"), 0, "{text}");
    // Another program changes a class, and takes a filter away: both come back, and the service goes on.
    let [class, filter] = [
        "class change dev lan parent 10:1 classid 10:6 htb rate 1mbit",
        "filter delete dev lan parent 10: protocol all pref 1 handle 801::3 u32",
    ];
    bed.tc(class);
    bed.until("the class comes back", PATIENCE, || !bed.shown("lan").contains("rate 1Mbit"));
    bed.tc(filter);
    bed.until("the filter comes back", PATIENCE, || filters() == 3);
    assert!(service.try_wait().unwrap().is_none());
    // The stations end: classes and filters go back, and with the service the shaper.
    for station in home.programs.borrow_mut().iter_mut().skip(1) {
        station.kill().unwrap();
    }
    bed.until("no flow has a class", PATIENCE, || filters() == 0);
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(service.id() as i32),
        nix::sys::signal::Signal::SIGTERM,
    )
    .unwrap();
    assert!(service.wait().unwrap().success());
    assert_eq!(bed.shown("lan"), before);
    // With a service that is killed its filters end as well: by its guard.
    let mut service = apart(bed.airqueued(&["--config", file.to_str().unwrap()]));
    home.download("10.2.0.2");
    bed.until("a flow has a class", PATIENCE, || filters() == 1);
    service.kill().unwrap();
    service.wait().unwrap();
    bed.until("all as before", GUARDED, || bed.shown("lan") == before);
    assert_eq!(filters(), 0);
}

#[test]
fn a_limit_follows_the_number_of_flows() {
    let Some(home) = Home::new() else { return };
    let bed = &home.bed;
    let queue = serde_json::json!({"shaped": {"rate_bps": 20_000_000,
        "below": {"fifo": {"limit_packets": 300}}}});
    bed.plan(&[("lan", queue)]);
    let configuration = "config = 1\nplan = \"plan.json\"\nat_most_every = \"1 s\"\n\
        [[adaptive]]\ninterface = \"lan\"\nrate = \"20 Mb/s\"\nrtt = \"200 ms\"\n";
    let file = bed.plan_file().with_file_name("airqueued.toml");
    std::fs::write(&file, configuration).unwrap();
    let mut service = apart(bed.airqueued(&["--config", file.to_str().unwrap()]));
    bed.until("steered", PATIENCE, || bed.status()["state"] == "steered");
    // 20 Mb/s times 200 ms are 331 packets of 1514 bytes; for four flows half of them.
    let has = |limit: u32| bed.disciplines("lan").contains(&format!("limit {limit}p"));
    home.download("10.2.0.2");
    bed.until("a limit for one flow", PATIENCE, || has(331));
    for address in ["10.2.0.3", "10.2.0.4", "10.2.0.5"] {
        home.download(address);
    }
    bed.until("a limit for four flows", PATIENCE, || has(166));
    service.kill().unwrap();
    service.wait().unwrap();
}

/// A page without flows would say that nobody sends.
#[test]
fn a_look_at_an_interface_ends_when_that_is_removed() {
    let Some(bed) = Bed::new() else { return };
    let mut command = bed.command(env!("CARGO_BIN_EXE_airqueued"));
    command.args(["flows", "va", "--every", "200ms", "--count", "100", "--json"]);
    let mut looks = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = [0];
    looks.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    bed.ip("link del va");
    let output = looks.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.contains("va was removed")), (Some(1), true), "{said}");
}

/// The number of active flows and the round trip in ms that a change of a limit gives as its reason.
fn reason(event: &Value) -> Option<(u32, f64)> {
    let why = event["why"].as_str().filter(|_| event["event"] == "changed")?;
    let (flows, trip) = why.split_once(", round trip ")?;
    let flows = flows.split(' ').next()?.parse().ok()?;
    Some((flows, trip.strip_suffix(" ms")?.parse().ok()?))
}

/// The measured round trip is that of the path, 50 ms and what the machine takes, and the queue towards the stations is not in
/// it: one flow keeps 83 packets there at 50 ms, which is another 50 ms. Without the measurement the limit is that of 200 ms.
#[test]
fn a_limit_follows_the_measured_round_trip() {
    let Some(home) = Home::with(true) else { return };
    let bed = &home.bed;
    let queue = serde_json::json!({"shaped": {"rate_bps": 20_000_000,
        "below": {"fifo": {"limit_packets": 300}}}});
    bed.plan(&[("lan", queue)]);
    let configuration = "config = 1\nplan = \"plan.json\"\nat_most_every = \"1 s\"\n\
        [[adaptive]]\ninterface = \"lan\"\nuplink = \"wan\"\nrate = \"20 Mb/s\"\nrtt = \"200 ms\"\n";
    let file = bed.plan_file().with_file_name("airqueued.toml");
    std::fs::write(&file, configuration).unwrap();
    let told = file.with_file_name("events");
    let mut command = bed.airqueued(&["--config", file.to_str().unwrap(), "--json"]);
    command.stdout(std::fs::File::create(&told).unwrap()).stderr(Stdio::null());
    let mut service = command.spawn().unwrap();
    bed.until("steered", PATIENCE, || bed.status()["state"] == "steered");
    let reasons = || -> Vec<(u32, f64)> {
        let text = std::fs::read_to_string(&told).unwrap();
        let events = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        events.filter_map(|event: Value| reason(&event)).collect()
    };
    // Rate times round trip by the root of flows, in packets of 1514 bytes. The reason has its round trip in tenths of a
    // millisecond, which are a sixth of a packet.
    let follows = |wanted: u32| {
        let Some(&(flows, rtt_ms)) = reasons().last() else { return false };
        let packets = 20e6 / 8.0 * rtt_ms / 1e3 / f64::from(flows).sqrt() / 1514.0;
        let limits = [packets - 0.2, packets + 0.2].map(|packets| packets.ceil() as u32);
        let shown = bed.disciplines("lan");
        // Packets that wait at `lan` would add another 50 ms.
        flows == wanted
            && rtt_ms < 3.0 * WAY_MS
            && limits.iter().any(|limit| shown.contains(&format!("limit {limit}p")))
    };
    home.download("10.2.0.2");
    bed.until("a limit for one flow", PATIENCE, || follows(1));
    for address in ["10.2.0.3", "10.2.0.4", "10.2.0.5"] {
        home.download(address);
    }
    bed.until("a limit for four flows", PATIENCE, || follows(4));
    let shortest = reasons().iter().map(|&(_, rtt_ms)| rtt_ms).fold(f64::INFINITY, f64::min);
    assert!(shortest >= 2.0 * WAY_MS, "no sample is shorter than the path: {:?}", reasons());
    service.kill().unwrap();
    service.wait().unwrap();
}
