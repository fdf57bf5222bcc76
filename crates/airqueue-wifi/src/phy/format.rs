//! PPDU formats of 802.11n and later: the definition of each format in its file, and derived values.

use super::band::Band;
use super::error::PhyError;
use super::generation::Setup;
use super::mcs::{Capability, GuardInterval, Mcs, Width};
use super::mode::{Coding, Mode, ModulationClass, OfScheme};
use super::radiotap::Radiotap;
use super::{Format, rate};
use crate::medium::{CodeRate, Mapping};
use airqueue_core::Span;
use std::fmt;

/// The definition of a format in the file of its generation.
pub(super) struct FormatFacts {
    /// The format's name in the names of schemes.
    pub(super) name: &'static str,
    /// The schemes of a stream, in rising order.
    pub(super) schemes: &'static [Scheme],
    /// Largest number of spatial streams, up to 8.
    pub(super) most_streams: u8,
    /// Whether the standard's scheme numbers continue with each stream.
    pub(super) numbers_count_streams: bool,
    /// Schemes that the standard excludes.
    pub(super) leaves_out: fn(&Mcs) -> bool,
    /// Number of data subcarriers by width, from 20 MHz to the widest channel.
    pub(super) carriers: &'static [u32],
    /// The default channel width at 5 GHz.
    pub(super) usual_width: Width,
    /// Guard intervals, the mandatory one first.
    pub(super) guards: &'static [GuardInterval],
    /// Symbol duration without guard interval.
    pub(super) symbol: Span,
    /// Training fields, without their guard intervals, that senders can choose from; empty: no choice.
    pub(super) ltfs: &'static [Span],
    /// Packet extensions that senders can choose from; empty: frames have none.
    pub(super) packet_extensions: &'static [Span],
    /// Window of a block ack agreement in MPDUs.
    pub(super) window: u32,
    pub(super) max_mpdu_bytes: u32,
    /// Whether a single MPDU is an A-MPDU, too (10.13.7).
    pub(super) single_has_delimiter: bool,
    /// The durations around a frame's data, and how bytes fill its symbols.
    pub(super) frame: fn(Mcs, &Setup) -> Frame,
    /// How a packet capture shows a scheme.
    pub(super) radiotap: Radiotap,
}

/// Modulation and coding of a stream.
#[derive(Clone, Copy)]
pub(super) struct Scheme {
    pub(super) mapping: Mapping,
    pub(super) code: CodeRate,
    /// Non-HT reference rate (table 10-8).
    pub(super) reference_mbps: u32,
}

/// The values that a format derives from a scheme.
pub(super) struct Frame {
    /// Preamble and PHY header.
    pub(super) preamble: Span,
    /// Silence after the last symbol, as part of the frame.
    pub(super) extension: Span,
    pub(super) max_ampdu_bytes: u32,
    pub(super) coding: Coding,
}

/// The choices of a sender besides the scheme, where the format allows a choice. The default is the mandatory choice
/// of the standard, without packet extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameChoices {
    /// One of [`Format::ltfs`]; `None`: the mandatory field for the guard interval.
    pub ltf: Option<Span>,
    /// One of [`Format::packet_extensions`].
    pub packet_extension: Span,
}

impl Scheme {
    pub(super) const fn new(mapping: Mapping, code: CodeRate, reference_mbps: u32) -> Scheme {
        Scheme { mapping, code, reference_mbps }
    }
}

