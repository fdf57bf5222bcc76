//! Our Minstrel beside the kernel's, on the same saturated links: the kernel's own code, compiled into a program
//! (`validation/minstrel`, with this link in C), and its goodput in each second, as the mean of 20 runs.
//!
//! Stated before the first comparison: once a rate is found, ours and the kernel's goodput differ by 10 % at most. In
//! the first second after the signal has changed they differ by 25 % at most. Only the links of [`STEADY`] and a fall and
//! a rise by 22 dB were compared while ours was written.

use airqueue_core::{RandomStream, Seed, Span, Time};
use airqueue_wifi::phy::{
    Band, Capability, Conventions, GuardInterval, Phy, RateIndex, Width, ht, ofdm,
};
use airqueue_wifi::rate_control::{Minstrel, RateControl};

const KERNEL: &str = include_str!("../data/minstrel_kernel.csv");
const MPDU_BYTES: u32 = 1536;
const RUNS: u64 = 20;
const STEADY: [u32; 7] = [6, 10, 14, 18, 22, 26, 32];
/// The MPDUs of an A-MPDU, and the signal at which half of them arrive, in dB, by streams and scheme: of 802.11n, and of
/// 802.11a, whose links begin with `a` and whose frames have one MPDU.
const MPDUS: u32 = 16;
const HALF_DB: [[f64; 8]; 2] = [
    [5.0, 8.0, 11.0, 14.0, 18.0, 22.0, 24.0, 26.0],
    [8.0, 11.0, 14.0, 17.0, 21.0, 25.0, 27.0, 29.0],
];
const HALF_DB_OF_A: [f64; 8] = [3.0, 5.0, 6.0, 9.0, 12.0, 16.0, 20.0, 22.0];

/// A mean in Mb/s, and its standard error.
#[derive(Clone, Copy)]
struct Goodput {
    mean: f64,
    error: f64,
}

/// The kernel's goodput in each second of a link.
fn kernel(link: &str) -> Vec<Goodput> {
    let rows = KERNEL.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let of_link = rows.filter(|row| row[0] == link);
    let goodput = |row: Vec<&str>| {
        let [mean, error] = [row[2], row[3]].map(|number| number.parse().unwrap());
        Goodput { mean, error }
    };
    of_link.map(goodput).collect()
}

struct Link {
    phy: Phy,
    mpdus: u32,
    control: RateControl,
    rng: RandomStream,
    now: Time,
}

impl Link {
    fn new(aggregates: bool, seed: u64) -> Link {
        let most = Capability { width: Width::MHZ_20, streams: 2 };
        let phy = match aggregates {
            true => ht(Band::Ghz5, most, Conventions::STANDARD).unwrap(),
            false => ofdm(Conventions::STANDARD),
        };
        let chosen = |&rate: &RateIndex| match phy.mcs(rate) {
            Some(mcs) => mcs.guard == GuardInterval::Ns800,
            None => !aggregates,
        };
        let rates: Vec<_> = phy.rates().map(|(rate, _)| rate).filter(chosen).collect();
        assert_eq!(rates.len(), if aggregates { 16 } else { 8 });
        let minstrel = Minstrel::new(&phy, &rates, Seed(seed).stream("rate"));
        Link {
            phy,
            mpdus: if aggregates { MPDUS } else { 1 },
            control: RateControl::Minstrel(Box::new(minstrel)),
            rng: Seed(seed).stream("link"),
            now: Time::ZERO,
        }
    }

    fn half_db(&self, rate: RateIndex) -> f64 {
        match self.phy.mcs(rate) {
            Some(mcs) => HALF_DB[usize::from(mcs.streams) - 1][usize::from(mcs.index)],
            None => {
                HALF_DB_OF_A[self.phy.rates().position(|(of_layer, _)| of_layer == rate).unwrap()]
            }
        }
    }

    /// Goodput during a second, in Mb/s. Frames without a response are followed by another try.
    fn second(&mut self, snr_db: f64) -> f64 {
        let ends = self.now + Span::from_secs(1);
        let (mut arrived, mut attempt) = (0, 0);
        while self.now < ends {
            let rate = self.control.choose(attempt);
            let share = 1.0 / (1.0 + (self.half_db(rate) - snr_db).exp());
            let mpdus = if self.control.sends_one() { 1 } else { self.mpdus };
            let acknowledged = (0..mpdus).filter(|_| self.rng.bernoulli(share)).count() as u32;
            let bits = f64::from(mpdus * MPDU_BYTES * 8);
            let time = 200e-6 + bits / self.phy.rate(rate).as_bps() as f64;
            self.now += Span::from_secs_f64(time);
            self.control.report(rate, mpdus, acknowledged, self.now);
            arrived += acknowledged;
            attempt = if acknowledged > 0 { 0 } else { attempt + 1 };
        }
        f64::from(arrived * MPDU_BYTES * 8) / 1e6
    }
}

