//! A model of a cell of saturated stations that all hear each other, one busy period at a time. The model has only the
//! start of each station's AIFS and its backoff counter: it has no frames, medium or state machine.

use airqueue_core::{RandomStream, Seed};
use airqueue_wifi::contention::CountdownRule;

/// Times of the cell, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub slot: i64,
    pub sifs: i64,
    /// The first frame of an exchange, which can collide.
    pub first: i64,
    /// A whole exchange.
    pub exchange: i64,
    /// From the end of a frame to its sender's time-out.
    pub timeout: i64,
    /// By how much EIFS is longer than DIFS.
    pub error_hold: i64,
}

#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub aifsn: i64,
    pub w_min: u64,
    pub w_max: u64,
    pub rule: CountdownRule,
}

struct Station {
    is: Access,
    window: u64,
    failures: u32,
    /// When SIFS and AIFSN slots begin.
    from: i64,
    slots: i64,
    rng: RandomStream,
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Counts {
    pub time_ns: i64,
    pub attempts: u64,
    pub collided: u64,
    pub successes: Vec<u64>,
}

/// `exchanges` busy periods; a packet is given up after `attempts` attempts.
pub fn run(times: Times, stations: &[Access], attempts: u32, exchanges: u64, seed: Seed) -> Counts {
    let station = |(id, &is): (usize, &Access)| {
        let mut rng = seed.stream(&format!("by cycle {id}"));
        let slots = rng.below(is.w_min) as i64;
        Station { is, window: is.w_min, failures: 0, from: 0, slots, rng }
    };
    let mut cell: Vec<Station> = stations.iter().enumerate().map(station).collect();
    let successes = vec![0; stations.len()];
    let mut counts = Counts { time_ns: 0, attempts: 0, collided: 0, successes };
    for _ in 0..exchanges {
        let begin = |s: &Station| s.from + times.sifs + s.is.aifsn * times.slot;
        let due = |s: &Station| begin(s) + s.slots * times.slot;
        let now = cell.iter().map(due).min().expect("stations");
        let on_air: Vec<usize> = (0..cell.len()).filter(|&i| due(&cell[i]) == now).collect();
        for station in cell.iter_mut().filter(|s| due(s) > now && begin(s) <= now) {
            let boundary = i64::from(station.is.rule == CountdownRule::Edca);
            let passed = (now - begin(station)) / times.slot + boundary;
            station.slots = (station.slots - passed).max(0);
        }
        let alone = on_air.len() == 1;
        counts.attempts += on_air.len() as u64;
        for (id, station) in cell.iter_mut().enumerate() {
            let sent = on_air.contains(&id);
            station.from = now
                + match (alone, sent) {
                    (true, _) => times.exchange,
                    (false, true) => times.first + times.timeout,
                    (false, false) => times.first + times.error_hold,
                };
            if sent {
                station.end(alone, attempts);
            }
        }
        match on_air[..] {
            [winner] => counts.successes[winner] += 1,
            _ => counts.collided += on_air.len() as u64,
        }
        counts.time_ns = now;
    }
    counts
}

impl Station {
    fn end(&mut self, success: bool, attempts: u32) {
        self.failures += 1;
        if success || self.failures == attempts {
            self.failures = 0;
            self.window = self.is.w_min;
        } else {
            self.window = (2 * self.window).min(self.is.w_max);
        }
        self.slots = self.rng.below(self.window) as i64;
    }
}
