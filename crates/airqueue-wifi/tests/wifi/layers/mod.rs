//! Layers by their names in the tables of `tests/models/data`, which also test the Python models.

use airqueue_core::{DataRate, Span};
use airqueue_wifi::phy::{
    Band, Conventions, Generation, GuardInterval, Mcs, Options, Phy, Preamble, RateIndex, Slot,
    Width, dsss, erp, ofdm,
};

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
        later => {
            assert!(Later::named(later, conventions).is_some(), "the table names {later}");
            return None;
        }
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

/// A layer of 802.11n or later, and a shape of its frames from the tables: width, number of streams and guard interval.
pub struct Later {
    pub phy: Phy,
    pub shape: Mcs,
}

impl Later {
    /// By names such as `n-2.4-40mhz-2ss-sgi` and `ax-80mhz-gi1.6`; `None` for older layers.
    pub fn named(name: &str, conventions: Conventions) -> Option<Later> {
        let mut parts = name.split('-');
        let generation = Generation::named(&format!("802.11{}", parts.next().unwrap()))?;
        let format = generation.format?;
        let (mut width, mut streams, mut guard) = (None, 1, GuardInterval::Ns800);
        let (mut at_2_4, mut slot) = (false, Slot::Short);
        for part in parts {
            match part {
                "2.4" => at_2_4 = true,
                "long" => slot = Slot::Long,
                "slot" => {}
                "sgi" => guard = GuardInterval::Ns400,
                "gi1.6" => guard = GuardInterval::Ns1600,
                "gi3.2" => guard = GuardInterval::Ns3200,
                part if part.ends_with("mhz") => width = Some(part.trim_end_matches("mhz")),
                part => streams = part.strip_suffix("ss").unwrap().parse().unwrap(),
            }
        }
        let band = if at_2_4 { ghz_2_4(slot) } else { Band::Ghz5 };
        let usual = generation.shape(&options(band)).width;
        let width = width.map_or(usual, mhz);
        let shape = Mcs { format, index: 0, streams, width, guard };
        Some(Later { phy: made(shape, band, conventions), shape })
    }

    /// All schemes of the shape, in rising order.
    pub fn schemes(&self) -> Vec<RateIndex> {
        let places = self.phy.rates().map(|(index, _)| index);
        let shape = |index: &RateIndex| {
            self.phy.mcs(*index).is_some_and(|mcs| Mcs { index: 0, ..mcs } == self.shape)
        };
        places.filter(shape).collect()
    }

    /// The scheme with this rate as it is printed, in Mb/s with one digit.
    pub fn at(&self, printed: &str) -> RateIndex {
        let schemes = self.schemes();
        *schemes.iter().find(|&&index| print(self.phy.rate(index)) == printed).unwrap()
    }
}

/// The layer whose newest format, width and number of streams are those of the shape.
pub fn made(shape: Mcs, band: Band, conventions: Conventions) -> Phy {
    let (width, streams) = (Some(shape.width), Some(shape.streams));
    let options = Options { width, streams, ..options(band) };
    shape.format.generation().phy(&options, conventions).unwrap()
}

/// Options with only a band.
fn options(band: Band) -> Options {
    let (slot, preamble) = match band {
        Band::Ghz2_4 { slot, preamble } => (Some(slot), Some(preamble)),
        Band::Ghz5 => (None, None),
    };
    Options { band: Some(band.name()), slot, preamble, ..Options::default() }
}

pub fn ghz_2_4(slot: Slot) -> Band {
    Band::Ghz2_4 { slot, preamble: Preamble::Short }
}

pub fn mhz(text: &str) -> Width {
    Width::of_mhz(text.parse().unwrap()).unwrap()
}

/// As the standard prints it: in Mb/s with one digit, halves up.
pub fn print(rate: DataRate) -> String {
    let tenths = (rate.as_bps() + 50_000) / 100_000;
    match tenths % 10 {
        0 => format!("{}", tenths / 10),
        digit => format!("{}.{digit}", tenths / 10),
    }
}
