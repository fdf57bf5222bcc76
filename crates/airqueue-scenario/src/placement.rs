//! The positions of a scenario's stations.

use super::error::{Result, wrong};
use super::file::{File, StationTable};
use super::medium::usual_power_w;
use super::quantity::{Length, Quantity};
use super::scatter::scattered;
use super::stations::Stations;
use airqueue_wifi::medium::{Place, Reach, StationId};
use std::f64::consts::TAU;

/// The position of every station; `powers`: transmit powers matter too.
pub(super) fn places(file: &File, stations: &Stations, powers: bool) -> Result<Vec<Place>> {
    let mut places = Vec::with_capacity(stations.specs.len());
    let usual_power_w = usual_power_w(&file.medium);
    for (at, table) in file.stations.iter().enumerate() {
        let key = format!("stations[{at}]");
        let positions = positions(&key, table)?;
        for (id, [x_m, y_m]) in stations.members[at].clone().zip(positions) {
            let within = -Reach::FARTHEST_M..=Reach::FARTHEST_M;
            if !within.contains(&x_m) || !within.contains(&y_m) {
                let problem = format_args!("{:?} stands beyond 1e9 m", stations.name(id));
                return wrong(key, problem);
            }
            let mut place = Place::new(StationId(id as u32), x_m, y_m);
            let own = table.power.as_ref().map(|power| power.value);
            if let Some(power_w) = own.or(usual_power_w) {
                place.transmit_w = power_w;
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

/// Rejects positions where they have no effect.
pub(super) fn no_places(file: &File) -> Result<()> {
    for (at, table) in file.stations.iter().enumerate() {
        let given = [
            ("position", table.position.is_some()),
            ("circle", table.circle.is_some()),
            ("step", table.step.is_some()),
            ("grid", table.grid.is_some()),
            ("random", table.random.is_some()),
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

fn metres([x, y]: &[Quantity<Length>; 2]) -> [f64; 2] {
    [x.value, y.value]
}

/// The positions of a table's members.
fn positions(key: &str, table: &StationTable) -> Result<Vec<[f64; 2]>> {
    let StationTable { position, circle, step, grid, random, .. } = table;
    let shapes = [circle.is_some(), step.is_some(), grid.is_some(), random.is_some()];
    let [x, y] = match position {
        Some(position) => metres(position),
        None if shapes.contains(&true) => [0.0, 0.0],
        None => {
            let problem =
                "missing key `position`, or `circle`, `step`, `grid` or `random` for a group";
            return wrong(key, problem);
        }
    };
    if shapes.into_iter().filter(|&given| given).count() > 1 {
        let problem = "there is more than one of `circle`, `step`, `grid` and `random`; give one";
        return wrong(key, problem);
    }
    let count = match table.count {
        None if shapes.contains(&true) => {
            let problem = "`circle`, `step`, `grid` and `random` are for groups; give count, or a position alone";
            return wrong(key, problem);
        }
        Some(2..) if !shapes.contains(&true) => {
            let problem = "a group needs `circle`, `step`, `grid` or `random` beside its position";
            return wrong(key, problem);
        }
        count => count.unwrap_or(1),
    };
    let around = around(key, table, count)?;
    Ok(around.into_iter().map(|[dx, dy]| [x + dx, y + dy]).collect())
}

/// The positions of a table's members, relative to the table's position.
fn around(key: &str, table: &StationTable, count: u32) -> Result<Vec<[f64; 2]>> {
    let StationTable { circle, step, grid, random, .. } = table;
    let members = 0..count;
    Ok(if let Some(radius) = circle {
        let angle = |member| TAU * f64::from(member) / f64::from(count);
        let on_circle = |angle| [radius.value * libm::cos(angle), radius.value * libm::sin(angle)];
        members.map(|member| on_circle(angle(member))).collect()
    } else if let Some(step) = step {
        members.map(|member| metres(step).map(|d| d * f64::from(member))).collect()
    } else if let Some(grid) = grid {
        if grid.columns == 0 {
            return wrong(format_args!("{key}.grid.columns"), "found 0, expected at least 1");
        }
        let place = |member| [member % grid.columns, member / grid.columns];
        members.map(|member| place(member).map(|at| f64::from(at) * grid.spacing.value)).collect()
    } else if let Some(random) = random {
        scattered(&format!("{key}.random"), &table.name, count, random)?
    } else {
        vec![[0.0, 0.0]; count as usize]
    })
}

/// Two nearby stations in two disconnected parts of a network.
pub(super) struct Gap {
    /// A station of one part.
    pub(super) one: usize,
    /// A station of the other part.
    pub(super) other: usize,
    pub(super) metres: f64,
}

impl Gap {
    /// A station of which `part` is true and a station of which it is false, if there are both and positions are known.
    /// Another pair may be closer, but neither of the two stations has a closer one in the other part.
    pub(super) fn between(places: &[Place], part: &[bool]) -> Option<Gap> {
        let metres = |one: usize, other: usize| {
            let (one, other) = (places[one], places[other]);
            libm::hypot(one.x_m - other.x_m, one.y_m - other.y_m)
        };
        let nearest = |to: usize, side: bool| {
            let all = (0..places.len()).filter(|&id| part[id] == side);
            all.min_by(|&a, &b| metres(a, to).total_cmp(&metres(b, to)))
        };
        let mut one = part.iter().position(|&is| is).filter(|_| !places.is_empty())?;
        let mut other = nearest(one, false)?;
        loop {
            let nearer = nearest(other, true)?;
            if metres(nearer, other) >= metres(one, other) {
                return Some(Gap { one, other, metres: metres(one, other) });
            }
            one = nearer;
            other = nearest(one, false)?;
        }
    }
}
