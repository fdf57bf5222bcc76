//! The flows that TCP governs.

use super::error::{Result, error, wrong};
use super::file::{
    AckEveryValue, AckScheme, AckTimerName, BehaviourName, CongestionName, File, FlowTable,
    RttName, SizeLawName, SourceName, TcpName, TcpTable,
};
use super::layers::Layers;
use super::quantity::{Duration, Packets, Quantity};
use super::source::times;
use crate::network::{RttKind, TcpFlowSpec, Work};
use airqueue_core::Span;
use airqueue_transport::tcp::{
    AckEvery, AckTimer, Algorithm, HeaderSize, InitialWindow, Opening, Pacing, TcpSpec,
};
use airqueue_transport::traffic::{FilesSpec, SizeLaw};

/// IP bytes of the largest packets, if nothing says otherwise.
const SIZE_BYTES: u32 = 1500;
/// IPv4 and TCP headers, and the timestamps option with its padding (RFC 7323, appendix A).
const HEADERS_BYTES: u32 = 40;
const TIMESTAMPS_BYTES: u32 = 12;
/// The resolution of timestamps.
const TIMESTAMP_CLOCK: Span = Span::from_millis(1);
/// ns-2's default.
const NS2_MSS_BYTES: u32 = 1000;
/// As much as an IPv4 packet without data can have.
const MOST_ACK_BYTES: u32 = 100;

/// From which segments on acknowledgements answer two, three and four (Altman and Jimenez, 2003).
const DYNAMIC: [u64; 3] = [2, 5, 9];
/// As Linux has it.
const LINUX: Pacing = Pacing::Window { slow_start: 2.0, avoidance: 1.2 };
/// β of the files of the HTTP paper.
const PARETO_SHAPE: f64 = 1.5;

/// A setting, if there is one.
macro_rules! take {
    ($into:expr, $layers:ident.$key:ident, $from:expr) => {
        if let Some(given) = $layers.find(stringify!($key), |table| table.$key.as_ref()) {
            $into = $from(given.value);
        }
    };
}

/// A flow of TCP without its ways.
pub(super) fn tcp_flow(key: &str, table: &FlowTable, file: &File) -> Result<TcpFlowSpec> {
    let own = table.tcp.iter().map(|own| (format!("{key}.tcp"), &**own));
    let layers = Layers::new(own.chain([("tcp".to_owned(), &*file.tcp)]).collect());
    check_keys(key, table)?;
    let like = layers.find("like", |table| table.like.as_ref()).map(|given| *given.value);
    let like = like.unwrap_or(match file.behaviour {
        BehaviourName::Ns2 => TcpName::Ns2,
        _ => TcpName::Standard,
    });
    let tcp = spec(key, table, &layers, like)?;
    let (start, stop) = times(key, table)?;
    let work = match table.source {
        SourceName::Web => Work::Files(files(table, like, &tcp)),
        _ => Work::Transfer(table.volume.as_ref().map(|volume| volume.value)),
    };
    let flow = TcpFlowSpec {
        closes: tcp.opening != Opening::Open && like != TcpName::Ns2,
        reports: reports(key, table, &tcp)?,
        tcp,
        back: Vec::new(),
        work,
        start,
        stop,
    };
    flow.check().map_err(|problem| error(format_args!("{key}.tcp"), problem))?;
    Ok(flow)
}

/// IP bytes of the largest packets with data, and of those without.
pub(super) fn packet_bytes(tcp: &TcpSpec) -> (u32, u32) {
    let headers = match tcp.header {
        HeaderSize::Fixed(bytes) => bytes,
        HeaderSize::Options if tcp.timestamps.is_some() => HEADERS_BYTES + TIMESTAMPS_BYTES,
        HeaderSize::Options => HEADERS_BYTES,
    };
    // A SYN is no larger than a packet without data.
    let bare = match tcp.header {
        HeaderSize::Fixed(bytes) => bytes,
        HeaderSize::Options => MOST_ACK_BYTES,
    };
    ((tcp.mss_bytes + headers).max(bare), bare)
}

/// Keys that mean nothing for TCP, or nothing for this source.
fn check_keys(key: &str, table: &FlowTable) -> Result<()> {
    let web = table.source == SourceName::Web;
    let given = [
        ("rate", table.rate.is_some(), "TCP finds its rate"),
        ("packet_rate", table.packet_rate.is_some(), "TCP finds its rate"),
        ("volume", web && table.volume.is_some(), "the sizes of files are those of flows.web"),
        ("web", !web && table.web.is_some(), "only source = \"web\" has files"),
    ];
    match given.into_iter().find(|&(_, is_given, _)| is_given) {
        Some((name, _, why)) => {
            wrong(format_args!("{key}.{name}"), format_args!("{why}; leave the key out"))
        }
        None => Ok(()),
    }
}

