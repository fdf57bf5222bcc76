//! Why a medium cannot be built, and what would be valid.

use super::{Reach, StationId};
use thiserror::Error;

/// Why a description of the medium was refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[expect(missing_docs)] // the messages say it
pub enum MediumError {
    #[error("there is no station; give at least one")]
    NoStations,
    #[error("there are {0} stations; at most {max} can be numbered", max = u32::MAX)]
    TooManyStations(usize),
    #[error(
        "more than {max} pairs of stations hear each other; use fewer stations, or a shorter range \
         (higher thresholds)", max = Reach::MOST_LINKS
    )]
    TooManyLinks,
    #[error("station {} is given twice; every station needs an id of its own", .0.0)]
    DuplicateStation(StationId),
    #[error("station {} does not exist; {stations} stations have the ids 0 to {}", .id.0, .stations - 1)]
    UnknownStation { id: StationId, stations: u32 },
    #[error(
        "the position of station {} is ({x_m}, {y_m}) m; both must be from -{max} to {max}", .id.0,
        max = Reach::FARTHEST_M
    )]
    Position { id: StationId, x_m: f64, y_m: f64 },
    #[error("the transmit power of station {} is {value} W; it must be positive and finite", .id.0)]
    TransmitPower { id: StationId, value: f64 },
    #[error("{name} is {value}; it must be positive and finite")]
    NotPositive { name: &'static str, value: f64 },
    #[error("{name} is {value}; it must be a finite number")]
    NotFinite { name: &'static str, value: f64 },
    #[error("the reference loss is {0} dB; it must be finite and not negative")]
    ReferenceLoss(f64),
    #[error(
        "the carrier-sense range, {carrier_sense_m} m, is shorter than the reception range, \
         {reception_m} m; what can be decoded is sensed, so make it at least as long"
    )]
    SensesTooLittle { carrier_sense_m: f64, reception_m: f64 },
    #[error(
        "the {lower} threshold, {low_w} W, is above the {upper} threshold, {high_w} W; what can be \
         decoded is sensed, and what is sensed interferes, so make it at most as high"
    )]
    ThresholdOrder { lower: &'static str, low_w: f64, upper: &'static str, high_w: f64 },
    #[error("station {} is linked to itself; leave that link out", .0.0)]
    SelfLink(StationId),
    #[error("the link from station {} to station {} is given twice; give it once", .from.0, .to.0)]
    DuplicateLink { from: StationId, to: StationId },
    #[error(
        "the power of the link from station {} to station {} is {value} W; it must be positive and \
         finite", .from.0, .to.0
    )]
    LinkPower { from: StationId, to: StationId, value: f64 },
    #[error("some links have a received power and some have none; give all of them one, or none")]
    SomePowers,
    #[error(
        "{0} needs received powers, but ranges alone and links without power give none; use a path \
         loss, or links with power"
    )]
    NoPowers(&'static str),
    #[error("{name} is {value}; a probability is from 0 to 1")]
    Probability { name: &'static str, value: f64 },
}

/// Checks that `value` is positive and finite.
pub(super) fn positive(name: &'static str, value: f64) -> Result<f64, MediumError> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(MediumError::NotPositive { name, value })
    }
}
