//! The first routers on the way to a host.

use super::lock;
use super::open_target;
use super::run::{Channel, Loop};
use crate::client::random;
use crate::clock;
use crate::error::HostError;
use crate::netns;
use crate::wait::Waker;
use airqueue_core::Span;
use airqueue_probe::echo::Method;
use airqueue_probe::echo::pace::Pace;
use airqueue_probe::echo::prober::{Prober, Target};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The most hops that are asked for.
const MOST_HOPS: u8 = 16;
/// Probes for each hop: one may be lost.
const TRIES: i64 = 2;
/// Between the probes of neighbouring hops.
const APART: Span = Span::from_millis(2);
/// The longest wait for an answer.
const LONGEST: Duration = Duration::from_secs(10);

/// A hop on the way to a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// Its number, from 1.
    pub hop: u8,
    /// Who answered; `None`: nobody.
    pub address: Option<IpAddr>,
    /// Time to the answer.
    pub round_trip: Option<Span>,
    /// Whether this is the host itself.
    pub is_host: bool,
}

/// The first `most` hops to a host, or all if there are fewer. Takes twice `timeout` at most.
pub fn first_hops(
    host: &str,
    most: u8,
    timeout: Duration,
    namespace: Option<&Path>,
) -> Result<Vec<Hop>, HostError> {
    if most == 0 || most > MOST_HOPS {
        let text = format!("{most} hops were asked for: ask for 1 to {MOST_HOPS}");
        return Err(HostError::Request(text));
    }
    if timeout.is_zero() || timeout > LONGEST {
        let (found, longest) = (timeout.as_secs_f64(), LONGEST.as_secs());
        let text = format!("the timeout is {found} s: give more than 0, and at most {longest} s");
        return Err(HostError::Request(text));
    }
    netns::within(namespace, || ask(host, most, Span::from_nanos(timeout.as_nanos() as i64)))
}

fn ask(host: &str, most: u8, timeout: Span) -> Result<Vec<Hop>, HostError> {
    let (address, first) = open_target(host, Method::Hop(1), 0).map_err(HostError::Request)?;
    let mut channels = vec![first];
    for hop in 2..=most {
        let opened = Channel::open(Method::Hop(hop), address, 0);
        channels.push(opened.map_err(HostError::Request)?);
    }
    let start = clock::monotonic();
    let targets = (1..=most).map(|hop| {
        let first = start + Span::from_nanos(APART.as_nanos() * i64::from(hop - 1));
        Target { method: Method::Hop(hop), address, id: 0, pace: Pace::new(first, timeout) }
    });
    let prober = Prober::new(targets.collect(), random()?);
    let waker = Waker::new().map_err(|e| HostError::system("make an event loop")(e.into()))?;
    let mut driver = Loop::new(prober, channels, Arc::new(waker));
    let end = start + Span::from_nanos(timeout.as_nanos() * TRIES);
    let common = driver.common();
    while clock::monotonic() < end && !is_known(&lock(&common).prober) {
        driver.turn(Some(end)).map_err(|e| HostError::system("wait for answers")(e.into()))?;
    }
    let shared = lock(&common);
    Ok(hops(&shared.prober, address))
}

/// Whether each hop up to the host has answered.
fn is_known(prober: &Prober) -> bool {
    for i in 0..prober.targets().count() {
        let series = prober.series(i);
        if series.from_host || series.answered() == 0 {
            return series.from_host;
        }
    }
    true
}

fn hops(prober: &Prober, host: SocketAddr) -> Vec<Hop> {
    let mut hops = Vec::new();
    for i in 0..prober.targets().count() {
        let series = prober.series(i);
        let is_host = series.from_host || series.answered_by == Some(host.ip());
        hops.push(Hop {
            hop: i as u8 + 1,
            address: series.answered_by,
            round_trip: series.last_round_trip(),
            is_host,
        });
        if is_host {
            break;
        }
    }
    hops
}
