//! What stations have had of the air, and what they will have of it by packets that are on their way.

use airqueue_core::Span;

/// The counters on all stations' airtime.
#[derive(Clone, Debug, Default)]
pub(crate) struct Airtime {
    stations: Vec<Station>,
    /// What the packets handed out and not yet reported will take, of all stations.
    pending: Span,
}

#[derive(Clone, Copy, Debug)]
struct Station {
    /// What is left of its turn.
    deficit: Span,
    /// Bytes handed out and not yet reported.
    bytes: u64,
    /// What a byte took lately, in picoseconds.
    byte_ps: u64,
}

/// A byte at 6 Mb/s, until more is known.
const FIRST_BYTE_PS: u64 = 1_333_333;

impl Station {
    fn pending(&self) -> Span {
        let ns = u128::from(self.bytes) * u128::from(self.byte_ps) / 1000;
        Span::from_nanos(i64::try_from(ns).unwrap_or(i64::MAX / 4))
    }
}

impl Airtime {
    /// Another station, with a turn.
    pub(crate) fn add(&mut self, turn: Span) {
        self.stations.push(Station { deficit: turn, bytes: 0, byte_ps: FIRST_BYTE_PS });
    }

    fn change(&mut self, at: usize, change: impl FnOnce(&mut Station)) {
        let Some(station) = self.stations.get_mut(at) else { return };
        let before = station.pending();
        change(station);
        self.pending = self.pending - before + station.pending();
    }

    /// A packet of so many bytes is handed to the link.
    pub(crate) fn on_handed_out(&mut self, at: usize, bytes: u64) {
        self.change(at, |station| station.bytes += bytes);
    }

    /// The link is done with it. What it took is charged, and counts for an eighth of what is expected of the next.
    pub(crate) fn on_report(&mut self, at: usize, bytes: u64, airtime: Span) {
        self.change(at, |station| {
            station.bytes = station.bytes.saturating_sub(bytes);
            station.deficit = station.deficit - airtime;
            // Nothing was on the air of a packet that was given up in an internal collision.
            if airtime > Span::ZERO {
                let ps =
                    u128::from(airtime.as_nanos().unsigned_abs()) * 1000 / u128::from(bytes.max(1));
                let ps = u64::try_from(ps).unwrap_or(u64::MAX).min(1 << 50);
                station.byte_ps = (7 * station.byte_ps + ps).div_ceil(8);
            }
        });
    }

    /// What a station's packets on their way will take.
    pub(crate) fn pending(&self, at: usize) -> Span {
        self.stations[at].pending()
    }

    /// The same of all stations.
    pub(crate) fn pending_of_all(&self) -> Span {
        self.pending
    }

    /// What is left of a station's turn; with what is on its way already charged if `and_pending`.
    pub(crate) fn left(&self, at: usize, and_pending: bool) -> Span {
        let Station { deficit, .. } = self.stations[at];
        if and_pending { deficit - self.pending(at) } else { deficit }
    }

    /// A station that has used up its turn gets another.
    pub(crate) fn refill(&mut self, at: usize, turn: Span) {
        let station = &mut self.stations[at];
        station.deficit = station.deficit + turn;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pending_follows_what_is_reported() {
        let mut airtime = Airtime::default();
        (0..2).for_each(|_| airtime.add(Span::ZERO));
        // Two packets of 1500 bytes at 6 Mb/s, 2 ms each; one for another station.
        airtime.on_handed_out(0, 1500);
        airtime.on_handed_out(0, 1500);
        airtime.on_handed_out(1, 750);
        let us = |span: Span| (span.as_nanos() as f64 / 1000.0).round() as i64;
        assert_eq!([0, 1].map(|at| us(airtime.pending(at))), [4000, 1000]);
        // One has taken 10 ms: a byte 1/8 · 10/1500 + 7/8 · 2/1500 ms, 3 ms for the other.
        airtime.on_report(0, 1500, Span::from_millis(10));
        assert_eq!([0, 1].map(|at| us(airtime.pending(at))), [3000, 1000]);
        assert_eq!(us(airtime.pending_of_all()), 4000);
        assert_eq!(airtime.left(0, false), Span::from_millis(-10));
        assert_eq!(us(airtime.left(0, true)), -13_000);
        airtime.on_report(0, 1500, Span::ZERO);
        airtime.on_report(1, 750, Span::ZERO);
        assert_eq!(airtime.pending_of_all(), Span::ZERO);
    }
}
