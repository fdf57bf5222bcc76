//! Rate control allocates nothing once it is made.

use crate::counting::allocations;
use airqueue_core::keys::Word;
use airqueue_core::{Seed, Span, Time};
use airqueue_wifi::phy::{Conventions, RateIndex, ofdm};
use airqueue_wifi::rate_control::{Beginning, RateControlName};

#[test]
fn no_allocation_after_the_beginning() {
    let phy = ofdm(Conventions::STANDARD);
    let rates: Vec<RateIndex> = phy.rates().map(|(rate, _)| rate).collect();
    let start = allocations();
    let mut rng = Seed(1).stream("channel");
    for name in RateControlName::ALL {
        let mut control =
            name.begin(Beginning { phy: &phy, rates: &rates, rng: Seed(1).stream("rate_control") });
        let before = allocations();
        assert!(before > start || !name.looks(), "the counter counts");
        let mut now = Time::ZERO;
        for attempt in 0..20_000 {
            let rate = control.choose(attempt % 7);
            now += Span::from_millis(1);
            control.report(rate, 1, u32::from(rng.bernoulli(0.7)), now);
        }
        assert_eq!(allocations(), before, "{control:?}");
    }
}