/// Schemes by index, up to those of HE (tables 19-27, 21-30 and 10-8; IEEE 802.11ax-2021, 27.5).
pub(super) const SCHEMES: [Scheme; 12] = {
    use CodeRate::{FiveSixths, Half, ThreeQuarters, TwoThirds};
    use Mapping::{Bpsk, Qam, Qpsk};
    [
        Scheme::new(Bpsk, Half, 6),
        Scheme::new(Qpsk, Half, 12),
        Scheme::new(Qpsk, ThreeQuarters, 18),
        Scheme::new(Qam(4), Half, 24),
        Scheme::new(Qam(4), ThreeQuarters, 36),
        Scheme::new(Qam(6), TwoThirds, 48),
        Scheme::new(Qam(6), ThreeQuarters, 54),
        Scheme::new(Qam(6), FiveSixths, 54),
        Scheme::new(Qam(8), ThreeQuarters, 54),
        Scheme::new(Qam(8), FiveSixths, 54),
        Scheme::new(Qam(10), ThreeQuarters, 54),
        Scheme::new(Qam(10), FiveSixths, 54),
    ]
};

impl Format {
    /// Index of the highest scheme.
    pub const fn highest_index(self) -> u8 {
        (self.facts().schemes.len() - 1) as u8
    }

    /// Largest number of spatial streams.
    pub const fn most_streams(self) -> u8 {
        self.facts().most_streams
    }

    /// The widest channel.
    pub const fn widest(self) -> Width {
        Width::nth(self.facts().carriers.len() - 1)
    }

    /// The default channel width at 5 GHz.
    pub const fn usual_width(self) -> Width {
        self.facts().usual_width
    }

    /// The guard intervals of the format.
    pub const fn guards(self) -> &'static [GuardInterval] {
        self.facts().guards
    }

    /// Training fields, without their guard intervals, that senders can choose from; empty before HE. HE's optional 1x
    /// field is not included.
    pub const fn ltfs(self) -> &'static [Span] {
        self.facts().ltfs
    }

    /// Durations of the packet extension; empty before HE.
    pub const fn packet_extensions(self) -> &'static [Span] {
        self.facts().packet_extensions
    }

    /// Whether the standard's scheme number includes the number of streams.
    pub const fn numbers_count_streams(self) -> bool {
        self.facts().numbers_count_streams
    }

    /// Number of MPDUs that a block ack can acknowledge.
    pub const fn window(self) -> u32 {
        self.facts().window
    }

    /// The formats used in a band up to the newest one, older ones first.
    pub(super) fn up_to(newest: Format, band: Band) -> impl Iterator<Item = Format> {
        let used = move |format: &Format| *format <= newest && band.widest(*format).is_some();
        Format::ALL.iter().copied().filter(used)
    }

    /// The modes of all schemes up to the given limits.
    pub(super) fn modes(self, setup: Setup) -> impl Iterator<Item = Mode> {
        Mcs::all(self, setup.most).map(move |mcs| self.mode(mcs, &setup))
    }

    fn mode(self, mcs: Mcs, setup: &Setup) -> Mode {
        let Frame { preamble, extension, max_ampdu_bytes, coding } =
            (self.facts().frame)(mcs, setup);
        Mode {
            rate: mcs.rate(),
            class: ModulationClass::Format(self),
            reference: rate(mcs.scheme().reference_mbps * 1_000),
            control: false,
            mandatory: false,
            preamble,
            extension,
            scheme: Some(OfScheme::new(mcs, max_ampdu_bytes)),
            coding,
        }
    }

    /// Limits a capability to that of the format.
    pub(super) fn limited(self, most: Capability) -> Capability {
        Capability {
            width: most.width.min(self.widest()),
            streams: most.streams.min(self.most_streams()),
        }
    }
}

impl FrameChoices {
    pub(super) fn check(self, format: Format) -> Result<(), PhyError> {
        let (ltfs, extensions) = (format.ltfs(), format.packet_extensions());
        if let Some(ltf) = self.ltf.filter(|ltf| !ltfs.is_empty() && !ltfs.contains(ltf)) {
            return Err(PhyError::Ltf { format, ltf });
        }
        let extension = self.packet_extension;
        if !extensions.is_empty() && !extensions.contains(&extension) {
            return Err(PhyError::PacketExtension { format, extension });
        }
        Ok(())
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().name)
    }
}
