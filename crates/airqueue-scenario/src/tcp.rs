//! TCP flows.

use super::error::{Result, error, wrong};
use super::file::{
    AckEveryValue, AckScheme, AckTimerName, File, FlowTable, PacingValue, RttName, SmallQueueValue,
    TcpTable,
};
use super::pacing::adaptive_pacing;
use super::profile::TcpProfile;
use super::quantity::{Duration, Packets, Quantity, Size};
use super::source::{start, times};
use airqueue_core::Span;
use airqueue_core::keys::Layers;
use airqueue_network::network::{RttKind, TcpFlowSpec, Work};
use airqueue_transport::tcp::{
    AckEvery, AckTimer, CongestionName, InitialWindow, Opening, Pacing, TcpSpec, Unmet,
};
use airqueue_transport::traffic::{FilesSpec, Load, PACKET_BYTES, PageSpec};

/// The resolution of timestamps.
const TIMESTAMP_CLOCK: Span = Span::from_millis(1);
/// The resolution of timestamps where pacing uses them.
const PACING_CLOCK: Span = Span::from_micros(1);
/// The largest IPv4 packet.
const MOST_BYTES: u32 = 65_535;

/// Segment numbers from which on an acknowledgement covers two, three and four segments (Altman and Jimenez, 2003).
const DYNAMIC: [u64; 3] = [2, 5, 9];

/// Applies a setting, if it is given.
macro_rules! take {
    ($into:expr, $layers:ident.$key:ident, $from:expr) => {
        if let Some(given) = $layers.find(stringify!($key), |table| table.$key.as_ref()) {
            $into = $from(given.value);
        }
    };
}

/// Applies a setting with invalid values, if it is given.
macro_rules! take_checked {
    ($into:expr, $layers:ident.$key:ident, $check:expr) => {
        if let Some(given) = $layers.find(stringify!($key), |table| table.$key.as_ref()) {
            $into = given.check($check)?;
        }
    };
}

/// A positive number of packets.
fn some(packets: &Quantity<Packets>) -> std::result::Result<u32, &'static str> {
    if packets.value == 0 {
        Err("found none, expected at least 1 packet")
    } else {
        Ok(packets.value)
    }
}

/// A positive length of time.
fn positive(span: &Quantity<Duration>) -> std::result::Result<Span, &'static str> {
    if span.value == Span::ZERO {
        Err("found no time at all, expected more")
    } else {
        Ok(span.value)
    }
}

/// The tables of a flow's TCP settings.
pub(super) fn layers<'a>(key: &str, table: &'a FlowTable, file: &'a File) -> Layers<'a, TcpTable> {
    let own = table.tcp.iter().map(|own| (format!("{key}.tcp"), &**own));
    Layers::new(own.chain([("tcp".to_owned(), &*file.tcp)]).collect())
}

/// Flow `at` of a table over TCP, without its routes and the pacing that depends on them.
pub(super) fn tcp_flow(
    key: &str,
    table: &FlowTable,
    (load, at): (Load, usize),
    file: &File,
) -> Result<TcpFlowSpec> {
    let layers = layers(key, table, file);
    let stack = layers.find("stack", |table| table.stack.as_ref()).map(|given| *given.value);
    let stack = stack.unwrap_or(file.behaviour.profile().tcp).profile();
    let mut tcp = spec(key, table, &layers, stack)?;
    if matches!(load, Load::Video(_) | Load::Pages(_))
        && layers.find("nagle", |table| table.nagle.as_ref()).is_none()
    {
        // Web servers send the end of a segment at once (TCP_NODELAY).
        tcp.sender.nagle = false;
    }
    let (start, (_, stop)) = (start(table, at), times(key, table)?);
    let work = match load {
        Load::Transfer(bytes) => Work::Transfer(bytes),
        Load::Video(video) => Work::Video(video),
        Load::Pages(pages) => {
            let unit_bytes = if stack.whole_segments { tcp.mss_bytes } else { 1 };
            Work::Pages(PageSpec { sizes: FilesSpec { unit_bytes, ..pages.sizes }, ..pages })
        }
        Load::Files { files, whole_segments } => {
            let whole = whole_segments.unwrap_or(stack.whole_segments);
            Work::Files(FilesSpec { unit_bytes: if whole { tcp.mss_bytes } else { 1 }, ..files })
        }
    };
    let flow = TcpFlowSpec {
        closes: tcp.opening != Opening::Open && stack.closes,
        reports: reports(key, table, &tcp)?,
        tcp,
        back: Vec::new(),
        lanes: Vec::new(),
        work,
        start,
        stop,
    };
    flow.check().map_err(|problem| error(format_args!("{key}.tcp"), problem))?;
    Ok(flow)
}

