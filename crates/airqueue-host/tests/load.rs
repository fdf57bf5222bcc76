//! TCP load over real sockets: what it carries, when it ends, and what strangers can do to it.
#![allow(clippy::disallowed_methods)]

mod common;

use airqueue_core::Span;
use airqueue_host::clock::monotonic;
use airqueue_host::load::{LoadSeries, MISSING_NS};
use airqueue_host::{ClientHandle, LoadHandle, ServerHandle, ServerOptions};
use airqueue_probe::client::Direction;
use airqueue_probe::limits::Limits;
use airqueue_probe::plan::{Plan, Segment};
use airqueue_probe::records::{MISSING, Run, RunEnd};
use common::{connect, server};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// How long a test waits for what must happen, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);
/// Well below the 20 s of a run that must end before.
const EARLY: Duration = Duration::from_secs(12);

fn serve(limits: Limits, tcp: bool) -> ServerHandle {
    ServerHandle::start(&server(limits, tcp)).unwrap()
}

/// A sparse run of so many milliseconds, in progress.
fn begin(client: &ClientHandle, ms: i64, direction: Direction) {
    let duration = Span::from_millis(ms);
    let (start, count) = (Span::ZERO, (ms / 20) as u32);
    let segment = Segment { flow: 0, start, duration, count, size: 200, traffic_class: 0 };
    client.start(&Plan { segments: vec![segment] }, direction).unwrap();
    let active = || client.times().is_some_and(|t| t.active && t.started.is_some());
    assert!(within(PATIENCE, active));
}

