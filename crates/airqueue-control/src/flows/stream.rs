//! The bytes of one direction of a connection, as they pass a point of its path.

/// Bytes further away than the largest window (RFC 7323, section 2.3) are nobody's.
const LARGEST_WINDOW: u32 = 1 << 30;
/// Half of all numbers are ahead of a number.
const HALF: u32 = 1 << 31;

/// What is known of one direction's numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stream {
    /// Number behind the last byte that has passed.
    sent: Option<u32>,
    /// Number that the receiver expected last.
    acknowledged: Option<u32>,
    /// Number of the first byte of a connection that may follow.
    opening: Option<u32>,
}

impl Stream {
    /// SYN passed: its number is that before the first byte. Where a connection is known it begins anew when the other end
    /// agrees: anybody may send a SYN (RFC 5961, section 4).
    pub(super) fn on_open(&mut self, sequence: u32) {
        let first = Some(sequence.wrapping_add(1));
        match self.sent.or(self.acknowledged) {
            None => self.sent = first,
            Some(_) => self.opening = first.filter(|_| self.sent != first),
        }
    }

    /// Bytes, or FIN, passed. Returns whether all of them are new here.
    pub(super) fn on_bytes(&mut self, sequence: u32, length: u32) -> bool {
        let of_window = |from| {
            sequence == from
                || is_ahead(sequence, from, LARGEST_WINDOW)
                || is_ahead(from, sequence, LARGEST_WINDOW)
        };
        if !self.acknowledged.is_none_or(of_window) {
            return false;
        }
        let end = sequence.wrapping_add(length);
        let Some(sent) = self.sent else {
            // What was acknowledged was sent, too.
            self.sent = self.acknowledged.filter(|&from| is_ahead(from, end, HALF)).or(Some(end));
            return false;
        };
        if is_ahead(end, sent, HALF) {
            self.sent = Some(end);
        }
        sequence == sent || is_ahead(sequence, sent, HALF)
    }

    /// The receiver acknowledged. Returns whether the bytes are newly acknowledged, and more are in flight.
    pub(super) fn on_acknowledged(&mut self, number: u32) -> bool {
        if self.opening == Some(number) {
            *self = Stream { sent: Some(number), acknowledged: Some(number), opening: None };
            return false;
        }
        // Of bytes that have not passed nothing can be acknowledged (RFC 5961, section 5.2).
        if self.sent.is_some_and(|sent| is_ahead(number, sent, HALF)) {
            return false;
        }
        let Some(before) = self.acknowledged else {
            self.acknowledged = Some(number);
            return false;
        };
        let news = is_ahead(number, before, HALF);
        if news {
            self.acknowledged = Some(number);
        }
        news && self.sent.is_some_and(|sent| sent != number)
    }

    /// Whether a reset or an end with this number is one of the connection's: at what the receiver expects, or within the
    /// bytes in flight, behind which it may be as seen from here (RFC 5961, section 3.2, whose receiver knows its number
    /// exactly). Whoever does not see the connection has to guess that.
    pub(super) fn is_expected(&self, sequence: u32) -> bool {
        match (self.acknowledged, self.sent) {
            (Some(from), Some(to)) => sequence.wrapping_sub(from) <= to.wrapping_sub(from),
            (Some(only), None) | (None, Some(only)) => sequence == only,
            (None, None) => false,
        }
    }

    /// Bytes may have passed unseen.
    pub(super) fn on_gap(&mut self) {
        *self = Stream::default();
    }
}

/// Whether a number is ahead of another one, by less than `most`; numbers wrap (RFC 9293, section 3.4).
fn is_ahead(number: u32, other: u32, most: u32) -> bool {
    (1..most).contains(&number.wrapping_sub(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes u32::MAX - 99 to 900 have passed, of which the receiver has the first hundred.
    fn in_flight() -> Stream {
        let mut stream = Stream::default();
        stream.on_open(u32::MAX - 100);
        assert!(stream.on_bytes(u32::MAX - 99, 1000));
        assert!(!stream.on_acknowledged(u32::MAX - 99));
        assert!(stream.on_acknowledged(0));
        stream
    }

    #[test]
    fn an_acknowledgement_has_news_and_may_leave_bytes_in_flight() {
        let mut stream = in_flight();
        assert!(!stream.on_acknowledged(0));
        assert!(!stream.on_acknowledged(1000));
        assert!(stream.on_acknowledged(500));
        assert!(!stream.on_acknowledged(900));
        assert!(!stream.on_acknowledged(500));
    }

    #[test]
    fn bytes_are_new_once() {
        let mut stream = in_flight();
        assert!(!stream.on_bytes(0, 100));
        assert!(!stream.on_bytes(850, 100));
        assert!(stream.on_bytes(950, 100));
        // Others before them were lost on the way here.
        assert!(stream.on_bytes(2000, 100));
        assert!(!stream.on_bytes(1050, 950));
        // Nobody's window is so large.
        assert!(!stream.on_bytes(1 << 31, 100));
        assert!(stream.on_bytes(2100, 1));
    }

    #[test]
    fn a_reset_has_to_be_within_the_bytes_in_flight() {
        let stream = in_flight();
        for (number, expected) in
            [(0, true), (900, true), (450, true), (901, false), (u32::MAX, false), (1 << 31, false)]
        {
            assert_eq!(stream.is_expected(number), expected, "{number}");
        }
        assert!(!Stream::default().is_expected(0));
        // Somebody who listens from now on sees an acknowledgement and then old bytes again.
        let mut stream = Stream::default();
        stream.on_acknowledged(5000);
        stream.on_bytes(2000, 1000);
        assert_eq!(
            [5000, 3000, 70_000].map(|number| stream.is_expected(number)),
            [true, false, false]
        );
    }

    #[test]
    fn a_connection_begins_anew_when_the_other_end_agrees() {
        let mut stream = in_flight();
        stream.on_open(70_000);
        assert!(!stream.is_expected(70_001));
        assert!(stream.is_expected(450));
        assert!(!stream.on_acknowledged(70_001));
        assert!(stream.is_expected(70_001) && !stream.is_expected(450));
        assert!(stream.on_bytes(70_001, 1000));
    }
}
