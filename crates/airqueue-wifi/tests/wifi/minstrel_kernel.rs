//! Our Minstrel beside the kernel's, on the same saturated links: the kernel's own code, compiled into a program
//! (`validation/minstrel`, with this link in C), and its goodput in each second, as the mean of 20 runs.
//!
//! Stated before the first comparison: once a rate is found, ours and the kernel's goodput differ by 10 % at most. In
//! the first second after the signal has changed they differ by 25 % at most. Only the links of [`STEADY`] and a fall and
//! a rise by 22 dB were compared while ours was written.

use airqueue_core::{RandomStream, Seed, Span, Time};
use airqueue_wifi::phy::{
    Band, Capability, Conventions, GuardInterval, Phy, Preamble, RateIndex, Width, dsss, ht, ofdm,
};
use airqueue_wifi::rate_control::{Minstrel, RateControl};

const KERNEL: &str = include_str!("../data/minstrel_kernel.csv");
const MPDU_BYTES: u32 = 1536;
const RUNS: u64 = 20;
const STEADY: [u32; 7] = [6, 10, 14, 18, 22, 26, 32];
/// The signal at which half of the MPDUs arrive, in dB: of 802.11n by streams and scheme, of 802.11a and 802.11b by rate.
const HALF_DB: [[f64; 8]; 2] = [
    [5.0, 8.0, 11.0, 14.0, 18.0, 22.0, 24.0, 26.0],
    [8.0, 11.0, 14.0, 17.0, 21.0, 25.0, 27.0, 29.0],
];
const HALF_DB_OF_A: [f64; 8] = [3.0, 5.0, 6.0, 9.0, 12.0, 16.0, 20.0, 22.0];
const HALF_DB_OF_B: [f64; 4] = [1.0, 3.0, 6.0, 9.0];

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

/// A saturated link, of 802.11n, or of 802.11a or 802.11b if its name begins so.
struct Link {
    phy: Phy,
    /// Each rate with the signal at which half of the MPDUs arrive.
    rates: Vec<(RateIndex, f64)>,
    /// MPDUs of a frame.
    mpdus: u32,
    control: RateControl,
    rng: RandomStream,
    now: Time,
}

/// The layer of a link, the signal for half of the MPDUs at each of its rates, and the MPDUs of a frame.
fn layer(link: &str) -> (Phy, Vec<f64>, u32) {
    let most = Capability { width: Width::MHZ_20, streams: 2 };
    match &link[..1] {
        "a" => (ofdm(Conventions::STANDARD), HALF_DB_OF_A.to_vec(), 1),
        "b" => (dsss(Preamble::Long, Conventions::STANDARD), HALF_DB_OF_B.to_vec(), 1),
        _ => (ht(Band::Ghz5, most, Conventions::STANDARD).unwrap(), HALF_DB.concat(), 16),
    }
}

impl Link {
    fn new(name: &str, seed: u64) -> Link {
        let (phy, half_db, mpdus) = layer(name);
        let chosen = |&rate: &RateIndex| match phy.mcs(rate) {
            Some(mcs) => mcs.guard == GuardInterval::Ns800,
            None => phy.newest_format().is_none(),
        };
        let rates: Vec<_> = phy.rates().map(|(rate, _)| rate).filter(chosen).collect();
        assert_eq!(rates.len(), half_db.len());
        let minstrel = Minstrel::new(&phy, &rates, Seed(seed).stream("rate"));
        Link {
            phy,
            rates: rates.into_iter().zip(half_db).collect(),
            mpdus,
            control: RateControl::Minstrel(Box::new(minstrel)),
            rng: Seed(seed).stream("link"),
            now: Time::ZERO,
        }
    }

    /// Goodput during a second, in Mb/s. Frames without a response are followed by another try.
    fn second(&mut self, snr_db: f64) -> f64 {
        let ends = self.now + Span::from_secs(1);
        let (mut arrived, mut attempt) = (0, 0);
        while self.now < ends {
            let rate = self.control.choose(attempt);
            let (_, half_db) = self.rates.iter().find(|(of_link, _)| *of_link == rate).unwrap();
            let share = 1.0 / (1.0 + (half_db - snr_db).exp());
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

/// Our goodput in each second of a link such as `32:10 10:10` or `a 26:10`.
fn ours(name: &str) -> Vec<Goodput> {
    let steps = name.split(' ').filter_map(|step| step.split_once(':')).flat_map(|step| {
        let (snr_db, seconds) = (step.0.parse().unwrap(), step.1.parse().unwrap());
        std::iter::repeat_n(snr_db, seconds)
    });
    let steps: Vec<f64> = steps.collect();
    let run = |seed| -> Vec<f64> {
        let mut link = Link::new(name, seed);
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
fn links_of_802_11a_have_the_goodput_of_the_kernels() {
    for snr_db in [6, 12, 18] {
        assert_steady(&format!("a {snr_db}:10"));
    }
    assert_follows("a 26:10 8:10 26:10", 10);
}

#[test]
fn links_of_802_11b_have_the_goodput_of_the_kernels() {
    for snr_db in [3, 8] {
        assert_steady(&format!("b {snr_db}:10"));
    }
    assert_follows("b 14:10 3:10 14:10", 10);
}