fn within(limit: Duration, done: impl Fn() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !done() {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

fn finish(client: &ClientHandle) -> Run {
    let run = client.finish(Duration::from_secs(30)).unwrap();
    assert_eq!(run.end, RunEnd::Complete);
    run
}

fn sums(series: &LoadSeries) -> (u64, u64) {
    series.rows.iter().fold((0, 0), |(d, u), r| (d + r.down_bytes, u + r.up_bytes))
}

fn ended(load: &LoadHandle) -> bool {
    load.poll().ended
}

fn limits(mbit: u64) -> Limits {
    Limits { max_bits_per_s: mbit * 1_000_000, ..Limits::default() }
}

#[test]
fn a_load_carries_bytes_in_its_directions_within_the_servers_rate_and_ends_with_the_run() {
    let server = serve(limits(40), true);
    let client = connect(server.local_addr().port());
    for (run, (down, up)) in [(2, 0), (0, 2), (2, 1)].into_iter().enumerate() {
        let direction = [Direction::Down, Direction::Up][run % 2];
        begin(&client, 1500, direction);
        let load = client.load(down, up).unwrap();
        assert!(within(PATIENCE, || ended(&load)), "it ends by itself");
        let progress = load.poll();
        let series = load.stop();
        assert_eq!((progress.failed, &series.died), (None, &Vec::new()));
        let (got, sent) = sums(&series);
        assert_eq!((got, sent), (progress.down_bytes, progress.up_bytes));
        let seconds = (series.rows.last().unwrap().at - series.from).as_secs_f64();
        assert!((1.0..2.0).contains(&seconds), "{seconds}");
        // The cap counts headers, and lets 10 ms pass at once; buffers hold a little more.
        for (connections, bytes) in [(down, got), (up, sent)] {
            let cap = 40e6 / 8.0 * seconds;
            assert_eq!(connections > 0, bytes > 0);
            assert!((bytes as f64) < cap * 1.05 + 400e3, "{bytes} of {cap}");
            // On two busy processors a third of it must be possible.
            assert!(connections == 0 || bytes as f64 > cap / 3.0, "{bytes} of {cap}");
        }
        let rtt = |known: &dyn Fn(&airqueue_host::load::LoadRow) -> i64| {
            series.rows.iter().map(known).filter(|&ns| ns != MISSING_NS).min()
        };
        let (down_rtt, up_rtt) = (rtt(&|r| r.down_rtt_ns[1]), rtt(&|r| r.up_rtt_ns[1]));
        assert_eq!(up_rtt.is_some(), up > 0);
        assert!(down > 0 || down_rtt.is_none());
        let records = finish(&client).records;
        let lost = records.received_ns.iter().filter(|&&ns| ns == MISSING).count();
        assert!(lost <= 1, "{lost} packets of the sparse flow were lost");
        assert!(within(PATIENCE, || server.load_stats().open == 0));
    }
    assert_eq!(server.load_stats().admitted, 7);
}

#[test]
fn rows_follow_each_other_on_the_monotonic_clock_beside_the_times_of_the_run() {
    let server = serve(limits(20), true);
    let client = connect(server.local_addr().port());
    begin(&client, 1200, Direction::Down);
    let before = monotonic();
    let load = client.load(1, 0).unwrap();
    std::thread::sleep(Duration::from_millis(550));
    let series = load.stop();
    let after = monotonic();
    assert!(before <= series.from && series.rows.last().unwrap().at <= after);
    let mut last = series.from;
    for row in &series.rows {
        assert!(row.at > last, "{row:?}");
        last = row.at;
    }
    // A row for each 100 ms, and one for the rest.
    let most = ((after - before).as_secs_f64() / 0.1) as usize + 1;
    assert!((4..=most).contains(&series.rows.len()), "{} of {most}", series.rows.len());
    assert_eq!(load.stop(), series, "stopping again changes nothing");
    let run = finish(&client);
    let times = client.times().unwrap();
    assert!(!times.active);
    let first = times.epoch.unwrap() + Span::from_nanos(run.records.received_ns[0]);
    assert!(times.started.unwrap() <= first && first <= before);
}

#[test]
fn a_load_needs_a_run_and_a_bounded_number_of_connections() {
    let server = serve(limits(10), true);
    let client = connect(server.local_addr().port());
    assert!(client.load(1, 1).unwrap_err().to_string().contains("needs a run"));
    begin(&client, 600, Direction::Down);
    for (down, up) in [(0, 0), (33, 0), (200, 200)] {
        let error = client.load(down, up).unwrap_err().to_string();
        assert!(error.contains("1 to 32"), "{error}");
    }
    let first = client.load(20, 0).unwrap();
    let error = client.load(0, 20).unwrap_err().to_string();
    assert!(error.contains("32 connections in all"), "{error}");
    let second = client.load(0, 12).unwrap();
    assert!(within(Duration::from_secs(2), || server.load_stats().admitted == 32));
    drop((first, second));
    finish(&client);
    assert!(client.load(1, 1).is_err());
}

#[test]
fn a_server_without_tcp_says_so_to_its_clients_and_works_otherwise() {
    // Somebody else has the TCP port of that number.
    let (port, taken) = (0..)
        .find_map(|_| {
            let taken = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = taken.local_addr().unwrap().port();
            UdpSocket::bind(("127.0.0.1", port)).ok().map(|_| (port, taken))
        })
        .unwrap();
    let options = ServerOptions { port, ..server(limits(10), true) };
    let without = ServerHandle::start(&options).unwrap();
    let why = without.no_tcp().unwrap().to_owned();
    assert!(why.contains(&port.to_string()) && why.contains("taken"), "{why}");
    drop(taken);
    let switched_off = serve(limits(10), false);
    assert_eq!(switched_off.no_tcp(), None);
    for server in [without, switched_off] {
        let client = connect(server.local_addr().port());
        begin(&client, 800, Direction::Down);
        let load = client.load(1, 1).unwrap();
        assert!(within(PATIENCE, || ended(&load)));
        let failed = load.poll().failed.unwrap();
        assert!(failed.contains("offers no TCP load"), "{failed}");
        let series = load.stop();
        assert_eq!((sums(&series), series.died.len()), ((0, 0), 2));
        finish(&client);
    }
}

#[test]
fn a_load_ends_within_two_seconds_when_its_client_vanishes() {
    for direction in [Direction::Down, Direction::Up] {
        // A busy machine may be late at times; what is wrong is late every time.
        assert!((0..5).any(|_| ends_when_its_client_vanishes(direction)), "{direction:?}");
    }
}

fn ends_when_its_client_vanishes(direction: Direction) -> bool {
    let server = serve(limits(20), true);
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_client_that_vanishes", "--ignored", "--nocapture"])
        .env("AIRQUEUE_TEST_PORT", server.local_addr().port().to_string())
        .env("AIRQUEUE_TEST_UP", if direction == Direction::Up { "1" } else { "" })
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    assert!(within(EARLY, || server.load_stats().open == 4));
    // Stopped, not killed: its kernel would reset the connections of a dead process.
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGSTOP).unwrap();
    let gone = within(Duration::from_millis(2300), || server.load_stats().open == 0);
    let _ = child.kill();
    let _ = child.wait();
    gone
}

#[test]
#[ignore = "the other process of the test above"]
fn the_client_that_vanishes() {
    let Ok(port) = std::env::var("AIRQUEUE_TEST_PORT") else { return };
    let up = std::env::var("AIRQUEUE_TEST_UP").is_ok_and(|up| !up.is_empty());
    let client = connect(port.parse().unwrap());
    begin(&client, 20_000, if up { Direction::Up } else { Direction::Down });
    let _load = client.load(2, 2).unwrap();
    std::thread::sleep(Duration::from_secs(20));
}

#[test]
fn a_cancelled_run_ends_its_load_at_both_ends() {
    let server = serve(limits(20), true);
    let client = connect(server.local_addr().port());
    begin(&client, 20_000, Direction::Down);
    let load = client.load(1, 1).unwrap();
    assert!(within(EARLY, || load.poll().alive == 2));
    client.cancel().unwrap();
    assert!(within(EARLY, || ended(&load) && server.load_stats().open == 0));
    assert_eq!((load.poll().failed, load.stop().died), (None, Vec::new()));
}

/// Descriptors that this process has open.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn garbage_disturbs_no_run_and_leaves_nothing_behind() {
    // Other tests of this process open descriptors too: this one has a process of its own.
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_run_amid_garbage", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "the process of the test above"]
fn a_run_amid_garbage() {
    let server = serve(limits(20), true);
    let client = connect(server.local_addr().port());
    let before = descriptors();
    begin(&client, 12_000, Direction::Down);
    let load = client.load(2, 1).unwrap();
    assert!(within(EARLY, || load.poll().alive == 3));
    let mut random = 7u64;
    let mut kept = Vec::new();
    for i in 0..1000 {
        let mut stranger = TcpStream::connect(server.local_addr()).unwrap();
        let mut bytes = [0u8; 100];
        for byte in &mut bytes {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (random >> 56) as u8;
        }
        if i % 2 == 0 {
            bytes[..8].copy_from_slice(b"AQLD\x01\x00\x00\x00");
        }
        // The server may have closed already.
        let _ = stranger.write(&bytes[..i % 100]);
        match i % 3 {
            0 => kept.push(stranger),
            1 => {
                let _ = stranger.set_read_timeout(Some(Duration::from_millis(1)));
                assert_eq!(stranger.read(&mut bytes).unwrap_or(0), 0, "garbage gets no answer");
            }
            _ => {}
        }
    }
    assert_eq!(load.poll().alive, 3, "{:?}", load.poll());
    // Those that say nothing are dropped after 2 s, while they are still open at their end: before the run ends.
    assert!(within(Duration::from_secs(8), || server.load_stats().open == 3));
    assert_eq!(load.stop().died, Vec::<String>::new());
    drop((kept, load));
    let run = finish(&client);
    let lost = run.records.received_ns.iter().filter(|&&ns| ns == MISSING).count();
    assert!(lost <= 1, "{lost} packets of the sparse flow were lost");
    assert_eq!((server.load_stats().admitted, server.load_stats().refused), (3, 1000));
    assert!(within(PATIENCE, || descriptors() == before), "{}", descriptors());
    drop(server);
}

#[test]
fn without_a_run_every_connection_is_reset() {
    let server = serve(limits(20), true);
    for _ in 0..10 {
        let mut stranger = TcpStream::connect(server.local_addr()).unwrap();
        stranger.set_read_timeout(Some(PATIENCE)).unwrap();
        let error = stranger.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    assert_eq!(server.load_stats().admitted, 0);
}

#[test]
fn a_server_that_stops_ends_the_load_and_the_client_says_so() {
    let server = serve(limits(20), true);
    let client = connect(server.local_addr().port());
    begin(&client, 20_000, Direction::Down);
    let load = client.load(1, 1).unwrap();
    assert!(within(EARLY, || load.poll().alive == 2));
    server.stop();
    assert!(within(EARLY, || ended(&load)));
    let failed = load.poll().failed.unwrap();
    assert!(failed.contains("ended it"), "{failed}");
    assert_eq!(load.stop().died.len(), 2);
}
