//! Random positions of stations.

use super::error::{Result, ScenarioError, error, wrong};
use super::file::RandomTable;
use airqueue_core::{RandomStream, Seed};
use std::collections::HashMap;
use std::f64::consts::{FRAC_PI_4, PI};

/// Number of tries per member to find a position far enough from earlier members.
const MOST_TRIES: usize = 2_000;
/// The share of the area that members are advised to fill with discs of their distance as diameter. Discs placed at
/// random, one after the other, jam at 0.547 (Feder, 1980); at this share members still find positions soon.
const FILLED: f64 = 0.4;

/// The area of possible positions.
#[derive(Clone, Copy, Debug)]
enum Area {
    Disc { radius: f64 },
    Rectangle { width: f64, height: f64 },
}

impl Area {
    fn of(key: &str, table: &RandomTable) -> Result<Area> {
        let (name, lengths) = match (&table.radius, &table.area) {
            (Some(radius), None) => ("radius", [radius.value; 2]),
            (None, Some(area)) => ("area", [area[0].value, area[1].value]),
            _ => return wrong(key, "expected one of `radius` and `area`"),
        };
        let [width, height] = lengths;
        if width < 0.0 || height < 0.0 {
            return wrong(format_args!("{key}.{name}"), "a length below 0 m leaves no room");
        }
        Ok(match name {
            "radius" => Area::Disc { radius: width },
            _ => Area::Rectangle { width, height },
        })
    }

    fn draw(self, rng: &mut RandomStream) -> [f64; 2] {
        match self {
            Area::Rectangle { width, height } => [rng.unit() * width, rng.unit() * height],
            // A point of the square around the disc.
            Area::Disc { radius } => loop {
                let [x, y] = [0; 2].map(|_| 2.0 * rng.unit() - 1.0);
                if x * x + y * y <= 1.0 {
                    return [x * radius, y * radius];
                }
            },
        }
    }

    fn square_metres(self) -> f64 {
        match self {
            Area::Disc { radius } => PI * radius * radius,
            Area::Rectangle { width, height } => width * height,
        }
    }
}

/// The members with a position, by squares at least as wide as their distance.
struct Taken {
    apart: f64,
    side: f64,
    squares: HashMap<(i64, i64), Vec<[f64; 2]>>,
}

impl Taken {
    fn square(&self, place: [f64; 2]) -> (i64, i64) {
        let [x, y] = place.map(|at| (at / self.side).floor() as i64);
        (x, y)
    }

    fn has_room(&self, place: [f64; 2]) -> bool {
        let (column, row) = self.square(place);
        let near = |&[x, y]: &[f64; 2]| libm::hypot(x - place[0], y - place[1]) < self.apart;
        let squares = (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (column + dx, row + dy)));
        !squares.filter_map(|at| self.squares.get(&at)).flatten().any(near)
    }

    fn take(&mut self, place: [f64; 2]) {
        let square = self.square(place);
        self.squares.entry(square).or_default().push(place);
    }
}

/// Random positions of the members of a group around the group's position. The random stream depends on the group's
/// name: groups with equal seeds get different positions.
pub(super) fn scattered(
    key: &str,
    name: &str,
    count: u32,
    table: &RandomTable,
) -> Result<Vec<[f64; 2]>> {
    let area = Area::of(key, table)?;
    let mut rng = Seed(table.seed.into()).stream(&format!("scenario/places/{name}"));
    let apart = table.min_distance.as_ref().map_or(0.0, |apart| apart.value);
    if apart < 0.0 {
        return wrong(format_args!("{key}.min_distance"), "a distance cannot be below 0 m");
    }
    if apart == 0.0 {
        return Ok((0..count).map(|_| area.draw(&mut rng)).collect());
    }
    // Wide enough that there are hardly more squares than members.
    let side = apart.max((area.square_metres() / f64::from(count)).sqrt());
    let mut taken = Taken { apart, side, squares: HashMap::new() };
    let mut places = Vec::new();
    for found in 0..count {
        let mut tries = (0..MOST_TRIES).map(|_| area.draw(&mut rng));
        let Some(place) = tries.find(|&place| taken.has_room(place)) else {
            return Err(too_dense(key, area, apart, count, found));
        };
        taken.take(place);
        places.push(place);
    }
    Ok(places)
}

fn too_dense(key: &str, area: Area, apart: f64, count: u32, found: u32) -> ScenarioError {
    let fits = (FILLED * area.square_metres() / (FRAC_PI_4 * f64::from(count))).sqrt();
    // Three digits, rounded down.
    let decimals = (2.0 - libm::log10(fits).floor()).clamp(0.0, 12.0);
    let scale = libm::exp10(decimals);
    let fits = (fits * scale).floor() / scale;
    let distance = if fits > 0.0 {
        format!("at most {fits:.*} m", decimals as usize)
    } else {
        "0 m".to_owned()
    };
    let problem = format_args!(
        "only {found} of {count} stations found a place at least {apart} m from all others; give them more \
         room, or a distance of {distance}"
    );
    error(format_args!("{key}.min_distance"), problem)
}
