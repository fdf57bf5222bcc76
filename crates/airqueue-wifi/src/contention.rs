//! Contention of saturated 802.11 queues, slot by slot: a Monte Carlo simulation of the exact process.
//!
//! Between two transmissions only the order of the backoff counters matters. One step of the kernel is therefore one
//! busy period, not one slot. A queue with AIFS offset `D` and counter `b`, both in slots, would transmit `D + b`
//! slots after the end of the smallest AIFS. The queue with the smallest sum transmits; several queues with this sum
//! collide. All other queues keep the rest of their counters.

use airqueue_core::{RandomStream, Seed};
use thiserror::Error;

/// How the counters of the other stations move when a station transmits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountdownRule {
    /// EDCA: a counter moves at every slot boundary after AIFS, also at the boundary where another station begins to
    /// transmit (IEEE 802.11-2020, 10.23.2.4). A busy period costs the others one slot less.
    Edca,
    /// Legacy DCF: a counter moves only after an idle slot (10.3.4.3).
    Freeze,
}

/// One queue that always has a packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contender {
    /// Slots by which the AIFS of this queue is longer than the smallest AIFS.
    pub aifs_slots: u32,
    /// Number of values of the first backoff, which is drawn from 0 to `w_min - 1`: the standard's CWmin plus one.
    pub w_min: u32,
    /// Number of values of the largest window; each collision doubles the window up to this limit.
    pub w_max: u32,
    /// Retransmissions after which a packet is given up; `None`: a packet is never given up.
    pub retries: Option<u32>,
    /// Packets that one success delivers (TXOP); a collision loses only the first packet.
    pub packets: u32,
    /// Queues of one node do not collide in the air: of the queues whose counters end together, the first in the list
    /// transmits, and the others behave as after a collision.
    pub node: u32,
}

/// What cannot be simulated, and what would be right.
#[derive(Debug, Error, PartialEq, Eq)]
#[expect(missing_docs)] // the messages say it
pub enum ContentionError {
    #[error("there is no contender; give at least one")]
    Empty,
    #[error("there are {0} contenders; at most {max} can contend", max = Contention::MOST)]
    TooMany(usize),
    #[error("the first window of contender {index} has {value} values; it must have 1 to {max}", max = Contention::LONGEST)]
    CwMin { index: usize, value: u32 },
    #[error("the largest window of contender {index} has {value} values; it must have those of its first, {low}, to {max}", max = Contention::LONGEST)]
    CwMax { index: usize, value: u32, low: u32 },
    #[error("aifs_slots of contender {index} is {value}; it must be at most {max}", max = Contention::LONGEST)]
    Aifs { index: usize, value: u32 },
}

/// What one contender did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContenderCounters {
    /// Number of transmissions: successes and collisions.
    pub attempts: u64,
    /// Transmissions without a collision.
    pub successes: u64,
    /// Transmissions that collided with the transmission of another station.
    pub collisions: u64,
    /// Number of times that a queue of higher priority in the node transmitted instead.
    pub internal_collisions: u64,
    /// Packets given up after the last retry.
    pub drops: u64,
    /// Packets delivered.
    pub packets: u64,
}

/// What happened since the counters were reset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Idle slots between the end of the smallest AIFS (offset 0) and each transmission.
    pub idle_slots: u64,
    /// Busy periods, successful or not.
    pub transmissions: u64,
    /// Busy periods in which several stations transmitted.
    pub collided: u64,
    /// Counters of each contender, in the order of the contenders.
    pub contenders: Vec<ContenderCounters>,
}

/// A contender's state without the backoff counter.
#[derive(Clone, Debug)]
struct Station {
    window: u32,
    w_min: u32,
    w_max: u32,
    failures: u32,
    retries: Option<u32>,
    packets: u64,
    /// Index in `went`.
    node: usize,
    rng: RandomStream,
}

/// The process, which starts with a fresh packet at every contender.
#[derive(Clone, Debug)]
pub struct Contention {
    rule: CountdownRule,
    /// Slots after the smallest AIFS at which each contender would transmit: offset + counter.
    due: Vec<u32>,
    offset: Vec<u32>,
    stations: Vec<Station>,
    /// Contenders whose counters ended together; kept to allocate only once.
    ended: Vec<usize>,
    /// Busy periods in which several counters ended, and for each node the last of these in which the node
    /// transmitted.
    period: u64,
    went: Vec<u64>,
    counts: Counts,
}

impl Contention {
    /// The longest window and the longest AIFS offset, in slots: the sum of the two fits.
    pub const LONGEST: u32 = 1 << 30;
    /// The most contenders.
    pub const MOST: usize = 1 << 16;

