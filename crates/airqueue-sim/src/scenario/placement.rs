//! Where the stations of a scenario stand.

use super::error::{Result, wrong};
use super::file::{File, StationTable};
use super::quantity::{Length, Quantity};
use super::stations::Stations;
use airqueue_wifi::medium::{Place, Reach, StationId};
use std::f64::consts::TAU;

/// The place of every station; `powers`: its power matters too.
pub(super) fn places(file: &File, stations: &Stations, powers: bool) -> Result<Vec<Place>> {
    let mut places = Vec::with_capacity(stations.specs.len());
    for (at, table) in file.stations.iter().enumerate() {
        let key = format!("stations[{at}]");
        for (member, id) in stations.members[at].clone().enumerate() {
            let [x_m, y_m] = position(&key, table, member)?;
            let within = -Reach::FARTHEST_M..=Reach::FARTHEST_M;
            if !within.contains(&x_m) || !within.contains(&y_m) {
                let problem = format_args!("{:?} stands beyond 1e9 m", stations.name(id));
                return wrong(key, problem);
            }
            let mut place = Place::new(StationId(id as u32), x_m, y_m);
            if let Some(power) = &table.power {
                place.transmit_w = power.value;
            }
            places.push(place);
        }
        if !powers && table.power.is_some() {
            let problem = "ranges know no powers; leave it out, or give medium.path_loss";
            return wrong(format_args!("{key}.power"), problem);
        }
    }
    Ok(places)
}

/// Refuses places where they mean nothing.
pub(super) fn no_places(file: &File) -> Result<()> {
    for (at, table) in file.stations.iter().enumerate() {
        let given = [
            ("position", table.position.is_some()),
            ("circle", table.circle.is_some()),
            ("step", table.step.is_some()),
            ("grid", table.grid.is_some()),
            ("power", table.power.is_some()),
        ];
        if let Some((name, _)) = given.iter().find(|(_, given)| *given) {
            let problem = "without medium.ranges or medium.path_loss it means nothing; give one of \
                           them, or leave it out";
            return wrong(format_args!("stations[{at}].{name}"), problem);
        }
    }
    Ok(())
}

fn position(key: &str, table: &StationTable, member: usize) -> Result<[f64; 2]> {
    let metres = |[x, y]: &[Quantity<Length>; 2]| [x.value, y.value];
    let [x, y] = match &table.position {
        Some(position) => metres(position),
        None if table.circle.is_some() || table.step.is_some() || table.grid.is_some() => {
            [0.0, 0.0]
        }
        None => {
            let problem = "missing key `position`, or `circle`, `step` or `grid` for a group";
            return wrong(key, problem);
        }
    };
    let [dx, dy] = match (&table.circle, &table.step, &table.grid, table.count) {
        (None, None, None, Some(2..)) => {
            return wrong(key, "a group needs `circle`, `step` or `grid` beside its position");
        }
        (None, None, None, _) => [0.0, 0.0],
        (_, _, _, None) => {
            return wrong(
                key,
                "`circle`, `step` and `grid` are for groups; give count, or a position alone",
            );
        }
        (Some(radius), None, None, Some(count)) => {
            let angle = TAU * member as f64 / f64::from(count);
            [radius.value * libm::cos(angle), radius.value * libm::sin(angle)]
        }
        (None, Some(step), None, _) => metres(step).map(|d| d * member as f64),
        (None, None, Some(grid), _) => {
            let Some(row) = member.checked_div(grid.columns as usize) else {
                return wrong(format_args!("{key}.grid.columns"), "found 0, expected at least 1");
            };
            let column = member - row * grid.columns as usize;
            [column as f64 * grid.spacing.value, row as f64 * grid.spacing.value]
        }
        _ => return wrong(key, "there is more than one of `circle`, `step` and `grid`; give one"),
    };
    Ok([x + dx, y + dy])
}