/// Both ends of a connection.
fn spec(
    key: &str,
    table: &FlowTable,
    layers: &Layers<'_, TcpTable>,
    stack: &TcpProfile,
) -> Result<TcpSpec> {
    let mut tcp = (stack.spec)(1);
    tcp.ecn = table.ecn;
    take!(tcp.sender.congestion, layers.congestion, |&name: &CongestionName| name);
    take_checked!(tcp.sender.window_segments, layers.window, some);
    take!(tcp.receiver.buffer_bytes, layers.receive_buffer, |size: &Quantity<Size>| {
        Some(size.value.into())
    });
    take_checked!(tcp.sender.initial_window, layers.initial_window, |window| {
        some(window).map(InitialWindow::Segments)
    });
    take_checked!(tcp.receiver.acknowledge, layers.ack_every, |every| match *every {
        AckEveryValue::Fixed(0) => Err("found 0, expected at least 1"),
        AckEveryValue::Fixed(n) => Ok(AckEvery::Fixed(n)),
        AckEveryValue::Named(AckScheme::Dynamic) => Ok(AckEvery::Dynamic(DYNAMIC)),
    });
    take_checked!(tcp.receiver.delay, layers.ack_delay, positive);
    take!(tcp.receiver.timer, layers.ack_timer, |name: &AckTimerName| match name {
        AckTimerName::Segment => AckTimer::Segment,
        AckTimerName::Ticks => AckTimer::Ticks,
    });
    take!(tcp.sender.small_queue, layers.small_queue, |small: &SmallQueueValue| match small {
        SmallQueueValue::Flag(small) => small.then_some(TcpSpec::RADIO_QUEUE),
        SmallQueueValue::Time(time) => Some(time.value),
    });
    take!(tcp.sender.segmentation_offload, layers.segmentation_offload, |&given: &bool| given);
    take!(tcp.receiver.batches, layers.ack_batches, |&batches: &bool| batches);
    take!(tcp.opening, layers.handshake, |&shakes: &bool| {
        if shakes { Opening::BySender } else { Opening::Open }
    });
    take!(tcp.sack, layers.sack, |&sack: &bool| sack);
    take!(tcp.timestamps, layers.timestamps, |&given: &bool| given.then_some(TIMESTAMP_CLOCK));
    if adaptive_pacing(layers).is_some() {
        // As in the authors' code for ns-2, whose segments always have timestamps.
        let given = layers.find("timestamps", |table| table.timestamps.as_ref());
        if let Some(none) = given.filter(|given| !given.value) {
            let problem =
                "TCP-AP reads round-trip times in them; leave it out, or take another pacing";
            return wrong(none.key, problem);
        }
        tcp.timestamps = Some(PACING_CLOCK);
    }
    take!(tcp.sender.limited_transmit, layers.limited_transmit, |&limited: &bool| limited);
    take!(tcp.sender.nagle, layers.nagle, |&nagle: &bool| nagle);
    let longest = tcp.sender.rto.longest;
    take_checked!(tcp.sender.rto.shortest, layers.min_rto, |least: &Quantity<Duration>| {
        match positive(least) {
            Ok(least) if least > longest => {
                Err(format!("expected no more than the longest, {}", longest.as_secs_f64()) + " s")
            }
            other => other.map_err(str::to_owned),
        }
    });
    take!(tcp.sender.pacing, layers.pacing, |&paced: &PacingValue| match paced {
        PacingValue::Flag(true) => Pacing::LINUX,
        PacingValue::Flag(false) | PacingValue::Named(_) => Pacing::Off,
    });
    meet_requirements(&mut tcp, key, layers)?;
    tcp.mss_bytes = mss_bytes(key, table, layers, stack, &tcp)?;
    Ok(tcp)
}

/// Requirements of the congestion controller that the file can set must be set in the file; all others come with the
/// controller.
fn meet_requirements(tcp: &mut TcpSpec, key: &str, layers: &Layers<'_, TcpTable>) -> Result<()> {
    let needed = tcp.sender.congestion.requirements();
    if let Some(none @ Unmet::Sack(_)) = needed.unmet(tcp) {
        let congestion = layers.find("congestion", |table| table.congestion.as_ref());
        let key = congestion.map_or_else(|| key.to_owned(), |given| given.key);
        return wrong(key, format_args!("{none}; give sack = true, or another congestion"));
    }
    let pacing = layers.find("pacing", |table| table.pacing.as_ref());
    let other = pacing.filter(|given| !matches!(given.value, PacingValue::Flag(true)));
    if let (Some(why), Some(other)) = (needed.own_pacing, other) {
        let problem = format_args!("{why}; leave the key out, or take another congestion");
        return wrong(other.key, problem);
    }
    needed.meet(tcp);
    Ok(())
}

fn mss_bytes(
    key: &str,
    table: &FlowTable,
    layers: &Layers<'_, TcpTable>,
    stack: &TcpProfile,
    tcp: &TcpSpec,
) -> Result<u32> {
    let headers = tcp.data_header_bytes();
    let given = layers.find("mss", |table| table.mss.as_ref());
    let size = match (&table.size, given) {
        (Some(_), Some(given)) => {
            let problem = "the size of packets is given too; leave one of them out";
            return wrong(given.key, problem);
        }
        (None, Some(given)) => {
            let most = MOST_BYTES - headers;
            return given.check(|mss| match mss.value {
                bytes if (1..=most).contains(&bytes) => Ok(bytes),
                _ => Err(format!("found {:?}, expected 1 B to {most} B", mss.text)),
            });
        }
        (Some(size), None) => size.value,
        (None, None) => stack.mss_bytes.map_or(PACKET_BYTES, |mss| mss + headers),
    };
    match size.checked_sub(headers) {
        Some(bytes) if bytes > 0 && size <= MOST_BYTES => Ok(bytes),
        _ => {
            let problem = format_args!(
                "found {size} B, expected more than {headers} B, the headers of TCP, and at most \
                 {MOST_BYTES} B"
            );
            wrong(format_args!("{key}.size"), problem)
        }
    }
}

/// The receiver's reports in link-layer acknowledgements.
fn reports(key: &str, table: &FlowTable, tcp: &TcpSpec) -> Result<Option<RttKind>> {
    if table.rdqm != Some(true) {
        return Ok(None);
    }
    if table.rdqm_rtt.is_some() {
        let problem = "with rdqm = true the receiver measures it; leave one of them out";
        return wrong(format_args!("{key}.rdqm_rtt"), problem);
    }
    if tcp.timestamps.is_none() {
        let problem =
            "the receiver sees round-trip times in timestamps only; give tcp.timestamps = true";
        return wrong(format_args!("{key}.rdqm"), problem);
    }
    Ok(Some(table.rdqm_rtt_kind.unwrap_or(RttName::Base).into()))
}
