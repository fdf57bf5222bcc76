//! A slow, obvious implementation of the contention process: every slot boundary is a step, and every queue has only
//! the idle time of the medium and its own counter.

use airqueue_core::{RandomStream, Seed};
use airqueue_wifi::contention::{Contender, ContenderCounters, CountdownRule, Counts};

struct Queue {
    is: Contender,
    counter: u32,
    retries_so_far: u32,
    packet_window: u32,
}

pub struct Slots {
    queues: Vec<Queue>,
    rule: CountdownRule,
    /// Idle slots since the smallest AIFS after the last transmission.
    idle: u32,
    rng: RandomStream,
    pub counts: Counts,
}

impl Slots {
    pub fn new(contenders: &[Contender], rule: CountdownRule, seed: Seed) -> Slots {
        let mut rng = seed.stream("slot by slot");
        let queues: Vec<Queue> = contenders
            .iter()
            .map(|&is| Queue {
                is,
                counter: rng.below(u64::from(is.w_min)) as u32,
                retries_so_far: 0,
                packet_window: is.w_min,
            })
            .collect();
        let contenders = vec![ContenderCounters::default(); queues.len()];
        Slots { queues, rule, idle: 0, rng, counts: Counts { contenders, ..Counts::default() } }
    }

    pub fn run(&mut self, transmissions: u64) {
        let end = self.counts.transmissions + transmissions;
        while self.counts.transmissions < end {
            self.boundary();
        }
    }

    /// One slot boundary: queues whose AIFS is over and whose counter is zero transmit; if there are none, the slot is
    /// idle and every counter whose AIFS is over counts down.
    fn boundary(&mut self) {
        let may_count: Vec<bool> =
            self.queues.iter().map(|q| q.is.aifs_slots <= self.idle).collect();
        let ready: Vec<usize> = (0..self.queues.len())
            .filter(|&i| may_count[i] && self.queues[i].counter == 0)
            .collect();
        if ready.is_empty() {
            for (queue, &counts) in self.queues.iter_mut().zip(&may_count) {
                queue.counter -= u32::from(counts);
            }
            self.counts.idle_slots += 1;
            self.idle += 1;
            return;
        }
        if self.rule == CountdownRule::Edca {
            for (queue, &counts) in self.queues.iter_mut().zip(&may_count) {
                if counts && queue.counter > 0 {
                    queue.counter -= 1;
                }
            }
        }
        self.transmit(&ready);
        self.idle = 0;
    }

    fn transmit(&mut self, ready: &[usize]) {
        self.counts.transmissions += 1;
        let mut on_air: Vec<usize> = Vec::new();
        for &i in ready {
            let node = self.queues[i].is.node;
            if on_air.iter().any(|&other| self.queues[other].is.node == node) {
                self.counts.contenders[i].internal_collisions += 1;
                self.retry(i);
            } else {
                on_air.push(i);
            }
        }
        for &i in &on_air {
            self.counts.contenders[i].attempts += 1;
            if on_air.len() == 1 {
                self.counts.contenders[i].successes += 1;
                self.counts.contenders[i].packets += u64::from(self.queues[i].is.packets);
                self.next_packet(i);
            } else {
                self.counts.contenders[i].collisions += 1;
                self.retry(i);
            }
        }
        if on_air.len() > 1 {
            self.counts.collided += 1;
        }
    }

    fn retry(&mut self, i: usize) {
        let queue = &mut self.queues[i];
        if Some(queue.retries_so_far) == queue.is.retries {
            self.counts.contenders[i].drops += 1;
            self.next_packet(i);
            return;
        }
        queue.retries_so_far += 1;
        queue.packet_window *= 2;
        if queue.packet_window > queue.is.w_max {
            queue.packet_window = queue.is.w_max;
        }
        self.draw(i);
    }

    fn next_packet(&mut self, i: usize) {
        self.queues[i].retries_so_far = 0;
        self.queues[i].packet_window = self.queues[i].is.w_min;
        self.draw(i);
    }

    fn draw(&mut self, i: usize) {
        self.queues[i].counter = self.rng.below(u64::from(self.queues[i].packet_window)) as u32;
    }
}
