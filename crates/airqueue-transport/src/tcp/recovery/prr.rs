//! Proportional rate reduction, RFC 9937: in fast recovery segments are sent in proportion to the segments that
//! arrive, so that the window has fallen to the threshold after one window of arrivals.

/// Section 6.2, applied at each acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// RecoverFS: bytes outstanding at the beginning of recovery.
    flight: u64,
    /// prr_delivered: bytes that have arrived since.
    delivered: u64,
    /// prr_out: bytes sent since.
    out: u64,
    /// The delivery report of an acknowledgement that has not set the window yet.
    news: Option<Delivered>,
    cwnd: u64,
}

#[derive(Clone, Copy, Debug)]
struct Delivered {
    bytes: u64,
    /// SafeACK: data in order, and no indication of further loss.
    safe: bool,
}

impl Prr {
    /// Fast recovery begins with `flight` bytes outstanding, without the bytes that were known to have arrived.
    pub(super) fn begin(flight: u64) -> Prr {
        Prr { flight: flight.max(1), ..Prr::default() }
    }

    /// An acknowledgement reports the arrival of `bytes`.
    pub(super) fn on_delivered(&mut self, bytes: u64, safe: bool) {
        if bytes > 0 {
            self.delivered += bytes;
            self.news = Some(Delivered { bytes, safe });
        }
    }

    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// The window, with `inflight` bytes in the network and a threshold of `ssthresh`. It changes once per
    /// acknowledgement.
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

    /// Segments that may be sent, and are sent, after an acknowledgement of one segment.
    fn step(prr: &mut Prr, inflight: &mut u64, ssthresh: u64, safe: bool) -> u64 {
        *inflight -= MSS;
        prr.on_delivered(MSS, safe);
        let room = (prr.cwnd(*inflight, ssthresh, MSS) - *inflight) / MSS;
        prr.on_sent(room * MSS);
        *inflight += room * MSS;
        room
    }

    /// One loss in twenty segments, half the window. The first acknowledgement sends the fast retransmit, then every
    /// second acknowledgement sends a segment; the flight ends at the threshold.
    #[test]
    fn every_second_acknowledgement_sends_a_segment() {
        let mut prr = Prr::begin(20 * MSS);
        let mut inflight = 19 * MSS; // one is lost
        let mut sent = || step(&mut prr, &mut inflight, 10 * MSS, false);
        let first: Vec<u64> = (0..15).map(|_| sent()).collect();
        // The first segment is sent whatever the share; then one each time that two half segments add up.
        assert_eq!(first, [1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!((sent(), sent()), (0, 1));
        assert_eq!(inflight, 10 * MSS);
    }

    /// When losses exceed the reduction: as much is sent as arrives (PRR-CRB), one segment more while SafeACK holds
    /// (PRR-SSRB), and never beyond the threshold.
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

    /// The window stays while no new delivery is reported.
    #[test]
    fn it_changes_once_for_an_acknowledgement() {
        let mut prr = Prr::begin(4 * MSS);
        prr.on_delivered(MSS, false);
        assert_eq!(prr.cwnd(3 * MSS, 2 * MSS, MSS), 4 * MSS);
        prr.on_sent(MSS);
        assert_eq!(prr.cwnd(4 * MSS, 2 * MSS, MSS), 4 * MSS);
    }
}
