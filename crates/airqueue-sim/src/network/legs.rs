//! The ways of packets.

use super::spec::{FlowSpec, Hop, NetworkError, NetworkSpec, Traffic};
use crate::wlan::{Delivered, FlowTally};
use airqueue_core::{Ecn, Packet, Time};
use std::iter::once;
use std::ops::Range;

/// A hop of a leg. Queues know it as a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) hop: Hop,
    pub(super) leg: u32,
    /// It is its way's first.
    pub(super) first: bool,
    /// It is its way's last.
    pub(super) last: bool,
}

/// What a leg's packets are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// They only have to arrive.
    Sink,
    /// They carry segments to the receiving end of a connection.
    Receiver(u32),
    /// The same to its sending end.
    Sender(u32),
    /// Whoever offered them wants to know what becomes of them.
    Outside,
}

/// From one end to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    /// The first step of the way that packets take now; the others follow it.
    pub(super) first: u32,
    pub(super) steps: u32,
    /// The first step of all its ways, which follow each other, and the one behind them.
    all: (u32, u32),
    pub(super) end: End,
    /// What its packets say of congestion when they set out.
    pub(super) ecn: Ecn,
}

/// All of a network's.
#[derive(Debug, Default)]
pub(super) struct Legs {
    pub(super) steps: Vec<Step>,
    pub(super) all: Vec<Leg>,
    /// Which step each of the radio's flows is.
    pub(super) of_radio: Vec<u32>,
    /// What happened on steps through wires; the radio keeps books on the others.
    books: Vec<WireBooks>,
    /// Where the books of a step are.
    place: Vec<u32>,
}

/// What became of the packets of a step through a wire.
#[derive(Clone, Debug, Default)]
pub(super) struct WireBooks {
    pub(super) tally: FlowTally,
    pub(super) under_way: u64,
    /// What had come through when counting began.
    before: Delivered,
}

impl WireBooks {
    /// What has come through since time zero.
    pub(super) fn delivered_ever(&self) -> Delivered {
        self.before.plus(&self.tally)
    }
}

const NONE: u32 = u32::MAX;

impl Legs {
    pub(super) fn new(spec: &NetworkSpec) -> Result<Legs, NetworkError> {
        let of_radio = vec![NONE; spec.wlan.flows.len()];
        let mut legs = Legs { of_radio, ..Legs::default() };
        let mut connections = 0..;
        for flow in &spec.flows {
            match &flow.traffic {
                Traffic::Tcp(tcp) => {
                    let connection = connections.next().unwrap_or(NONE);
                    legs.add(spec, flow, flow.ways(), End::Receiver(connection), Ecn::NotEct)?;
                    let back = flow.others.iter().map(|way| &*way.back);
                    let back = once(&*tcp.back).chain(back);
                    legs.add(spec, flow, back, End::Sender(connection), Ecn::NotEct)?;
                }
                Traffic::Radio => legs.add(spec, flow, flow.ways(), End::Sink, Ecn::NotEct)?,
                &Traffic::Source { ecn, .. } => {
                    legs.add(spec, flow, flow.ways(), End::Sink, ecn)?;
                }
                &Traffic::External { ecn } => {
                    legs.add(spec, flow, flow.ways(), End::Outside, ecn)?;
                }
            }
        }
        Ok(legs)
    }