/// Both ends.
fn spec(
    key: &str,
    table: &FlowTable,
    layers: &Layers<'_, TcpTable>,
    like: TcpName,
) -> Result<TcpSpec> {
    let mut tcp = match like {
        TcpName::Standard => TcpSpec::standard(1),
        TcpName::Linux => TcpSpec::linux(1),
        TcpName::Ns2 => TcpSpec::ns2(1),
    };
    tcp.ecn = table.ecn;
    take!(tcp.sender.congestion, layers.congestion, |name: &CongestionName| match name {
        CongestionName::Newreno => Algorithm::NewReno,
        CongestionName::Cubic => Algorithm::Cubic,
    });
    take!(tcp.sender.window_segments, layers.window, |window: &Quantity<Packets>| window.value);
    take!(tcp.sender.initial_window, layers.initial_window, |window: &Quantity<Packets>| {
        InitialWindow::Segments(window.value)
    });
    take!(tcp.receiver.acknowledge, layers.ack_every, |every: &AckEveryValue| match *every {
        AckEveryValue::Fixed(n) => AckEvery::Fixed(n),
        AckEveryValue::Named(AckScheme::Dynamic) => AckEvery::Dynamic(DYNAMIC),
    });
    take!(tcp.receiver.delay, layers.ack_delay, |delay: &Quantity<Duration>| delay.value);
    take!(tcp.receiver.timer, layers.ack_timer, |name: &AckTimerName| match name {
        AckTimerName::Segment => AckTimer::Segment,
        AckTimerName::Ticks => AckTimer::Ticks,
    });
    take!(tcp.opening, layers.handshake, |&shakes: &bool| {
        if shakes { Opening::BySender } else { Opening::Open }
    });
    take!(tcp.sack, layers.sack, |&sack: &bool| sack);
    take!(tcp.timestamps, layers.timestamps, |&given: &bool| given.then_some(TIMESTAMP_CLOCK));
    take!(tcp.sender.limited_transmit, layers.limited_transmit, |&limited: &bool| limited);
    take!(tcp.sender.nagle, layers.nagle, |&nagle: &bool| nagle);
    take!(tcp.sender.rto.shortest, layers.min_rto, |least: &Quantity<Duration>| least.value);
    take!(tcp.sender.pacing, layers.pacing, |&paced: &bool| if paced {
        LINUX
    } else {
        Pacing::Off
    });
    tcp.mss_bytes = mss_bytes(key, table, layers, like, &tcp)?;
    Ok(tcp)
}

fn mss_bytes(
    key: &str,
    table: &FlowTable,
    layers: &Layers<'_, TcpTable>,
    like: TcpName,
    tcp: &TcpSpec,
) -> Result<u32> {
    let headers = packet_bytes(&TcpSpec { mss_bytes: MOST_ACK_BYTES, ..*tcp }).0 - MOST_ACK_BYTES;
    let given = layers.find("mss", |table| table.mss.as_ref());
    let size = match (&table.size, given) {
        (Some(_), Some(given)) => {
            let problem = "the size of packets is given too; leave one of them out";
            return wrong(given.key, problem);
        }
        (None, Some(given)) => return Ok(given.value.value),
        (Some(size), None) => size.value,
        (None, None) if like == TcpName::Ns2 => NS2_MSS_BYTES + headers,
        (None, None) => SIZE_BYTES,
    };
    match size.checked_sub(headers) {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => {
            let problem =
                format_args!("found {size} B, expected more than {headers} B, the headers of TCP");
            wrong(format_args!("{key}.size"), problem)
        }
    }
}

/// What a user of the web asks for.
fn files(table: &FlowTable, like: TcpName, tcp: &TcpSpec) -> FilesSpec {
    let web = table.web.as_ref();
    let shape = web.and_then(|web| web.shape).unwrap_or(PARETO_SHAPE);
    let law = match web.and_then(|web| web.law).unwrap_or(SizeLawName::Exponential) {
        SizeLawName::Constant => SizeLaw::Constant,
        SizeLawName::Exponential => SizeLaw::Exponential,
        SizeLawName::Pareto => SizeLaw::Pareto(shape),
    };
    let whole = web.and_then(|web| web.whole_segments).unwrap_or(like == TcpName::Ns2);
    FilesSpec {
        mean_bytes: web.and_then(|web| web.file_size.as_ref()).map_or(30_000, |size| size.value),
        law,
        unit_bytes: if whole { tcp.mss_bytes } else { 1 },
        think: web
            .and_then(|web| web.think_time.as_ref())
            .map_or(Span::from_secs(10), |think| think.value),
    }
}

/// What the receiver tells of, in link-layer acknowledgements.
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
