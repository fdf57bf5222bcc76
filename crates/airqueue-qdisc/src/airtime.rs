//! The airtime that stations have used, and the airtime that their packets in transit are expected to use.

use airqueue_core::Span;

/// The airtime counters of all stations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Airtime {
    stations: Vec<Station>,
    /// The expected airtime of all stations' packets that were handed out and are not yet reported.
    pending: Span,
}

#[derive(Clone, Copy, Debug)]
struct Station {
    /// The airtime of a turn.
    turn: Span,
    /// The airtime left in the station's turn.
    deficit: Span,
    /// The packets count towards the airtime of all.
    counts: bool,
    /// Bytes that were handed out and are not yet reported.
    bytes: u64,
    /// The recent airtime per byte, in picoseconds; at first an estimate without a report.
    byte_ps: u64,
    reported: bool,
}

/// The airtime of a byte at 6 Mb/s, the estimate before the first report.
const FIRST_BYTE_PS: u64 = 1_333_333;

impl Station {
    fn pending(&self) -> Span {
        let ns = u128::from(self.bytes) * u128::from(self.byte_ps) / 1000;
        Span::from_nanos(i64::try_from(ns).unwrap_or(i64::MAX / 4))
    }
}

impl Airtime {
    /// Adds a station, with a full turn.
    pub(crate) fn add(&mut self, turn: Span) {
        let deficit = turn;
        let counts = true;
        let byte_ps = FIRST_BYTE_PS;
        self.stations.push(Station { turn, deficit, counts, bytes: 0, byte_ps, reported: false });
    }

    /// Gives a station without packets in transit another length of turns, and a full turn; `counts`: its packets count
    /// towards the airtime of all.
    pub(crate) fn set_station(&mut self, at: usize, turn: Span, counts: bool) {
        let station = &mut self.stations[at];
        debug_assert!(station.bytes == 0);
        *station = Station { turn, deficit: turn, counts, ..*station };
    }

    fn change(&mut self, at: usize, change: impl FnOnce(&mut Station)) {
        let Some(station) = self.stations.get_mut(at) else { return };
        let before = station.pending();
        change(station);
        if station.counts {
            self.pending = self.pending - before + station.pending();
        }
    }

    /// A packet of `bytes` bytes is handed to the link, or taken up again.
    pub(crate) fn on_handed_out(&mut self, at: usize, bytes: u64) {
        self.change(at, |station| station.bytes += bytes);
    }

    /// A packet that was handed out is not in the device: it waits for a station that sleeps.
    pub(crate) fn on_put_aside(&mut self, at: usize, bytes: u64) {
        self.change(at, |station| station.bytes = station.bytes.saturating_sub(bytes));
    }

    /// The link reports a packet. Its airtime is charged to the station, and enters the estimate per byte with weight
    /// 1/8.
    pub(crate) fn on_report(&mut self, at: usize, bytes: u64, airtime: Span) {
        self.change(at, |station| {
            station.bytes = station.bytes.saturating_sub(bytes);
            station.deficit = station.deficit - airtime;
            // A packet given up in an internal collision was never on the air.
            if airtime > Span::ZERO {
                let ps =
                    u128::from(airtime.as_nanos().unsigned_abs()) * 1000 / u128::from(bytes.max(1));
                let ps = u64::try_from(ps).unwrap_or(u64::MAX).min(1 << 50);
                station.byte_ps = (7 * station.byte_ps + ps).div_ceil(8);
                station.reported = true;
            }
        });
    }

    /// The throughput of a station that had all airtime, once a packet was reported.
    pub(crate) fn throughput_bps(&self, at: usize) -> Option<u64> {
        let Station { byte_ps, reported, .. } = self.stations[at];
        reported.then(|| 8_000_000_000_000 / byte_ps.max(1))
    }

    /// The expected airtime of a station's packets in transit.
    pub(crate) fn pending(&self, at: usize) -> Span {
        self.stations[at].pending()
    }

    /// The expected airtime of all stations' packets in transit.
    pub(crate) fn pending_of_all(&self) -> Span {
        self.pending
    }

    /// The airtime left in a station's turn; with `and_pending`, less the expected airtime of its packets in transit.
    pub(crate) fn left(&self, at: usize, and_pending: bool) -> Span {
        let Station { deficit, .. } = self.stations[at];
        if and_pending { deficit - self.pending(at) } else { deficit }
    }

    /// A station that has used up its turn gets a new turn.
    pub(crate) fn refill(&mut self, at: usize) {
        let station = &mut self.stations[at];
        station.deficit = station.deficit + station.turn;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pending_follows_what_is_reported() {
        let mut airtime = Airtime::default();
        (0..2).for_each(|_| airtime.add(Span::ZERO));
        // Two packets of 1500 bytes at 6 Mb/s, 2 ms each; one packet for another station.
        airtime.on_handed_out(0, 1500);
        airtime.on_handed_out(0, 1500);
        airtime.on_handed_out(1, 750);
        let us = |span: Span| (span.as_nanos() as f64 / 1000.0).round() as i64;
        assert_eq!([0, 1].map(|at| us(airtime.pending(at))), [4000, 1000]);
        // The first packet took 10 ms: a byte takes 1/8 · 10/1500 + 7/8 · 2/1500 ms, the other packet 3 ms.
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
