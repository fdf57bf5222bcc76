//! The capture rules: what a receiver decides about the frames that began together last.

use super::{FEW, Hold, IncomingFrame, Overlap, Reception, Rule, Standing};
use crate::medium::FrameId;
use std::cmp::Ordering;

impl Reception {
    #[inline(never)]
    pub(super) fn judge_all(&mut self) {
        if self.ended > 0 {
            self.sweep();
        }
        if !std::mem::replace(&mut self.untouched, false) {
            self.hold = self.before;
            self.overlaps.truncate(self.overlaps_before);
        }
        let since = self.since;
        let together = self.incoming.iter().rev().take_while(|a| a.air.begins >= since).count();
        let group = self.incoming.len() - together;
        match self.rule {
            Rule::First { ratio: f64::INFINITY } if together > FEW => self.meet_any(group),
            Rule::First { ratio } => self.meet_first(group, ratio),
            Rule::Sinr { ratio, noise_w, .. } => self.meet_all(group, ratio, noise_w),
        }
    }

    /// Brings sums into an order that does not depend on the calls.
    fn sort(&mut self) {
        if !std::mem::replace(&mut self.sorted, true) {
            self.incoming.sort_unstable_by(by_beginning);
        }
    }

    /// As [`Self::meet_first`] with an infinite ratio, without sorting the frames, which are many.
    fn meet_any(&mut self, group: usize) {
        let new = &mut self.incoming[group..];
        for frame in new.iter_mut() {
            let sensed = frame.signal.sensed();
            frame.standing = if sensed { Standing::Collided } else { Standing::Faint };
        }
        let sensed = |frame: &IncomingFrame| frame.standing == Standing::Collided;
        if self.hold.is_none()
            && let Some(first) =
                new.iter_mut().filter(|a| sensed(a)).min_by(|a, b| by_beginning(a, b))
        {
            first.standing = Standing::Taken;
            self.hold = Some(Hold::of(first, false));
            self.overlaps.clear();
        }
        let later = |a: &&IncomingFrame, b: &&IncomingFrame| {
            a.air.ends.cmp(&b.air.ends).then_with(|| by_beginning(b, a))
        };
        if let Some(hold) = &mut self.hold
            && let Some(last) = new.iter().filter(|a| sensed(a)).max_by(later)
        {
            if last.air.ends > hold.ends {
                *hold = Hold::of(last, false);
            }
            hold.collided = true;
            // The others overlap no more of a frame than this one.
            overlap(&mut self.overlaps, last);
        }
    }

    /// [`Capture::Ns2`], for the frames from `group` on, which begin now, in order of power. With an infinite ratio
    /// the rule is [`Capture::None`]: all frames that overlap collide.
    fn meet_first(&mut self, group: usize, ratio: f64) {
        if self.incoming.len() > group + 1 {
            self.incoming[group..].sort_unstable_by(by_beginning);
        }
        let overlaps = &mut self.overlaps;
        for new in &mut self.incoming[group..] {
            if !new.signal.sensed() {
                new.standing = Standing::Faint;
                continue;
            }
            new.standing = match &mut self.hold {
                None => {
                    self.hold = Some(Hold::of(new, false));
                    overlaps.clear();
                    Standing::Taken
                }
                Some(hold) if ratio * new.signal.power_w <= hold.power_w => {
                    hold.overlapped = true;
                    Standing::Passed
                }
                Some(hold) => {
                    if new.air.ends > hold.ends {
                        *hold = Hold::of(new, false);
                    }
                    hold.collided = true;
                    overlap(overlaps, new);
                    Standing::Collided
                }
            };
        }
    }

    /// [`Capture::Sinr`], for the frames from `group` on, which begin now.
    fn meet_all(&mut self, group: usize, ratio: f64, noise_w: f64) {
        let audible =
            |a: &IncomingFrame| a.signal.decodable() && a.signal.power_w >= ratio * noise_w;
        if self.hold.is_some() || self.incoming[group..].iter().any(|a| audible(a) && !a.deaf) {
            self.sort();
        }
        let standing = if let Some(hold) = &mut self.hold {
            let others_w = others_w(&self.incoming, hold.frame);
            hold.overlapped = true;
            hold.collided |= hold.power_w < ratio * (noise_w + others_w);
            self.incoming[group..].iter().for_each(|new| overlap(&mut self.overlaps, new));
            Standing::Passed
        } else {
            Standing::Collided
        };
        for new in &mut self.incoming[group..] {
            new.standing = if audible(new) { standing } else { Standing::Faint };
        }
        if self.hold.is_none()
            && let Some(first) = strongest(&self.incoming[group..], |a| audible(a) && !a.deaf)
        {
            let candidate = self.incoming[group + first];
            let others_w = others_w(&self.incoming, candidate.frame);
            if candidate.signal.power_w >= ratio * (noise_w + others_w) {
                self.hold = Some(Hold::of(&candidate, others_w > 0.0));
                for new in &mut self.incoming[group..] {
                    if new.standing == Standing::Collided {
                        new.standing = Standing::Passed;
                    }
                }
                self.incoming[group + first].standing = Standing::Taken;
                let others = self.incoming.iter().filter(|a| a.frame != candidate.frame);
                self.overlaps.clear();
                others.for_each(|other| overlap(&mut self.overlaps, other));
            }
        }
    }
}

/// Adds a frame to those that overlap the frame that the receiver is with. Few receivers ever have an overlap, and few
/// of these more than a handful.
fn overlap(overlaps: &mut Vec<Overlap>, incoming: &IncomingFrame) {
    if overlaps.capacity() == 0 {
        overlaps.reserve(16);
    }
    overlaps.push(Overlap { air: incoming.air, power_w: incoming.signal.power_w });
}

/// Index of the strongest frame that satisfies `may`, the first of equals.
fn strongest(incoming: &[IncomingFrame], may: impl Fn(&IncomingFrame) -> bool) -> Option<usize> {
    let candidates = incoming.iter().enumerate().filter(|(_, a)| may(a));
    let stronger = |best: (usize, f64), (at, a): (usize, &IncomingFrame)| {
        if a.signal.power_w > best.1 { (at, a.signal.power_w) } else { best }
    };
    let none = (usize::MAX, f64::NEG_INFINITY);
    Some(candidates.fold(none, stronger).0).filter(|&at| at < incoming.len())
}

/// The order of [`Reception::incoming`].
fn by_beginning(a: &IncomingFrame, b: &IncomingFrame) -> Ordering {
    (a.air.begins.cmp(&b.air.begins))
        .then(b.signal.power_w.total_cmp(&a.signal.power_w))
        .then(a.frame.cmp(&b.frame))
}

/// Total power of all frames but one; summed in the order of the list, so that the result is reproducible.
fn others_w(incoming: &[IncomingFrame], but: FrameId) -> f64 {
    incoming.iter().filter(|a| a.frame != but).map(|a| a.signal.power_w).sum()
}
