//! Our Minstrel beside the kernel's, on the same links: the kernel's own code, compiled into a program
//! (`validation/minstrel`, with this link in C), and its goodput in each second, as the mean of 20 runs.
//!
//! Stated before the first comparison: once a rate is found, ours and the kernel's goodput differ by 10 % at most. In
//! the first second after the signal has changed they differ by 25 % at most.

use airqueue_core::{RandomStream, Seed, Span, Time};
use airqueue_wifi::phy::{
    Band, Capability, Conventions, GuardInterval, Phy, Preamble, RateIndex, Width, dsss, ht, ofdm,
};
use airqueue_wifi::rate_control::{Minstrel, RateControl};

const KERNEL: &str = include_str!("../data/minstrel_kernel.csv");
const MPDU_BYTES: u32 = 1536;
const RUNS: u64 = 40;
const SECOND: Span = Span::from_secs(1);
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

/// A saturated link of 802.11n, or of 802.11a or 802.11b if its name begins so. With `s` it is a link of 802.11n with a packet
/// of its own now and then.
struct Link {
    phy: Phy,
    /// Each rate with the signal at which half of the MPDUs arrive.
    rates: Vec<(RateIndex, f64)>,
    /// MPDUs of a frame, and the pause before the next one.
    mpdus: u32,
    pause: Span,
    control: RateControl,
    rng: RandomStream,
    now: Time,
}

/// The layer of a link, the signal for half of the MPDUs at each of its rates, the MPDUs of a frame and the pause after a frame.
fn layer(link: &str) -> (Phy, Vec<f64>, u32, Span) {
    let most = Capability { width: Width::MHZ_20, streams: 2 };
    let n = ht(Band::Ghz5, most, Conventions::STANDARD).unwrap();
    match &link[..1] {
        "a" => (ofdm(Conventions::STANDARD), HALF_DB_OF_A.to_vec(), 1, Span::ZERO),
        "b" => (dsss(Preamble::Long, Conventions::STANDARD), HALF_DB_OF_B.to_vec(), 1, Span::ZERO),
        "s" => (n, HALF_DB.concat(), 1, Span::from_millis(47)),
        _ => (n, HALF_DB.concat(), 16, Span::ZERO),
    }
}

impl Link {
    fn new(name: &str, seed: u64) -> Link {
        let (phy, half_db, mpdus, pause) = layer(name);
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
            pause,
            control: RateControl::Minstrel(Box::new(minstrel)),
            rng: Seed(seed).stream("link"),
            now: Time::ZERO,
        }
    }

    /// Goodput in each second, in Mb/s, under signals in dB that last for times in seconds. Frames without a response are
    /// followed by another try. With pauses the goodput is that of the time on the air.
    fn run(&mut self, steps: &[(f64, f64)]) -> Vec<f64> {
        let mut seconds = Vec::new();
        let (mut ends, mut second_ends) = (Time::ZERO, Time::ZERO + SECOND);
        let (mut bits, mut on_air, mut attempt) = (0.0, Span::ZERO, 0);
        for &(snr_db, lasts) in steps {
            ends += Span::from_secs_f64(lasts);
            while self.now < ends {
                let begins = self.now;
                let acknowledged = self.try_once(snr_db, attempt);
                bits += f64::from(acknowledged * MPDU_BYTES * 8);
                on_air = on_air + (self.now - begins);
                attempt = if acknowledged > 0 { 0 } else { attempt + 1 };
                if acknowledged > 0 {
                    self.now += self.pause;
                }
                if self.now >= second_ends {
                    let time = if self.pause == Span::ZERO { SECOND } else { on_air };
                    seconds.push(bits / time.as_secs_f64() / 1e6);
                    (bits, on_air) = (0.0, Span::ZERO);
                    second_ends += SECOND;
                }
            }
        }
        seconds
    }

    /// A try of a frame: the number of MPDUs that arrive.
    fn try_once(&mut self, snr_db: f64, attempt: u32) -> u32 {
        let rate = self.control.choose(attempt);
        let (_, half_db) = self.rates.iter().find(|(of_link, _)| *of_link == rate).unwrap();
        let share = 1.0 / (1.0 + (half_db - snr_db).exp());
        let mpdus = if self.control.sends_one() { 1 } else { self.mpdus };
        let acknowledged = (0..mpdus).filter(|_| self.rng.bernoulli(share)).count() as u32;
        let bits = f64::from(mpdus * MPDU_BYTES * 8);
        let time = 200e-6 + bits / self.phy.rate(rate).as_bps() as f64;
        self.now += Span::from_secs_f64(time);
        self.control.report(rate, mpdus, acknowledged, self.now);
        acknowledged
    }
}

/// Our goodput in each second of a link such as `32:10 10:10`, `a 26:10` or `26:0.03 16:0.03 x166`.
fn ours(name: &str) -> Vec<Goodput> {
    let (once, times) = name.split_once(" x").unwrap_or((name, "1"));
    let steps = once.split(' ').filter_map(|step| step.split_once(':'));
    let steps: Vec<(f64, f64)> =
        steps.map(|step| (step.0.parse().unwrap(), step.1.parse().unwrap())).collect();
    let steps = steps.repeat(times.parse().unwrap());
    let runs: Vec<_> = (1..=RUNS).map(|seed| Link::new(name, seed).run(&steps)).collect();
    let seconds = runs.iter().map(Vec::len).min().unwrap();
    (0..seconds).map(|second| of_runs(runs.iter().map(|run| run[second]))).collect()
}

fn of_runs(goodputs: impl Iterator<Item = f64> + Clone) -> Goodput {
    let mean = goodputs.clone().sum::<f64>() / RUNS as f64;
    let squares: f64 = goodputs.map(|goodput| (goodput - mean).powi(2)).sum();
    Goodput { mean, error: (squares / (RUNS * (RUNS - 1)) as f64).sqrt() }
}

/// Mean of several seconds.
fn over(goodputs: &[Goodput]) -> Goodput {
    let count = goodputs.len() as f64;
    let mean = goodputs.iter().map(|goodput| goodput.mean).sum::<f64>() / count;
    let squares: f64 = goodputs.iter().map(|goodput| goodput.error.powi(2)).sum();
    Goodput { mean, error: squares.sqrt() / count }
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

/// Faster changes than an interval of the statistics.
#[test]
fn a_fast_change_costs_as_much_as_with_the_kernels() {
    assert_steady("26:0.03 16:0.03 x166");
    assert_steady("32:0.03 10:0.03 x166");
}

/// Nearly each packet is a sample.
#[test]
fn packets_now_and_then_take_as_long_as_with_the_kernels() {
    assert_steady("s 10:10");
    assert_steady("s 22:10");
}
