//! The interferers at work.

use super::bursts::{Bursts, Phase};
use super::spec::InterfererSpec;
use crate::event::EventQueue;
use crate::timer::Timer;
use crate::wlan::engine::{END, Event, Wlan};
use crate::wlan::listeners::Ending;
use crate::wlan::spec::WlanSpec;
use crate::wlan::upper::UpperLayer;
use airqueue_core::{Seed, Span, Time};
use airqueue_wifi::mac::FrameKind;

/// The counters of an interferer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfererCounters {
    /// Bursts that began.
    pub bursts: u64,
    /// How long it radiated.
    pub on: Span,
    /// Frames that a burst overlapped at the station to which they were addressed.
    pub hit: u64,
    /// Those of them that this station did not decode, for whatever reason.
    pub hit_lost: u64,
}

/// An interferer.
#[derive(Debug)]
struct Interferer<E> {
    start: Time,
    stop: Time,
    bursts: Bursts,
    phase: Phase,
    timer: Timer<E>,
    /// Since when it radiates, if it does.
    since: Time,
    counters: InterfererCounters,
}

/// All interferers.
#[derive(Debug)]
pub(in crate::wlan) struct Interferers<E> {
    all: Vec<Interferer<E>>,
    /// Whether any of them waits for the medium at times.
    polite: bool,
    /// Number of bursts on the air.
    on: u32,
    /// When the last frame or burst ended.
    quiet_from: Time,
    pifs: Span,
}

impl<E: Copy + From<Event>> Interferers<E> {
    /// Interferers that are silent. Their random streams are `interference/NAME`.
    pub(in crate::wlan) fn new(spec: &WlanSpec, pifs: Span, seed: Seed) -> Interferers<E> {
        let new = |(at, of): (u32, &InterfererSpec)| Interferer {
            start: of.start,
            stop: of.stop,
            bursts: Bursts::new(of.law.clone(), seed.stream(&format!("interference/{}", of.name))),
            phase: Phase::Pause(Span::ZERO),
            // With the ends of frames: before what begins at the same instant.
            timer: Timer::new(Event::Interferer(at).into(), END),
            since: Time::ZERO,
            counters: InterfererCounters::default(),
        };
        let all: Vec<_> = (0..).zip(&spec.signals.interferers).map(new).collect();
        let polite = all.iter().any(|of| of.bursts.are_polite());
        Interferers { all, polite, on: 0, quiet_from: Time::ZERO, pifs }
    }

    /// The counters begin anew.
    pub(in crate::wlan) fn start_counting(&mut self, now: Time) {
        for of in &mut self.all {
            of.counters = InterfererCounters::default();
            of.since = now;
        }
    }

    /// The counters of an interferer, by its place among all, up to `now`.
    fn counters(&self, at: usize, now: Time) -> Option<InterfererCounters> {
        let of = self.all.get(at)?;
        let on = if of.phase == Phase::Burst { now - of.since } else { Span::ZERO };
        Some(InterfererCounters { on: of.counters.on + on, ..of.counters })
    }

    /// A burst overlapped a frame at its receiver.
    pub(in crate::wlan) fn on_hit(&mut self, at: usize, decoded: bool) {
        let counters = &mut self.all[at].counters;
        counters.hit += 1;
        counters.hit_lost += u64::from(!decoded);
    }

    /// Whether bursts may wait for the end of frames.
    #[inline(always)]
    pub(in crate::wlan) fn are_polite(&self) -> bool {
        self.polite
    }
}

impl<U: UpperLayer> Wlan<U> {
    /// Interferers begin.
    pub(in crate::wlan) fn start_interferers(&mut self, queue: &mut EventQueue<U::Event>) {
        for at in 0..self.interferers.all.len() {
            let of = &mut self.interferers.all[at];
            let (phase, until) = of.bursts.first(of.start);
            self.set_interferer(at, phase, until, queue);
        }
    }

    /// The timer of an interferer expires.
    pub(in crate::wlan) fn on_interferer(&mut self, at: u32, queue: &mut EventQueue<U::Event>) {
        let (at, now) = (at as usize, queue.now());
        let of = &mut self.interferers.all[at];
        match of.phase {
            Phase::Burst => {
                of.counters.on = of.counters.on + (now - of.since);
                let (phase, until) = of.bursts.after_burst(now);
                self.interferers.on -= 1;
                self.listeners.end_burst(at, now);
                match phase {
                    // What arrived during the burst follows at once.
                    Phase::Waiting(length) => self.begin_burst(at, length, queue),
                    _ => self.set_interferer(at, phase, until, queue),
                }
                self.on_quiet(queue);
            }
            Phase::Pause(length) if !of.bursts.are_polite() => self.begin_burst(at, length, queue),
            Phase::Pause(_) => {
                let (phase, until) = of.bursts.idle(now);
                self.set_interferer(at, phase, until, queue);
                self.await_quiet(at, queue);
            }
            Phase::Waiting(length) => {
                if self.is_quiet() && now >= self.interferers.quiet_from + self.interferers.pifs {
                    self.begin_burst(at, length, queue);
                }
            }
        }
    }

    fn is_quiet(&self) -> bool {
        self.interferers.on == 0 && self.listeners.is_silent()
    }

    /// A frame or a burst has ended: bursts that wait for it may begin soon.
    pub(in crate::wlan) fn on_quiet(&mut self, queue: &mut EventQueue<U::Event>) {
        self.interferers.quiet_from = queue.now();
        if self.is_quiet() {
            for at in 0..self.interferers.all.len() {
                self.await_quiet(at, queue);
            }
        }
    }

    /// A burst that waits begins PIFS after the last frame, if the medium stays idle until then.
    fn await_quiet(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        if !self.is_quiet() {
            return;
        }
        let begins = self.interferers.quiet_from + self.interferers.pifs;
        let of = &mut self.interferers.all[at];
        if matches!(of.phase, Phase::Waiting(_)) {
            of.timer.set(Some(begins), queue);
        }
    }

    fn set_interferer(
        &mut self,
        at: usize,
        phase: Phase,
        until: Time,
        queue: &mut EventQueue<U::Event>,
    ) {
        let of = &mut self.interferers.all[at];
        of.phase = phase;
        of.timer.set(Some(until).filter(|&until| until < of.stop), queue);
    }

    fn begin_burst(&mut self, at: usize, length: Span, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        let of = &mut self.interferers.all[at];
        if now >= of.stop {
            of.timer.set(None, queue);
            return;
        }
        let ends = now.saturating_add(length).min(of.stop);
        of.phase = Phase::Burst;
        of.since = now;
        of.counters.bursts += 1;
        of.timer.set(Some(ends), queue);
        self.interferers.on += 1;
        self.listeners.begin_burst(at, now, ends);
    }

    /// A frame has ended: counts it where signals matter, and lets bursts follow.
    #[inline(never)]
    pub(in crate::wlan) fn conclude_signals(
        &mut self,
        ending: &Ending,
        now: Time,
        queue: &mut EventQueue<U::Event>,
    ) {
        if let Some((_, decoded)) = ending.at_receiver {
            let interferers = &mut self.interferers;
            let count = |at| interferers.on_hit(at, decoded);
            self.listeners.each_hit(ending.to, ending.begins, now, count);
            if ending.kind == FrameKind::Data {
                self.listeners.count_link(ending);
            }
        }
        if self.interferers.are_polite() {
            self.on_quiet(queue);
        }
    }

    /// The counters of an interferer up to `now`, by its place among all.
    pub fn interferer(&self, at: usize, now: Time) -> Option<InterfererCounters> {
        self.interferers.counters(at, now)
    }
}
