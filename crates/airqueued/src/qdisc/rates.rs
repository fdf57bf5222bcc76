//! Rates of shapers that have one rate.

use super::message::{GET_QDISC, NEW_QDISC, ROOT, Told, request};
use crate::netlink::attributes::{self, Attributes};
use crate::netlink::{Message, NetlinkError, Request};
use std::collections::BTreeMap;

/// Rate of a discipline in bytes per second; `None` if it does not shape.
pub(super) fn bytes_per_s(kind: &str, options: &[u8]) -> Option<u64> {
    let all = attributes::read(options).ok()?;
    let rate = match kind {
        "tbf" => of_ratespec(&all, 4),
        "cake" => all.number(2),
        _ => None,
    };
    rate.filter(|&rate| rate > 0)
}

/// Rate of a class of htb in bytes per second.
pub(super) fn of_class(options: &[u8]) -> Option<u64> {
    let all = attributes::read(options).ok()?;
    of_ratespec(&all, 6).filter(|&rate| rate > 0)
}

/// The rate at the beginning of `struct tc_tbf_qopt` and `struct tc_htb_opt`, unless it is above 32 bits: then it is the
/// attribute `long`.
fn of_ratespec(all: &Attributes<'_>, long: u16) -> Option<u64> {
    let short = || all.find(1).and_then(|parms| parms.get(8..12)).and_then(attributes::number);
    all.number(long).or_else(short)
}

/// The request that lists the disciplines of all interfaces.
pub fn list() -> Request {
    request(GET_QDISC, 0, 0, 0, 0)
}

/// Rates at the roots of interfaces, in bits per second by the number of the interface.
pub fn at_roots(told: &[Message]) -> Result<BTreeMap<u32, u64>, NetlinkError> {
    let mut rates = BTreeMap::new();
    for message in told.iter().filter(|message| message.kind == NEW_QDISC) {
        let told = Told::read(message)?;
        let options = told.options.as_deref().unwrap_or_default();
        if told.parent == ROOT
            && let Some(bytes_per_s) = bytes_per_s(&told.kind, options)
        {
            rates.insert(told.index, bytes_per_s.saturating_mul(8));
        }
    }
    Ok(rates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attributes::Writer;

    fn told(index: u32, parent: u32, kind: &str, options: Writer) -> Message {
        let mut header = [0; 20];
        header[4..8].copy_from_slice(&index.to_ne_bytes());
        header[12..16].copy_from_slice(&parent.to_ne_bytes());
        let body = Writer::after(&header).text(1, kind).nested(2, options).finish();
        Message { kind: NEW_QDISC, body }
    }

    #[test]
    fn shapers_at_roots_have_rates() {
        let mut parms = vec![0; 36];
        parms[8..12].copy_from_slice(&250_000_u32.to_ne_bytes());
        let tbf = Writer::default().bytes(1, &parms);
        let found = at_roots(&[
            told(1, ROOT, "tbf", tbf.clone()),
            told(2, ROOT, "tbf", tbf.clone().u64(4, 1 << 33)),
            told(3, ROOT, "cake", Writer::default().u64(2, 125_000)),
            told(4, ROOT, "cake", Writer::default().u64(2, 0)),
            told(5, 1, "tbf", tbf.clone()),
            told(6, ROOT, "pfifo", tbf),
        ]);
        let expected = [(1, 2_000_000), (2, 8 << 33), (3, 1_000_000)];
        assert_eq!(found.unwrap(), BTreeMap::from(expected));
    }
}
