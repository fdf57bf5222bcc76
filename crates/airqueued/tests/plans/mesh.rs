//! Routers of a mesh: real messages between network namespaces, with IP forwarding in between. Rates are given, as there is no radio.

use crate::bed::{Bed, GUARDED, PATIENCE, apart, two_queues};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

const KEY: &str = "the routers of this mesh alone\n";
/// Sends 1 Mb/s of UDP to an address.
const FLOW: &str = "
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    try:
        out.sendto(bytes(1250), (sys.argv[1], 5001))
    except OSError:
        pass
    time.sleep(0.01)
";
/// Hears the messages of routers, and says each again four times: as it was, with a byte changed, cut, and too long.
const HOSTILE: &str = "
import socket
index = socket.if_nametoindex('va')
heard = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x86dd))
heard.bind(('va', 0x86dd))
out = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
while True:
    packet, about = heard.recvfrom(2000)
    # UDP to the port, from others.
    if about[2] == socket.PACKET_OUTGOING or packet[6] != 17 or packet[42:44] != b'\x61\x71':
        continue
    said = packet[48:]
    changed = bytearray(said)
    changed[len(said) // 2] ^= 1
    for bad in (said, changed, said[:-1], said * 40):
        out.sendto(bytes(bad[:1400]), ('ff12::6171', 24945, 0, index))
";

/// Three routers and one that knows no key, at one switch; all hear all. Packets of the first go to the last by way of the second.
struct Mesh {
    /// Keeps the switch.
    _switch: Bed,
    routers: Vec<Bed>,
    running: Vec<Child>,
}

impl Mesh {
    fn new() -> Option<Mesh> {
        let switch = Bed::new()?;
        let ip = |bed: &Bed, line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            bed.inside("ip", &words).status.success()
        };
        if !ip(&switch, "link add sw type bridge") {
            eprintln!("SKIPPED: this kernel has no bridge");
            return None;
        }
        assert!(ip(&switch, "link set sw up"));
        let mut routers = Vec::new();
        for number in 0..4 {
            let bed = Bed::new()?;
            // The bed's own pair makes room for one whose other end is at the switch.
            assert!(ip(&bed, "link del va"));
            let made = format!(
                "link add va address 02:00:00:00:00:0{number} type veth peer name p{number} netns {}",
                switch.process()
            );
            if !ip(&bed, &made) {
                eprintln!("SKIPPED: no pair of devices between two namespaces");
                return None;
            }
            assert!(ip(&switch, &format!("link set p{number} master sw up")));
            assert!(ip(&bed, "link set va up"));
            assert!(ip(&bed, &format!("addr add 10.0.0.{number}/32 dev va")));
            for other in (0..4).filter(|other| *other != number) {
                let far = [number, other].iter().sum::<i32>() == 2 && number != 1;
                let by = if far { "via 10.0.0.1 dev va onlink" } else { "dev va" };
                let route = format!("route add 10.0.0.{other}/32 {by}");
                assert!(ip(&bed, &route), "{number}: {route}");
            }
            let settings = [
                "net.ipv4.ip_forward=1",
                "net.ipv4.conf.all.send_redirects=0",
                "net.ipv4.conf.va.send_redirects=0",
            ];
            assert!(bed.inside("sysctl", &[&["-qw"][..], &settings[..]].concat()).status.success());
            routers.push(bed);
        }
        Some(Mesh { _switch: switch, routers, running: Vec::new() })
    }

    /// A service at a router, which writes lines of JSON to a file.
    fn serve(&mut self, router: usize, key: &str) {
        let bed = &self.routers[router];
        let [queue, _] = two_queues(20);
        bed.plan(&[queue]);
        let folder = bed.plan_file().parent().unwrap().to_owned();
        fs::write(folder.join("mesh.key"), key).unwrap();
        fs::set_permissions(folder.join("mesh.key"), fs::Permissions::from_mode(0o600)).unwrap();
        let mut text = "config = 1\nplan = \"plan.json\"\nat_most_every = \"1 s\"\n[[mesh]]\n\
            interface = \"va\"\nkey = \"mesh.key\"\nqueue = \"va\"\nmost = \"20 packets\"\n\
            overhead = \"1.529 ms\"\n"
            .to_owned();
        for other in (0..4).filter(|other| *other != router) {
            text += &format!(
                "[[mesh.link]]\naddress = \"02:00:00:00:00:0{other}\"\nrate = \"11 Mb/s\"\n"
            );
        }
        let file = folder.join("airqueued.toml");
        fs::write(&file, text).unwrap();
        let mut command = bed.airqueued(&["--config", file.to_str().unwrap(), "--json"]);
        command.stdout(fs::File::create(folder.join("events")).unwrap()).stderr(Stdio::null());
        self.running.push(command.spawn().unwrap());
        bed.until("steered", PATIENCE, || bed.status()["state"] == "steered");
    }

    fn start(&mut self, router: usize, program: &str, argument: &str) {
        let mut command: Command = self.routers[router].command("python3");
        command.args(["-c", program, argument]);
        self.running.push(apart(command));
    }

    fn events(&self, router: usize) -> Vec<Value> {
        let file = self.routers[router].plan_file().with_file_name("events");
        let text = fs::read_to_string(file).unwrap();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn has_limit(&self, router: usize, packets: u32) -> bool {
        self.routers[router].disciplines("va").contains(&format!("limit {packets}p"))
    }

    fn told(&self, router: usize, event: &str, words: &str) -> bool {
        let of = |each: &Value| {
            each["event"] == event && each["why"].as_str().is_some_and(|why| why.contains(words))
        };
        self.events(router).iter().any(of)
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        for process in &mut self.running {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Two hops of 2.698 ms at 941.8 packets/s hold 5.08 packets, 2 and 3 of them; the last router has what the second has.
#[test]
fn routers_agree_until_one_is_killed() {
    let Some(mut mesh) = Mesh::new() else { return };
    let before: Vec<String> = mesh.routers.iter().map(|bed| bed.shown("va")).collect();
    (0..3).for_each(|router| mesh.serve(router, KEY));
    // One that knows the network, but not the key.
    mesh.serve(3, "the routers of another mesh\n");
    mesh.start(0, FLOW, "10.0.0.2");
    let agree = |mesh: &Mesh| (0..3).all(|at| mesh.has_limit(at, [2, 3, 3][at]));
    mesh.routers[0].until("limits", PATIENCE, || agree(&mesh));
    // What is said again, changed, cut or under another key is refused, and changes nothing.
    mesh.start(3, HOSTILE, "");
    // Routers without flows are silent: this one's goes to nobody, so that it is none of the others'.
    for line in
        ["route add 10.0.0.9/32 dev va", "neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev va"]
    {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(mesh.routers[3].inside("ip", &words).status.success(), "{line}");
    }
    mesh.start(3, FLOW, "10.0.0.9");
    for words in ["is not newer than the last one", "the tag does not fit"] {
        mesh.routers[1].until(words, PATIENCE, || mesh.told(1, "refused", words));
    }
    assert!(agree(&mesh), "{:?}", mesh.events(1));
    // The second router falls silent: after 10 s it is missed, after 5 s more nobody trusts the route.
    mesh.running[1].kill().unwrap();
    mesh.routers[1].until("all as before", GUARDED, || mesh.routers[1].shown("va") == before[1]);
    mesh.routers[0].until("the safe limit", PATIENCE, || mesh.has_limit(0, 20));
    mesh.routers[2].until("the safe limit", PATIENCE, || mesh.has_limit(2, 20));
    assert!(mesh.told(0, "changed", "the safe limit: a flow is not sized"), "{:?}", mesh.events(0));
    for at in [0, 2] {
        let pid = nix::unistd::Pid::from_raw(mesh.running[at].id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        mesh.running[at].wait().unwrap();
        assert_eq!(mesh.routers[at].shown("va"), before[at]);
    }
}

#[test]
fn a_key_that_others_may_read_is_refused() {
    let Some(bed) = Bed::new() else { return };
    let [queue, _] = two_queues(20);
    bed.plan(&[queue]);
    let file = bed.plan_file().with_file_name("airqueued.toml");
    let key = bed.plan_file().with_file_name("mesh.key");
    let text = "config = 1\nplan = \"plan.json\"\n[[mesh]]\ninterface = \"va\"\nqueue = \"va\"\nkey = \"mesh.key\"\n";
    fs::write(&file, text).unwrap();
    let run = || bed.run(&["--config", file.to_str().unwrap()]);
    run().ends(3, "mesh[0].key: the file");
    fs::write(&key, KEY).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    run().ends(3, "may be read or changed by others (mode 644)");
    assert_eq!(bed.status()["state"], "nothing of ours");
}

/// veth has no ring: the service does not begin, and changes nothing.
#[test]
fn a_ring_that_is_too_short_or_that_the_driver_lacks_is_refused() {
    let Some(bed) = Bed::new() else { return };
    let [queue, _] = two_queues(20);
    bed.plan(&[queue]);
    let before = bed.both();
    let file = bed.plan_file().with_file_name("airqueued.toml");
    let key = bed.plan_file().with_file_name("mesh.key");
    fs::write(&key, KEY).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    for (packets, expected) in [(2, "mesh[0].ring: is 2 packets; give 3"), (3, "ethtool -g")] {
        let text = format!(
            "config = 1\nplan = \"plan.json\"\n[[mesh]]\ninterface = \"va\"\nqueue = \"va\"\nkey = \"mesh.key\"\nring = \"{packets} packets\"\n"
        );
        fs::write(&file, text).unwrap();
        bed.run(&["--config", file.to_str().unwrap()]).ends(3, expected);
        assert_eq!(bed.status()["state"], "nothing of ours");
        assert_eq!(bed.both(), before);
    }
}
