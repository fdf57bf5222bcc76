//! Speed of the contention kernel, and the gain from stepping by busy periods.
//!
//! `cargo bench -p airqueue-wifi`; the items are transmissions.

use airqueue_core::Seed;
use airqueue_wifi::contention::{Contender, Contention, CountdownRule};
use divan::counter::ItemsCount;

#[path = "../tests/wifi/slot_by_slot/mod.rs"]
mod slot_by_slot;

fn main() {
    divan::main();
}

const TRANSMISSIONS: u64 = 100_000;
const STATIONS: [usize; 4] = [2, 10, 50, 200];

fn stations(n: usize) -> Vec<Contender> {
    let one = |node| Contender {
        aifs_slots: 0,
        w_min: 32,
        w_max: 1024,
        retries: Some(7),
        packets: 1,
        node,
    };
    (0..n as u32).map(one).collect()
}

#[divan::bench(args = STATIONS)]
fn kernel(bencher: divan::Bencher, n: usize) {
    let mut process = Contention::new(&stations(n), CountdownRule::Edca, Seed(1)).expect("valid");
    bencher.counter(ItemsCount::new(TRANSMISSIONS)).bench_local(|| process.run(TRANSMISSIONS));
}

/// The reference of the tests, which examines every counter in every slot.
#[divan::bench(args = STATIONS)]
fn slot_by_slot_reference(bencher: divan::Bencher, n: usize) {
    let mut process = slot_by_slot::Slots::new(&stations(n), CountdownRule::Edca, Seed(1));
    bencher.counter(ItemsCount::new(TRANSMISSIONS)).bench_local(|| process.run(TRANSMISSIONS));
}
