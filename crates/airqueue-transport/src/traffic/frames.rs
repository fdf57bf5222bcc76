//! A picture every so often, as a cloud game or a video call sends it: a burst of packets.

use super::law::Law;
use super::registry::{Asked, Carried, Kind};
use super::web::{MOST_SIGMA, SIGMA};
use super::{Arrivals, SourceError, SourceSpec};
use airqueue_core::keys::{Result, wrong};
use airqueue_core::quantity::{Bytes, Duration, Quantity};
use airqueue_core::{RandomStream, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// 60 pictures a second.
const EVERY: Span = Span::from_nanos(16_666_667);
/// 9.6 Mb/s at 60 pictures a second.
const FRAME_BYTES: u64 = 20_000;
const DEADLINE: Span = Span::from_millis(100);
const MOST_BYTES: u64 = 100_000_000;
/// An IPv4 header and a UDP header: the shortest packet.
const LEAST_PACKET: u32 = 28;

/// The pictures of a game or a video.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FramesTable {
    /// Interval between pictures. The default is `16.666667 ms`, 60 a second.
    pub interval: Option<Quantity<Duration>>,
    /// Mean size of a picture: the bytes of its IP packets together. The default is `20 kB`.
    pub frame_size: Option<Quantity<Bytes>>,
    /// Distribution of the sizes. The default is constant.
    pub distribution: Option<FrameDistributionName>,
    /// Standard deviation of the logarithm of lognormal sizes. The default is 1.
    #[schemars(range(min = 0, max = 5))]
    pub sigma: Option<f64>,
    /// A picture whose last packet comes later than this, counted from the picture's instant, is late. The default is
    /// `100 ms`.
    pub deadline: Option<Quantity<Duration>>,
}

/// A distribution of the sizes of pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FrameDistributionName {
    /// All pictures have the mean size.
    #[default]
    Constant,
    /// The lognormal distribution.
    Lognormal,
}

/// Pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frames {
    /// Interval between pictures.
    pub every: Span,
    /// Mean size, in bytes of IP packets.
    pub bytes: u64,
    /// Distribution of the sizes.
    pub law: Law,
    /// A picture that takes longer is late.
    pub deadline: Span,
}

/// A packet's picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of the picture, from 0, modulo 2^32.
    pub frame: u32,
    /// Number of packets of the picture.
    pub packets: u32,
}

pub(super) struct Pictures;

impl Kind for Pictures {
    const ABOUT: &'static str =
        "A picture at regular intervals, each a burst of packets: a cloud game, a video.";
    const TABLE_OF: &'static str = "pictures";

    fn carried(asked: &Asked<'_>) -> Result<Carried> {
        let why = "the rate is that of the pictures; leave the key out, or give frames.frame_size and frames.interval";
        asked.refuse(&["rate", "packet_rate"], why)?;
        let none = FramesTable::default();
        let frames = asked.tables.frames.unwrap_or(&none).frames(asked.key)?;
        Ok(Carried::Packets { source: asked.packets(Arrivals::Frames(frames)), call: None })
    }
}

impl FramesTable {
    fn frames(&self, flow: &str) -> Result<Frames> {
        let law = match (self.distribution.unwrap_or_default(), self.sigma) {
            (FrameDistributionName::Lognormal, Some(sigma))
                if !(0.0..=MOST_SIGMA).contains(&sigma) =>
            {
                let problem = format_args!("found {sigma}, expected 0 to {MOST_SIGMA}");
                return wrong(format_args!("{flow}.frames.sigma"), problem);
            }
            (FrameDistributionName::Constant, Some(_)) => {
                let problem = "only distribution = \"lognormal\" has it; leave it out";
                return wrong(format_args!("{flow}.frames.sigma"), problem);
            }
            (FrameDistributionName::Constant, None) => Law::Constant,
            (FrameDistributionName::Lognormal, sigma) => Law::Lognormal(sigma.unwrap_or(SIGMA)),
        };
        let bytes = self.frame_size.as_ref().map_or(FRAME_BYTES, |size| size.value);
        if !(u64::from(LEAST_PACKET)..=MOST_BYTES).contains(&bytes) {
            let problem = format_args!("found {bytes} B, expected {LEAST_PACKET} B to 100 MB");
            return wrong(format_args!("{flow}.frames.frame_size"), problem);
        }
        let positive = |name, given: &Option<Quantity<Duration>>, usual| match given {
            Some(given) if given.value <= Span::ZERO => {
                wrong(format_args!("{flow}.frames.{name}"), "found no time at all, expected more")
            }
            given => Ok(given.as_ref().map_or(usual, |given| given.value)),
        };
        let every = positive("interval", &self.interval, EVERY)?;
        let deadline = positive("deadline", &self.deadline, DEADLINE)?;
        Ok(Frames { every, bytes, law, deadline })
    }
}

/// The packets of pictures, without drift.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    frames: Frames,
    packet_bytes: u32,
    rng: RandomStream,
    part: Part,
    /// Bytes of the picture that are not sent yet.
    left: u64,
}

impl Bursts {
    pub(super) fn new(
        frames: Frames,
        spec: &SourceSpec,
        rng: RandomStream,
    ) -> std::result::Result<Bursts, SourceError> {
        if frames.every <= Span::from_nanos(1) {
            return Err(SourceError::TooOften(frames.every));
        }
        let part = Part { frame: u32::MAX, packets: 0 };
        let mut bursts =
            Bursts { frames, packet_bytes: spec.size_bytes.max(LEAST_PACKET), rng, part, left: 0 };
        bursts.begin();
        Ok(bursts)
    }

    fn begin(&mut self) {
        let bytes = self.frames.bytes as f64 * self.frames.law.unit_mean(&mut self.rng);
        self.left = (bytes as u64).clamp(u64::from(LEAST_PACKET), 100 * MOST_BYTES);
        let packets = self.left.div_ceil(u64::from(self.packet_bytes)) as u32;
        self.part = Part { frame: self.part.frame.wrapping_add(1), packets };
    }

    /// The picture of the packet that is due.
    #[inline]
    pub(super) fn part(&self) -> Part {
        self.part
    }

    /// Size of the packet that is due. The last one of a picture has the rest.
    #[inline]
    pub(super) fn size_bytes(&self) -> u32 {
        self.left.clamp(u64::from(LEAST_PACKET), u64::from(self.packet_bytes)) as u32
    }

    /// When the packet after the one at `at` comes: at the same instant, or with the next picture.
    #[inline]
    pub(super) fn after(&mut self, at: Time) -> Time {
        self.left = self.left.saturating_sub(u64::from(self.packet_bytes));
        if self.left > 0 {
            return at;
        }
        self.begin();
        at + self.frames.every
    }
}
