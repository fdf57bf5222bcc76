//! Who hears whom in a scenario.

use super::error::{Result, error, wrong};
use super::stations::Stations;
use airqueue_wifi::medium::{Place, Propagation, Reach, StationId};

/// Everyone decodes everyone.
pub(super) fn everyone(stations: &Stations) -> Result<Reach> {
    let count = stations.specs.len();
    if count * (count - 1) > Reach::MOST_LINKS {
        let problem = format_args!("{count} of them are too many to all hear each other");
        return wrong("stations", problem);
    }
    let places: Vec<Place> =
        (0..count).map(|id| Place::new(StationId(id as u32), 0.0, 0.0)).collect();
    let disc = Propagation::Disc { reception_m: 1.0, carrier_sense_m: 1.0 };
    Reach::from_places(&places, &disc).map_err(|problem| error("stations", problem))
}