/// Our goodput in each second of a link such as `32:10 10:10`.
fn ours(link: &str) -> Vec<Goodput> {
    let of_a = link.strip_prefix("a ");
    let steps = of_a.unwrap_or(link).split(' ').flat_map(|step| {
        let (snr_db, seconds) = step.split_once(':').unwrap();
        let snr_db: f64 = snr_db.parse().unwrap();
        std::iter::repeat_n(snr_db, seconds.parse().unwrap())
    });
    let steps: Vec<f64> = steps.collect();
    let run = |seed| -> Vec<f64> {
        let mut link = Link::new(of_a.is_none(), seed);
        steps.iter().map(|&snr_db| link.second(snr_db)).collect()
    };
    let runs: Vec<_> = (1..=RUNS).map(run).collect();
    (0..steps.len()).map(|second| of_runs(runs.iter().map(|run| run[second]))).collect()
}

fn of_runs(goodputs: impl Iterator<Item = f64> + Clone) -> Goodput {
    let mean = goodputs.clone().sum::<f64>() / RUNS as f64;
    let squares: f64 = goodputs.map(|goodput| (goodput - mean).powi(2)).sum();
    Goodput { mean, error: (squares / (RUNS * (RUNS - 1)) as f64).sqrt() }
}

/// Mean of several seconds; their errors count as dependent.
fn over(goodputs: &[Goodput]) -> Goodput {
    let mean =
        |of: fn(&Goodput) -> f64| goodputs.iter().map(of).sum::<f64>() / goodputs.len() as f64;
    Goodput { mean: mean(|goodput| goodput.mean), error: mean(|goodput| goodput.error) }
}

/// Ours is the kernel's within a tolerance, also at the unfavourable end of the difference's interval of two standard
/// errors.
fn assert_alike(what: &str, ours: Goodput, kernel: Goodput, tolerance: f64) {
    let ratio = ours.mean / kernel.mean;
    let error = ratio * (ours.error / ours.mean).hypot(kernel.error / kernel.mean);
    println!("{what}: {:.2}, kernel {:.2} Mb/s, {ratio:.3} ± {error:.3}", ours.mean, kernel.mean);
    assert!((ratio - 1.0).abs() + 2.0 * error < tolerance, "{what}: {ratio} ± {error}");
}

/// Compares the seconds from the third on, as long as the signal stays.
fn assert_steady(link: &str) {
    let [kernel, ours] = [kernel(link), ours(link)].map(|goodputs| over(&goodputs[2..9]));
    assert_alike(link, ours, kernel, 0.1);
}

/// Compares the first and the fourth second of each step of a link but the first, whose steps have `seconds` seconds.
fn assert_follows(link: &str, seconds: usize) {
    let (kernel, ours) = (kernel(link), ours(link));
    for change in (seconds..kernel.len()).step_by(seconds) {
        for (after, tolerance) in [(0, 0.25), (3, 0.1)] {
            let second = change + after;
            let what = format!("{link}, second {second}");
            assert_alike(&what, ours[second], kernel[second], tolerance);
        }
    }
}

#[test]
fn a_steady_link_has_the_goodput_of_the_kernels() {
    for snr_db in STEADY {
        assert_steady(&format!("{snr_db}:10"));
    }
}

#[test]
fn a_fall_and_a_rise_by_22_db_are_followed_as_by_the_kernels() {
    assert_follows("32:10 10:10 32:10", 10);
}

#[test]
fn changes_by_12_db_are_followed_as_by_the_kernels() {
    assert_follows("26:10 14:10 26:10", 10);
    assert_follows("18:6 30:6", 6);
}

#[test]
fn a_link_of_802_11a_has_the_goodput_of_the_kernels() {
    for snr_db in [6, 12, 18] {
        assert_steady(&format!("a {snr_db}:10"));
    }
    assert_follows("a 26:10 8:10 26:10", 10);
}
