//! Proportional rate reduction, RFC 9937: in fast recovery segments leave in proportion to those that
//! arrive, so that the window has shrunk to the threshold when a window's worth has.

/// Section 6.2, by acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// RecoverFS: what was outstanding at the beginning.
    flight: u64,
    /// prr_delivered: what has arrived since.
    delivered: u64,
    /// prr_out: what was sent since.
    out: u64,
    /// Of an acknowledgement that has not set the window yet.
    news: Option<Delivered>,
    cwnd: u64,
}

#[derive(Clone, Copy, Debug)]
struct Delivered {
    bytes: u64,
    /// SafeACK: data in order, and no sign of further loss.
    safe: bool,
}

impl Prr {
    /// Fast recovery begins with `flight` bytes outstanding, what was known to have arrived before not
    /// among them.
    pub(super) fn begin(flight: u64) -> Prr {
        Prr { flight: flight.max(1), ..Prr::default() }
    }

    /// An acknowledgement says that `bytes` have arrived.
    pub(super) fn on_delivered(&mut self, bytes: u64, safe: bool) {
        if bytes > 0 {
            self.delivered += bytes;
            self.news = Some(Delivered { bytes, safe });
        }
    }

    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// The window, with `inflight` bytes in the network and a threshold of `ssthresh`. It changes once
    /// for an acknowledgement.
    pub(super) fn cwnd(&mut self, inflight: u64, ssthresh: u64, mss: u64) -> u64 {
        let Some(news) = self.news.take() else { return self.cwnd };
        let mut send = if inflight > ssthresh {
            let due = u128::from(self.delivered) * u128::from(ssthresh);
            (due.div_ceil(u128::from(self.flight)) as u64).saturating_sub(self.out)
        } else {
            let slow_start = if news.safe { mss } else { 0 };
            let bound = self.delivered.saturating_sub(self.out).max(news.bytes) + slow_start;
            bound.min(ssthresh - inflight)
        };
        if self.out == 0 {
            send = send.max(mss); // the fast retransmit
        }
        self.cwnd = inflight + send;
        self.cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Segments that may leave on an acknowledgement of one, and do.
    fn step(prr: &mut Prr, inflight: &mut u64, ssthresh: u64, safe: bool) -> u64 {
        *inflight -= MSS;
        prr.on_delivered(MSS, safe);
        let room = (prr.cwnd(*inflight, ssthresh, MSS) - *inflight) / MSS;
        prr.on_sent(room * MSS);
        *inflight += room * MSS;
        room
    }

    /// One loss of twenty, half the window. The first acknowledgement sends the
    /// fast retransmit, then every other one a segment, and what is outstanding ends at the threshold.
    #[test]
    fn every_second_acknowledgement_sends_a_segment() {
        let mut prr = Prr::begin(20 * MSS);
        let mut inflight = 19 * MSS; // one is lost
        let mut sent = || step(&mut prr, &mut inflight, 10 * MSS, false);
        let first: Vec<u64> = (0..15).map(|_| sent()).collect();
        // One at first whatever its share; from then on when half a segment twice makes a whole one.
        assert_eq!(first, [1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!((sent(), sent()), (0, 1));
        assert_eq!(inflight, 10 * MSS);
    }

    /// Where losses have taken more than the reduction: as much as arrives (PRR-CRB), one more when all is
    /// well (PRR-SSRB), and never beyond the threshold.
    #[test]
    fn below_the_threshold_it_catches_up_slowly() {
        let mut prr = Prr::begin(20 * MSS);
        let mut inflight = 5 * MSS;
        assert_eq!(step(&mut prr, &mut inflight, 10 * MSS, false), 1);
        assert_eq!(step(&mut prr, &mut inflight, 10 * MSS, false), 1);
        assert_eq!(step(&mut prr, &mut inflight, 10 * MSS, true), 2);
        let all: u64 = (0..10).map(|_| step(&mut prr, &mut inflight, 10 * MSS, true)).sum();
        assert_eq!((inflight, all), (10 * MSS, 14));
    }

    /// The window stays while nothing new is told.
    #[test]
    fn it_changes_once_for_an_acknowledgement() {
        let mut prr = Prr::begin(4 * MSS);
        prr.on_delivered(MSS, false);
        assert_eq!(prr.cwnd(3 * MSS, 2 * MSS, MSS), 4 * MSS);
        prr.on_sent(MSS);
        assert_eq!(prr.cwnd(4 * MSS, 2 * MSS, MSS), 4 * MSS);
    }
}
