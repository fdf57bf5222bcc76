//! The definition of a generation of 802.11 in its file, and the layers that follow from it.

use super::band::{Band, BandName, Slot};
use super::conventions::Conventions;
use super::dsss::Preamble;
use super::error::PhyError;
use super::format::FrameChoices;
use super::layer::Layer;
use super::mcs::{Capability, GuardInterval, Shape, Width};
use super::{Format, GENERATIONS, Phy};
use std::fmt;
use std::hash::{Hash, Hasher};

/// A generation of 802.11: an amendment that introduced a physical layer. [`GENERATIONS`] lists all generations.
pub struct Generation {
    /// The name in scenarios: `802.11n`.
    pub name: &'static str,
    /// A sentence for the schema of scenarios that helps to choose a generation.
    pub about: &'static str,
    /// The bands of the generation; the first is the default.
    pub bands: &'static [BandName],
    /// Whether all its frames use DSSS.
    pub dsss_alone: bool,
    /// The format that the generation introduced; `None` before 802.11n.
    pub format: Option<Format>,
    /// Access timing and the rates without a scheme: its own, or from 802.11n on [`Band::old_layer`].
    pub(super) old_layer: fn(Band, Conventions) -> Layer,
}

/// The options of a network for a layer. `None` selects the default of the generation; options that the generation
/// does not have are ignored, see [`Generation::refusal`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// The band of the layer.
    pub band: Option<BandName>,
    /// The widest channel of frames.
    pub width: Option<Width>,
    /// Largest number of spatial streams of frames.
    pub streams: Option<u8>,
    /// Guard interval of schemes that do not name one.
    pub guard: Option<GuardInterval>,
    /// Preamble of DSSS frames; the default is long.
    pub preamble: Option<Preamble>,
    /// Slot time at 2.4 GHz; the default is short.
    pub slot: Option<Slot>,
    /// Other choices of senders.
    pub frames: FrameChoices,
}

/// One of [`Options`], shown as the key of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionName {
    /// `band`.
    Band,
    /// `width`.
    Width,
    /// `streams`.
    Streams,
    /// `guard_interval`.
    GuardInterval,
    /// `preamble`.
    Preamble,
    /// `slot`.
    Slot,
}

/// The parameters of a layer that its modes depend on besides their scheme.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub(super) band: Band,
    pub(super) most: Capability,
    pub(super) frames: FrameChoices,
    pub(super) conventions: Conventions,
}

impl Generation {
    /// The generation with this name.
    pub fn named(name: &str) -> Option<&'static Generation> {
        GENERATIONS.iter().copied().find(|generation| generation.name == name)
    }

    /// The band of the generation with these options.
    pub fn band(&self, options: &Options) -> BandName {
        options.band.unwrap_or(self.bands[0])
    }

    /// Why the generation does not have an option in a band; `None` if it has the option.
    pub fn refusal(&self, option: OptionName, band: BandName) -> Option<String> {
        use OptionName::{Band, GuardInterval, Preamble, Slot, Streams, Width};
        let name = self.name;
        match option {
            Band | Width | Streams | GuardInterval if self.format.is_none() => {
                Some("802.11n and its successors have it".to_owned())
            }
            Band if !self.bands.contains(&band) => Some(self.elsewhere().to_string()),
            Preamble if band == BandName::Ghz5 => Some(match self.format {
                None => format!("{name} has one preamble"),
                Some(_) => "only frames of 802.11b have two, at 2.4 GHz".to_owned(),
            }),
            Slot if band == BandName::Ghz5 || self.dsss_alone => {
                Some("only 802.11g and later layers at 2.4 GHz have two slot times".to_owned())
            }
            _ => None,
        }
    }

    /// The default shape of its frames, changed by the options.
    pub fn shape(&self, options: &Options) -> Shape {
        let usual = match (self.format, self.band(options)) {
            (Some(format), BandName::Ghz5) => format.usual_width(),
            _ => Width::MHZ_20,
        };
        Shape {
            width: options.width.unwrap_or(usual),
            streams: options.streams.unwrap_or(1),
            guard: options.guard.unwrap_or(GuardInterval::Ns800),
        }
    }

    /// The layer of the generation: the rates of 802.11b, a or g, and from 802.11n on all schemes of all formats up to
    /// this generation that are used in the band, up to a width and a number of streams.
    ///
    /// Fails for a band that the generation does not use, and from 802.11n on for an unsupported width, number of
    /// streams, or choice of frames.
    pub fn phy(&self, options: &Options, conventions: Conventions) -> Result<Phy, PhyError> {
        let preamble = options.preamble.unwrap_or(Preamble::Long);
        let band = match self.band(options) {
            BandName::Ghz2_4 => {
                Band::Ghz2_4 { slot: options.slot.unwrap_or(Slot::Short), preamble }
            }
            BandName::Ghz5 => Band::Ghz5,
        };
        let Shape { width, streams, .. } = self.shape(options);
        let most = Capability { width, streams };
        self.layer(Setup { band, most, frames: options.frames, conventions })
    }

    pub(super) fn layer(&self, setup: Setup) -> Result<Phy, PhyError> {
        if !self.bands.contains(&setup.band.name()) {
            return Err(self.elsewhere());
        }
        let mut layer = (self.old_layer)(setup.band, setup.conventions);
        layer.name = self.name;
        if let Some(newest) = self.format {
            setup.check(self, newest)?;
            for format in Format::up_to(newest, setup.band) {
                let frames = if format == newest { setup.frames } else { FrameChoices::default() };
                layer.modes.extend(format.modes(Setup { frames, ..setup }));
            }
        }
        Ok(Phy::new(layer))
    }

    fn elsewhere(&self) -> PhyError {
        PhyError::Band { layer: self.name, alone: self.bands[0] }
    }
}

impl Setup {
    fn check(&self, generation: &Generation, format: Format) -> Result<(), PhyError> {
        let layer = generation.name;
        self.frames.check(format)?;
        let (streams, most) = (self.most.streams, format.most_streams());
        if !(1..=most).contains(&streams) {
            return Err(PhyError::Streams { layer, streams, most });
        }
        let widest = self.band.widest(format).expect("a generation is where its format is");
        if self.most.width > widest {
            let (mhz, most) = (self.most.width.mhz(), widest.mhz());
            return Err(PhyError::Width { layer, mhz, most });
        }
        Ok(())
    }
}

impl fmt::Debug for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Generation({})", self.name)
    }
}

/// Generations are identified by their names.
impl PartialEq for Generation {
    fn eq(&self, other: &Generation) -> bool {
        self.name == other.name
    }
}

impl Eq for Generation {}

impl Hash for Generation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Display for OptionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OptionName::Band => "band",
            OptionName::Width => "width",
            OptionName::Streams => "streams",
            OptionName::GuardInterval => "guard_interval",
            OptionName::Preamble => "preamble",
            OptionName::Slot => "slot",
        })
    }
}