    /// A process whose random numbers follow from `seed`; contender i has the random stream `contention/backoff/i`.
    pub fn new(
        contenders: &[Contender],
        rule: CountdownRule,
        seed: Seed,
    ) -> Result<Contention, ContentionError> {
        match contenders.len() {
            0 => return Err(ContentionError::Empty),
            n if n > Self::MOST => return Err(ContentionError::TooMany(n)),
            _ => {}
        }
        for (index, contender) in contenders.iter().enumerate() {
            check(index, contender)?;
        }
        let mut nodes: Vec<u32> = contenders.iter().map(|c| c.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut stations: Vec<Station> = contenders
            .iter()
            .enumerate()
            .map(|(i, c)| Station {
                window: c.w_min,
                w_min: c.w_min,
                w_max: c.w_max,
                failures: 0,
                retries: c.retries,
                packets: u64::from(c.packets),
                node: nodes.partition_point(|&n| n < c.node),
                rng: seed.stream(&format!("contention/backoff/{i}")),
            })
            .collect();
        let offset: Vec<u32> = contenders.iter().map(|c| c.aifs_slots).collect();
        let due = stations.iter_mut().zip(&offset).map(|(s, d)| d + s.backoff()).collect();
        let counts = Counts {
            contenders: vec![ContenderCounters::default(); contenders.len()],
            ..Counts::default()
        };
        let ended = Vec::with_capacity(contenders.len());
        let (period, went) = (0, vec![0; nodes.len()]);
        Ok(Contention { rule, due, offset, stations, ended, period, went, counts })
    }

    /// Simulates `transmissions` more busy periods. Allocates nothing.
    pub fn run(&mut self, transmissions: u64) {
        for _ in 0..transmissions {
            self.step();
        }
    }

    /// Counters since the last call (or the start), which are then reset: one batch.
    pub fn take_counts(&mut self) -> Counts {
        let empty = Counts {
            contenders: vec![ContenderCounters::default(); self.stations.len()],
            ..Counts::default()
        };
        std::mem::replace(&mut self.counts, empty)
    }

    /// One busy period and the idle slots before it.
    fn step(&mut self) {
        let now = self.due.iter().fold(u32::MAX, |least, &due| least.min(due));
        // Slot boundaries at which counters moved after their AIFS; the last of them moves counters only under EDCA.
        let moved = now + u32::from(self.rule == CountdownRule::Edca);
        self.ended.clear();
        for (i, (due, &offset)) in self.due.iter_mut().zip(&self.offset).enumerate() {
            if *due == now {
                self.ended.push(i);
            } else {
                *due -= moved.saturating_sub(offset);
            }
        }
        self.counts.idle_slots += u64::from(now);
        self.counts.transmissions += 1;
        match self.ended[..] {
            [alone] => self.succeed(alone),
            _ => self.several(),
        }
    }

    /// Separates internal collisions from collisions in the air.
    fn several(&mut self) {
        let node_of = |i: usize| self.stations[i].node;
        let collided = self.ended.iter().any(|&i| node_of(i) != node_of(self.ended[0]));
        self.counts.collided += u64::from(collided);
        self.period += 1;
        for at in 0..self.ended.len() {
            // In the order of priority: a node transmits with the first of its queues.
            let i = self.ended[at];
            let went = std::mem::replace(&mut self.went[self.stations[i].node], self.period);
            if went == self.period {
                self.counts.contenders[i].internal_collisions += 1;
                self.fail(i);
            } else if collided {
                self.counts.contenders[i].attempts += 1;
                self.counts.contenders[i].collisions += 1;
                self.fail(i);
            } else {
                self.succeed(i);
            }
        }
    }

    fn succeed(&mut self, i: usize) {
        let (station, counters) = (&mut self.stations[i], &mut self.counts.contenders[i]);
        counters.attempts += 1;
        counters.successes += 1;
        counters.packets += station.packets;
        station.reset();
        self.due[i] = self.offset[i] + station.backoff();
    }

    /// After a collision: widens the window or gives the packet up.
    fn fail(&mut self, i: usize) {
        let station = &mut self.stations[i];
        station.failures = station.failures.saturating_add(1);
        if station.retries.is_some_and(|retries| station.failures > retries) {
            self.counts.contenders[i].drops += 1;
            station.reset();
        } else {
            // Both are at most LONGEST, so that the doubled window fits.
            station.window = (2 * station.window).min(station.w_max);
        }
        self.due[i] = self.offset[i] + station.backoff();
    }
}

impl Station {
    fn backoff(&mut self) -> u32 {
        self.rng.below(u64::from(self.window)) as u32
    }

    fn reset(&mut self) {
        self.window = self.w_min;
        self.failures = 0;
    }
}

fn check(index: usize, c: &Contender) -> Result<(), ContentionError> {
    let longest = Contention::LONGEST;
    if !(1..=longest).contains(&c.w_min) {
        return Err(ContentionError::CwMin { index, value: c.w_min });
    }
    if !(c.w_min..=longest).contains(&c.w_max) {
        return Err(ContentionError::CwMax { index, value: c.w_max, low: c.w_min });
    }
    if c.aifs_slots > longest {
        return Err(ContentionError::Aifs { index, value: c.aifs_slots });
    }
    Ok(())
}
