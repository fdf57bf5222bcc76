//! The rates of a frame's tries.

/// The rates of a frame's tries (`minstrel_ht_update_rates`): the three with the highest throughput, then a reliable rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    rates: [usize; 4],
    /// For each of these the number of the try at which the next rate takes over; after the last one the frame ends.
    until: [u32; 4],
}

impl Chain {
    /// Of these rates with their tries.
    pub(super) fn new(rates: [usize; 4], tries: [u32; 4]) -> Chain {
        let mut all = 0;
        let until = tries.map(|tries| {
            all += tries;
            all
        });
        Chain { rates, until }
    }

    /// The rate of a try.
    #[inline]
    pub(super) fn at(&self, attempt: u32) -> usize {
        let stage = self.until.iter().position(|&until| attempt < until);
        self.rates[stage.unwrap_or(3)]
    }

    /// The first try at the second rate, which follows a sample in vain.
    #[inline]
    pub(super) fn second(&self) -> u32 {
        self.until[0]
    }

    /// Whether all tries before this one are used up.
    #[inline]
    pub(super) fn is_over(&self, attempt: u32) -> bool {
        attempt >= self.until[3]
    }
}
