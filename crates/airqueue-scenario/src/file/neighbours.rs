//! The keys of neighbours.

use crate::quantity::{Decibels, FrameRate, Length, Power, Quantity, Size};
use schemars::JsonSchema;
use serde::Deserialize;

/// Another cell on the channel: an access point and its stations, with traffic of their own. The table stands for a station
/// `NAME-ap`, a group of stations `NAME`, flows `NAME-down` and `NAME-up`, and links where stations have no positions: a real
/// cell of the same engine.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NeighboursTable {
    /// The cell's name, as a station's.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,60}$"))]
    pub(crate) name: String,
    /// The share of the time that its exchanges would take alone on the channel, each of one packet: data, SIFS and response;
    /// above 0 and at most 0.9. Packets come at random (a Poisson process), and wait and collide as all others.
    #[schemars(range(min = 0, max = 0.9))]
    pub(crate) load: f64,
    /// The part of the load that its access point sends. The default is 0.9.
    #[schemars(range(min = 0, max = 1))]
    pub(crate) down: Option<f64>,
    /// Number of its stations. The default is 2.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) stations: Option<u32>,
    /// Rate of its data frames. The default is `phy.rate`, or the highest rate without it.
    pub(crate) rate: Option<FrameRate>,
    /// Size of its IP packets. The default is `1500 B`.
    pub(crate) size: Option<Quantity<Size>>,
    /// Position of its access point, with `medium.ranges` or `medium.path_loss`; who hears whom follows.
    pub(crate) position: Option<[Quantity<Length>; 2]>,
    /// Radius of the circle around it on which its stations stand. The default is `5 m`.
    pub(crate) radius: Option<Quantity<Length>>,
    /// Transmit power of all its stations, with `medium.path_loss`. The default is that of `stations.power`.
    pub(crate) power: Option<Quantity<Power>>,
    /// Where stations have no positions: the stations and groups that this cell hears, and that hear it; other ones do not, nor
    /// other neighbours with this key. The default is all stations.
    pub(crate) heard_by: Option<Vec<String>>,
    /// With `heard_by` where powers are known: the signal-to-noise ratio between this cell and those that hear it. The default is
    /// `20 dB`.
    pub(crate) snr: Option<Quantity<Decibels>>,
}
