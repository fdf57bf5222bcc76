//! Propagation delays: how long a frame is on its way to each of its listeners.

use super::{Reach, StationId};
use airqueue_core::Span;
use std::sync::Arc;

/// Speed of light in vacuum in m/s, which is that in air but for 0.03 %.
pub const SPEED_OF_LIGHT: f64 = 299_792_458.0;

impl Reach {
    /// Frames take the time of light from the transmitter's place to the listener's. Nothing changes where the table is
    /// of links.
    pub fn with_speed_of_light(self) -> Reach {
        let Some(origin) = self.origin.clone() else { return self };
        self.with_delays(|from, to| {
            let (from, to) = (&origin.0[from.index()], &origin.0[to.index()]);
            let distance_m = (to.x_m - from.x_m).hypot(to.y_m - from.y_m);
            Span::from_nanos((distance_m / SPEED_OF_LIGHT * 1e9).round() as i64)
        })
    }

    /// Frames take so long from a transmitter, the first station, to a listener.
    pub fn with_delays(mut self, delay: impl Fn(StationId, StationId) -> Span) -> Reach {
        let stations = (0..self.stations() as u32).map(StationId);
        let links = stations
            .flat_map(|from| self.listeners_of(from).iter().map(move |to| (from, to.station)));
        let delays = links.map(|(from, to)| delay(from, to)).collect();
        self.delays = Some(Arc::new(delays));
        self
    }

    /// Whether frames take time to their listeners; otherwise they are everywhere at once.
    #[inline]
    pub fn is_delayed(&self) -> bool {
        self.delays.is_some()
    }

    /// How long a frame of `from` is on its way to `to`. Panics if the station `from` does not exist.
    #[inline(always)]
    pub fn delay(&self, from: StationId, to: StationId) -> Span {
        match &self.delays {
            Some(delays) => self.delay_of(delays, from, to),
            None => Span::ZERO,
        }
    }

    #[inline(never)]
    fn delay_of(&self, delays: &[Span], from: StationId, to: StationId) -> Span {
        let listeners = self.listeners_of(from);
        let found = listeners.binary_search_by_key(&to, |listener| listener.station);
        found.map_or(Span::ZERO, |at| delays[self.links_of(from)][at])
    }

    /// The longest delay of all links.
    pub fn longest_delay(&self) -> Span {
        let all = self.delays.iter().flat_map(|delays| delays.iter().copied());
        all.max().unwrap_or(Span::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::{Place, Propagation};

    fn reach() -> Reach {
        let places = [(0.0, 0.0), (300.0, 400.0), (0.0, 100.0)];
        let places: Vec<Place> =
            (0..).zip(places).map(|(id, (x, y))| Place::new(StationId(id), x, y)).collect();
        let disc = Propagation::Disc { reception_m: 450.0, carrier_sense_m: 600.0 };
        Reach::from_places(&places, &disc).unwrap()
    }

    /// 500 m over 299 792 458 m/s are 1667.8 ns, 100 m are 333.6 ns.
    #[test]
    fn a_frame_takes_the_time_of_light() {
        let reach = reach();
        let at = |reach: &Reach, from, to| reach.delay(StationId(from), StationId(to)).as_nanos();
        assert!(!reach.is_delayed() && at(&reach, 0, 1) == 0);
        let reach = reach.with_speed_of_light();
        assert_eq!([at(&reach, 0, 1), at(&reach, 1, 0), at(&reach, 0, 2)], [1668, 1668, 334]);
        assert_eq!(reach.longest_delay().as_nanos(), 1668);
        let moved = reach.moved(StationId(1), 0.0, 0.0).unwrap().unwrap();
        assert_eq!([at(&moved, 0, 1), at(&moved, 1, 2)], [0, 334]);
    }
}
