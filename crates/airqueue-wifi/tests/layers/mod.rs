//! Layers by the names of the tables in `tests/models/data`, which the Python models are tested with
//! too.

use airqueue_core::{DataRate, Span};
use airqueue_wifi::phy::{Conventions, Phy, Preamble, RateIndex, Slot, dsss, erp, ofdm};

pub const NAMES: [&str; 6] = ["b-long", "b-short", "a", "g", "g-long-slot", "g-long-preamble"];

/// `None` for 802.11n and later.
pub fn layer(name: &str, conventions: Conventions) -> Option<Phy> {
    Some(match name {
        "b-long" => dsss(Preamble::Long, conventions),
        "b-short" => dsss(Preamble::Short, conventions),
        "a" => ofdm(conventions),
        "g" => erp(Slot::Short, Preamble::Short, conventions),
        "g-long-slot" => erp(Slot::Long, Preamble::Short, conventions),
        "g-long-preamble" => erp(Slot::Short, Preamble::Long, conventions),
        later if later.starts_with(['n', 'a']) => return None,
        unknown => panic!("the table names {unknown}"),
    })
}

pub fn standard(name: &str) -> Phy {
    layer(name, Conventions::STANDARD).unwrap()
}

pub fn mbps(text: &str) -> DataRate {
    DataRate::from_bps((text.parse::<f64>().unwrap() * 1e6).round() as u64).unwrap()
}

pub fn at(phy: &Phy, rate_mbps: &str) -> RateIndex {
    phy.rate_index(mbps(rate_mbps)).unwrap()
}

pub fn us(microseconds: i64) -> Span {
    Span::from_micros(microseconds)
}