    /// A leg with its ways, the first of which packets take until they are told to take another.
    fn add<'a>(
        &mut self,
        spec: &NetworkSpec,
        flow: &FlowSpec,
        ways: impl Iterator<Item = &'a [Hop]>,
        end: End,
        ecn: Ecn,
    ) -> Result<(), NetworkError> {
        let (leg, first) = (self.all.len() as u32, self.steps.len() as u32);
        for way in ways {
            self.add_way(spec, flow, way, leg)?;
        }
        let all = (first, self.steps.len() as u32);
        self.all.push(Leg { first, steps: 0, all, end, ecn });
        self.take_way(leg, 0);
        Ok(())
    }

    fn add_way(
        &mut self,
        spec: &NetworkSpec,
        flow: &FlowSpec,
        route: &[Hop],
        leg: u32,
    ) -> Result<(), NetworkError> {
        let name = || flow.name.clone();
        let over_air = match route.first() {
            None => return Err(NetworkError::NoWay { flow: name() }),
            Some(first) => matches!(first, Hop::Radio(_)),
        };
        if flow.traffic == Traffic::Radio && !over_air {
            return Err(NetworkError::First { flow: name() });
        }
        for (at, &hop) in route.iter().enumerate() {
            let free = match hop {
                Hop::Radio(radio) => self.of_radio.get(radio) == Some(&NONE),
                Hop::Wire(wire) => wire < spec.wires.len(),
            };
            if !free {
                return Err(NetworkError::Hop { flow: name(), hop });
            }
            if let Hop::Radio(radio) = hop {
                self.of_radio[radio] = self.steps.len() as u32;
                self.place.push(NONE);
            } else {
                self.place.push(self.books.len() as u32);
                self.books.push(WireBooks::default());
            }
            self.steps.push(Step { hop, leg, first: at == 0, last: at + 1 == route.len() });
        }
        Ok(())
    }

    /// The ways of a leg, each by its steps.
    pub(super) fn ways(&self, leg: u32) -> impl Iterator<Item = Range<u32>> + '_ {
        let (mut next, end) = self.all[leg as usize].all;
        std::iter::from_fn(move || {
            let first = next;
            let rest = self.steps[first as usize..end as usize].iter();
            next = first + rest.take_while(|step| !step.last).count() as u32 + 1;
            (first < end).then_some(first..next)
        })
    }

    /// Which of its ways the packets of a leg take.
    pub(super) fn way_of(&self, leg: u32) -> usize {
        let first = self.all[leg as usize].first;
        self.ways(leg).take_while(|way| way.start < first).count()
    }

    /// The radio's flows that are hops of the way that the packets of a leg take.
    pub(super) fn radio_hops(&self, leg: u32) -> impl Iterator<Item = usize> + '_ {
        let Leg { first, steps, .. } = self.all[leg as usize];
        self.steps[first as usize..][..steps as usize].iter().filter_map(|step| step.hop.radio())
    }

    /// From now on the packets of a leg set out on this one of its ways. Those that have set out go on as they began.
    ///
    /// # Panics
    ///
    /// If it has no such way.
    pub(super) fn take_way(&mut self, leg: u32, way: usize) {
        let steps = self.ways(leg).nth(way).expect("the leg has the way");
        let of = &mut self.all[leg as usize];
        (of.first, of.steps) = (steps.start, steps.end - steps.start);
    }

    /// The books of a step through a wire.
    ///
    /// # Panics
    ///
    /// If it is over the air.
    pub(super) fn books(&self, step: u32) -> &WireBooks {
        &self.books[self.place[step as usize] as usize]
    }

    /// A packet enters a wire.
    pub(super) fn on_entered(&mut self, packet: &Packet) {
        let books = self.books_mut(packet.flow);
        books.tally.offered.add(packet);
        books.under_way += 1;
    }

    /// One that entered has been dropped.
    pub(super) fn on_dropped(&mut self, packet: &Packet) {
        let books = self.books_mut(packet.flow);
        books.tally.dropped.add(packet);
        books.under_way -= 1;
    }

    /// One that entered has come out at the other end.
    pub(super) fn on_left(&mut self, packet: &Packet, now: Time) {
        let books = self.books_mut(packet.flow);
        books.tally.on_delivery(packet, now);
        books.under_way -= 1;
    }

    /// Counting begins anew.
    pub(super) fn start_counting(&mut self) {
        for books in &mut self.books {
            books.before = books.delivered_ever();
            books.tally.clear();
        }
    }

    fn books_mut(&mut self, step: u32) -> &mut WireBooks {
        &mut self.books[self.place[step as usize] as usize]
    }
}
