//! 802.11g: OFDM and DSSS at 2.4 GHz (IEEE 802.11-2016, clause 18).

use super::band::{Band, BandName, Slot};
use super::conventions::Conventions;
use super::dsss::{self, Preamble};
use super::generation::Generation;
use super::layer::Layer;
use super::{Phy, ofdm};
use airqueue_core::Span;

pub(super) static GENERATION: Generation = Generation {
    name: "802.11g",
    about: "ERP-OFDM at 2.4 GHz: 6 to 54 Mb/s and the rates of 802.11b, SIFS 10 µs.",
    bands: &[BandName::Ghz2_4],
    dsss_alone: false,
    format: None,
    old_layer: Band::old_layer,
};

/// 802.11g: SIFS 10 µs, window 16 (table 18-5); basic rates 6, 12 and 24 Mb/s.
///
/// The layer also has the rates of 802.11b, first and with the given preamble: frames that protect data from 802.11b
/// stations use these rates ([`Phy::protection`]).
pub fn erp(slot: Slot, preamble: Preamble, conventions: Conventions) -> Phy {
    Phy::new(layer(slot, preamble, conventions))
}

pub(super) fn layer(slot: Slot, preamble: Preamble, conventions: Conventions) -> Layer {
    let extension = Band::Ghz2_4 { slot, preamble }.extension();
    Layer {
        name: GENERATION.name,
        slot: match slot {
            Slot::Long => Span::from_micros(20),
            Slot::Short => Span::from_micros(9),
        },
        sifs: Span::from_micros(10),
        w_min: 16,
        w_max: 1024,
        modes: dsss::modes(preamble, conventions.dsss_txtime)
            .chain(ofdm::modes(extension))
            .collect(),
        basic_rates: ofdm::basic_rates(),
        conventions,
    }
}
