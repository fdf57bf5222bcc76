//! Checks a path configuration and converts it to what can be simulated.

use crate::cell::{CellSpec, StationSpec};
use crate::config::{CellConfig, ConfigError, PathConfig};
use airqueue_core::{DataRate, Limit, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::bottleneck::conditions::DeviceChange;
use airqueue_network::bottleneck::link::LinkSpec;
use airqueue_network::bottleneck::{DeviceSpec, Framing, ServerSpec};
use airqueue_qdisc::discipline::{Counted, Short};
use airqueue_qdisc::text::QueueText;
use airqueue_qdisc::{DisciplineName, DropFrom};
use airqueue_scenario::Scenario;
use std::fmt::Display;

/// The longest time in a configuration, in seconds: thirty years.
const LONGEST_S: f64 = 1e9;

/// Two hosts and the lines between them, checked. The device in the middle is checked separately.
#[derive(Clone, Debug)]
pub struct CheckedPath {
    pub ingress_rate: Option<DataRate>,
    pub ingress_delay: Span,
    pub base_delay: Span,
    pub reverse_delay: Span,
    pub clock_offset: Span,
    pub skew_ppb: i64,
    pub clock_steps: Vec<(Time, Span)>,
    pub receive_buffer: Option<usize>,
    pub read_interval: Option<Span>,
    pub sender_cap: Option<SenderCap>,
    pub sender_wakeup: Span,
    pub receiver_wakeup: Span,
    pub rests_after: Span,
    pub flows: u8,
    pub record_series: bool,
}

/// The cap on the sending host.
#[derive(Clone, Copy, Debug)]
pub struct SenderCap {
    /// Rate, in millionths of a packet per second.
    pub micro_packets: DataRate,
    /// Packets sent at once.
    pub burst_packets: u32,
}

impl CheckedPath {
    /// Checks a configuration, apart from its device.
    pub fn new(c: &PathConfig) -> Result<CheckedPath, ConfigError> {
        let ingress_delay = delay("ingress_delay_s", c.ingress_delay_s)?;
        let base_delay = delay("base_delay_s", c.base_delay_s)?;
        let reverse = c.reverse_delay_s.map(|s| delay("reverse_delay_s", s)).transpose()?;
        Ok(CheckedPath {
            ingress_rate: c.ingress_rate_bps.map(|r| rate("ingress_rate_bps", r)).transpose()?,
            ingress_delay,
            base_delay,
            reverse_delay: reverse.unwrap_or(ingress_delay + base_delay),
            clock_offset: seconds("clock_offset_s", c.clock_offset_s, -LONGEST_S)?,
            skew_ppb: skew(c.skew_ppm)?,
            clock_steps: clock_steps(c)?,
            receive_buffer: at_least_one("receive_buffer_packets", c.receive_buffer_packets)?,
            read_interval: c.reader_rate_pps.map(reader).transpose()?,
            sender_cap: sender_cap(c)?,
            sender_wakeup: delay("sender_wakeup_s", c.sender_wakeup_s)?,
            receiver_wakeup: delay("receiver_wakeup_s", c.receiver_wakeup_s)?,
            rests_after: delay("rests_after_s", c.rests_after_s)?,
            flows: flows(c.flows)?,
            record_series: c.record_queue_series,
        })
    }
}

pub(super) fn wrong(key: impl Display, found: impl Display, expected: impl Display) -> ConfigError {
    ConfigError::Value {
        key: key.to_string(),
        found: found.to_string(),
        expected: expected.to_string(),
    }
}

fn seconds(key: impl Display, s: f64, least: f64) -> Result<Span, ConfigError> {
    if (least..=LONGEST_S).contains(&s) {
        return Ok(Span::from_secs_f64(s));
    }
    Err(wrong(key, s, format_args!("seconds from {least} to {LONGEST_S}")))
}

/// A delay of the path: up to an hour, so that sums of delays stay far from the end of the clock.
fn delay(key: &str, s: f64) -> Result<Span, ConfigError> {
    if (0.0..=3600.0).contains(&s) {
        return Ok(Span::from_secs_f64(s));
    }
    Err(wrong(key, s, "seconds from 0 to 3600"))
}

fn rate(key: &str, bps: f64) -> Result<DataRate, ConfigError> {
    let whole = if (1.0..=1e12).contains(&bps) { bps.round() as u64 } else { 0 };
    DataRate::from_bps(whole).ok_or_else(|| wrong(key, bps, "bits per second from 1 to 1e12"))
}

fn at_least_one(key: &str, n: Option<u32>) -> Result<Option<usize>, ConfigError> {
    match n {
        Some(0) => Err(wrong(key, 0, "at least 1, or leave the key out for no limit")),
        n => Ok(n.map(|n| n as usize)),
    }
}

fn skew(ppm: f64) -> Result<i64, ConfigError> {
    if ppm.abs() <= 1e5 {
        return Ok((ppm * 1e3).round() as i64);
    }
    Err(wrong("skew_ppm", ppm, "parts per million from -100000 to 100000"))
}

fn clock_steps(c: &PathConfig) -> Result<Vec<(Time, Span)>, ConfigError> {
    let step = |(i, [at, by]): (usize, &[f64; 2])| {
        let at = seconds(format_args!("clock_steps_s[{i}][0]"), *at, 0.0)?;
        Ok((Time::ZERO + at, seconds(format_args!("clock_steps_s[{i}][1]"), *by, -LONGEST_S)?))
    };
    c.clock_steps_s.iter().enumerate().map(step).collect()
}

fn reader(pps: f64) -> Result<Span, ConfigError> {
    if (1e-3..=1e9).contains(&pps) {
        return Ok(Span::from_secs_f64(1.0 / pps));
    }
    Err(wrong("reader_rate_pps", pps, "packets per second from 0.001 to 1e9"))
}

fn sender_cap(c: &PathConfig) -> Result<Option<SenderCap>, ConfigError> {
    let Some(pps) = c.sender_cap_pps else { return Ok(None) };
    let expected = "packets per second from 0.001 to 1e9";
    let whole = if (1e-3..=1e9).contains(&pps) { (pps * 1e6).round() as u64 } else { 0 };
    let micro_packets =
        DataRate::from_bps(whole).ok_or_else(|| wrong("sender_cap_pps", pps, expected))?;
    match c.sender_burst_packets {
        burst_packets @ 1..=30_000 => Ok(Some(SenderCap { micro_packets, burst_packets })),
        n => Err(wrong("sender_burst_packets", n, "packets from 1 to 30000")),
    }
}

fn flows(n: u32) -> Result<u8, ConfigError> {
    match u8::try_from(n) {
        Ok(n @ 1..=16) => Ok(n),
        _ => Err(wrong("flows", n, "1 to 16")),
    }
}

/// The bottleneck of a configuration.
pub fn bottleneck(c: &PathConfig) -> Result<DeviceSpec, ConfigError> {
    let limit = limit(&c.queue)?;
    let drop_from = match c.drop_from.as_str() {
        "tail" => DropFrom::Tail,
        "head" => DropFrom::Head,
        other => return Err(wrong("drop_from", quoted(other), "\"tail\" or \"head\"")),
    };
    if !(0.0..=1.0).contains(&c.loss_probability) {
        return Err(wrong("loss_probability", c.loss_probability, "a probability from 0 to 1"));
    }
    for (key, bytes) in [("mpu_bytes", c.mpu_bytes), ("link_layer_bytes", c.link_layer_bytes)] {
        if bytes > 1_000_000 {
            return Err(wrong(key, bytes, "bytes from 0 to 1000000"));
        }
    }
    if c.ring_packets > 1_000_000 {
        return Err(wrong("ring_packets", c.ring_packets, "packets from 0 to 1000000"));
    }
    Ok(DeviceSpec {
        limit,
        drop_from,
        isolate_flows: c.isolate_flows,
        ring: c.ring_packets as usize,
        server: server(c)?,
        rate: rate("rate_bps", c.rate_bps)?,
        framing: Framing { link_layer: c.link_layer_bytes, mpu: c.mpu_bytes },
        loss: c.loss_probability,
        changes: changes(c, limit)?,
        period: period(c)?,
    })
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

fn limit(queue: &str) -> Result<Limit, ConfigError> {
    let most = 1_000_000_000;
    let parsed = QueueText::parse(queue).ok().and_then(|queue| {
        fifos().find(|fifo| fifo.word == queue.word)?;
        let (count, counted) = queue.limit?;
        let n = u32::try_from(count).ok().filter(|n| (1..=most).contains(n))?;
        Some(match counted {
            Counted::Packets => Limit::Packets(n),
            Counted::Bytes => Limit::Bytes(u64::from(n)),
        })
    });
    parsed.ok_or_else(|| {
        let form =
            |fifo: &Short| format!("\"{}:{}\"", fifo.word, fifo.counts.word().to_uppercase());
        let forms = fifos().map(form).collect::<Vec<_>>().join(" or ");
        wrong("queue", quoted(queue), format_args!("{forms} with a whole number from 1 to {most}"))
    })
}

/// The short names of FIFO queues that say what the limit counts. The key `drop_from` says what a full queue drops, so that
/// names with an unusual choice of what to drop are left out.
fn fifos() -> impl Iterator<Item = &'static Short> {
    let names = DisciplineName::all().filter(|name| name.by_itself().facts().fifo);
    names.flat_map(DisciplineName::short).filter(|short| short.drop_from == DropFrom::default())
}

fn server(c: &PathConfig) -> Result<ServerSpec, ConfigError> {
    let link = LinkSpec {
        aggregate: c.aggregate_packets as usize,
        overhead: delay("overhead_s", c.overhead_s)?,
        jitter: delay("service_jitter_s", c.service_jitter_s)?,
    };
    if !(1..=65_536).contains(&c.aggregate_packets) {
        return Err(wrong("aggregate_packets", c.aggregate_packets, "packets from 1 to 65536"));
    }
    if c.burst_bytes == 0 {
        return Err(wrong("burst_bytes", 0, "at least 1"));
    }
    let burst_bytes = c.burst_bytes;
    match (c.policer, c.shaper.as_str()) {
        (true, "link" | "token_bucket") => {
            only_with_link(c, "policer = true")?;
            Ok(ServerSpec::Policer { burst_bytes })
        }
        (false, "link") => Ok(ServerSpec::Link(link)),
        (false, "token_bucket") => {
            only_with_link(c, "shaper = \"token_bucket\"")?;
            Ok(ServerSpec::Shaper { burst_bytes })
        }
        (_, other) => Err(wrong("shaper", quoted(other), "\"link\" or \"token_bucket\"")),
    }
}

/// Rejects keys that only a link has: with a token bucket a packet takes no time.
fn only_with_link(c: &PathConfig, because: &str) -> Result<(), ConfigError> {
    let keys = [
        ("ring_packets", f64::from(c.ring_packets), 0.0),
        ("aggregate_packets", f64::from(c.aggregate_packets), 1.0),
        ("overhead_s", c.overhead_s, 0.0),
        ("service_jitter_s", c.service_jitter_s, 0.0),
    ];
    match keys.into_iter().find(|(_, found, neutral)| found != neutral) {
        Some((key, found, neutral)) => {
            Err(wrong(key, found, format_args!("{neutral} with {because}")))
        }
        None => Ok(()),
    }
}

fn period(c: &PathConfig) -> Result<Option<Span>, ConfigError> {
    match c.repeat_s {
        Some(s) if !(1e-3..=LONGEST_S).contains(&s) => {
            Err(wrong("repeat_s", s, "seconds from 0.001 to 1e9"))
        }
        s => Ok(s.map(Span::from_secs_f64)),
    }
}

fn changes(c: &PathConfig, limit: Limit) -> Result<Vec<(Span, DeviceChange)>, ConfigError> {
    let end = c.repeat_s.unwrap_or(LONGEST_S);
    let within = |key: String, s: f64| {
        // The comparison in whole nanoseconds lets 0.1 + 0.2 fit a period of 0.3.
        if s >= 0.0 && Span::from_secs_f64(s) <= Span::from_secs_f64(end) {
            return Ok(Span::from_secs_f64(s));
        }
        Err(wrong(key, s, format_args!("seconds from 0 to {end} (the period, if there is one)")))
    };
    let mut changes = Vec::new();
    for (i, [at, length]) in c.stalls_s.iter().enumerate() {
        let begin = within(format!("stalls_s[{i}][0]"), *at)?;
        seconds(format_args!("stalls_s[{i}][1]"), *length, 0.0)?;
        let end = within(format!("stalls_s[{i}], its end,"), at + length)?;
        changes.extend([(begin, DeviceChange::Stall), (end, DeviceChange::Resume)]);
    }
    for (i, [at, factor]) in c.rate_changes.iter().enumerate() {
        let at = within(format!("rate_changes[{i}][0]"), *at)?;
        if !(1e-6..=1e6).contains(factor) {
            let key = format_args!("rate_changes[{i}][1]");
            return Err(wrong(key, factor, "a factor from 1e-6 to 1e6"));
        }
        changes.push((at, DeviceChange::Rate(*factor)));
    }
    for (i, [at, to]) in c.limit_changes.iter().enumerate() {
        let at = within(format!("limit_changes[{i}][0]"), *at)?;
        if to.fract() != 0.0 || !(1.0..=1e9).contains(to) {
            let key = format_args!("limit_changes[{i}][1]");
            return Err(wrong(key, to, "a whole number from 1 to 1000000000"));
        }
        let to = match limit {
            Limit::Packets(_) => Limit::Packets(*to as u32),
            Limit::Bytes(_) => Limit::Bytes(*to as u64),
        };
        changes.push((at, DeviceChange::Limit(to)));
    }
    Ok(changes)
}

/// Rejects keys that only a bottleneck has: in a cell the stations' queues and the air replace it.
pub fn no_bottleneck(c: &PathConfig) -> Result<(), ConfigError> {
    let neutral = PathConfig::default();
    macro_rules! keys {
        ($($key:ident)*) => {
            [$((stringify!($key), c.$key == neutral.$key, format!("{:?}", c.$key)),)*]
        };
    }
    let keys = keys!(
        queue drop_from isolate_flows ring_packets shaper rate_bps burst_bytes policer
        aggregate_packets mpu_bytes link_layer_bytes overhead_s service_jitter_s loss_probability
        stalls_s rate_changes limit_changes repeat_s
    );
    match keys.into_iter().find(|(_, is_neutral, _)| !is_neutral) {
        Some((key, _, found)) => {
            Err(wrong(key, found, "no such key with a cell, whose stations have queues"))
        }
        None => Ok(()),
    }
}

/// The cell of a configuration.
pub fn cell(c: &CellConfig) -> Result<CellSpec, ConfigError> {
    let scenario = Scenario::from_json(&c.scenario.to_string()).map_err(|error| {
        let dot = if error.key.is_empty() { "" } else { "." };
        let place = format!("cell.scenario{dot}{}", error.key);
        ConfigError::Shape { place, problem: error.problem }
    })?;
    let network = scenario.spec();
    let flow = |key, name: &str| {
        let found = network.flows.iter().position(|flow| flow.name == name).map(FlowId::at);
        found.ok_or_else(|| wrong(key, quoted(name), "the name of one of the scenario's flows"))
    };
    let (down, up) = (flow("cell.down", &c.down)?, flow("cell.up", &c.up)?);
    let mut others = Vec::new();
    for other in &c.others {
        let down = flow("cell.others.down", &other.down)?;
        others.push(StationSpec { down, up: flow("cell.others.up", &other.up)? });
    }
    Ok(CellSpec { network: network.clone(), down, up, others })
}
