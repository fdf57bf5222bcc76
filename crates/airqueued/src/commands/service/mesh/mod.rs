//! MESH's router at one interface: packets from a tap, neighbours and paths from the radio, messages by UDP, limits in the kernel.

mod key;
mod sight;

use super::loops::{News, Turn};
use crate::commands::{Code, Stop};
use crate::multicast::Multicast;
use crate::tap::Tap;
use airqueue_control::mesh::{MOST_BYTES, MeshKey, MeshNode, NotTaken};
use airqueue_control::plan::{Plan, Set};
use airqueue_control::steer::{Knob, MeshConfig, MeshLimit};
use airqueue_core::{Span, Time};
use nix::net::if_::if_nametoindex;
use sight::Eyes;
use std::collections::BTreeMap;
use std::path::Path;

/// The most messages that are read at once. What else comes until the next reading, the kernel drops when its buffer is full.
const MOST_AT_ONCE: usize = 256;
/// How often it is told that messages are refused.
const TOLD_EVERY: Span = Span::from_secs(10);
/// The most reasons that are told at once.
const MOST_REASONS: usize = 8;

/// What a router is made of.
pub(super) struct Place<'a> {
    /// The folder of the configuration.
    pub(super) folder: &'a Path,
    /// Of this start of the service.
    pub(super) boot: u32,
    pub(super) pace: Span,
    pub(super) now: Time,
}

pub(super) struct MeshRouter {
    config: MeshConfig,
    key: MeshKey,
    boot: u32,
    limits: Vec<(usize, Knob, MeshLimit)>,
    eyes: Eyes,
    /// None while the interface is gone.
    open: Option<Open>,
    refused: Refused,
    unsent: Option<String>,
    news: Vec<News>,
}

/// The interface, as it was found.
struct Open {
    index: u32,
    node: MeshNode,
    tap: Tap,
    air: Multicast,
}

/// Messages that were refused since it was told, by the reason.
#[derive(Default)]
struct Refused {
    counts: BTreeMap<String, u32>,
    told: Option<Time>,
}

impl Refused {
    /// Others could give many reasons; those beyond a few are not counted.
    fn add(&mut self, why: &NotTaken) {
        let why = why.to_string();
        if self.counts.len() < MOST_REASONS || self.counts.contains_key(&why) {
            let count = self.counts.entry(why).or_default();
            *count = count.saturating_add(1);
        }
    }
}

impl MeshRouter {
    /// The router of a table, whose settings are in the plan.
    pub(super) fn new(
        index: usize,
        config: &MeshConfig,
        plan: &Plan,
        place: &Place,
    ) -> Result<MeshRouter, Stop> {
        let file = place.folder.join(&config.key);
        let key = key::read(&file)
            .map_err(|what| Stop::new(Code::Refused, format!("mesh[{index}].key: {what}")))?;
        let limit = |knob: Knob| {
            let at = super::loops::place(&knob, plan, &format!("mesh[{index}]"))?;
            let begin = knob.value(&plan.settings[at].set).unwrap_or_default();
            Ok((at, knob, config.limit(begin, plan, place.pace)))
        };
        let limits = config.knobs().into_iter().map(limit).collect::<Result<_, Stop>>()?;
        let frames = config.policy(false).frame_bytes();
        let mut router = MeshRouter {
            eyes: Eyes::new(&config.interface, config.rates().collect(), frames),
            config: config.clone(),
            key,
            boot: place.boot,
            limits,
            open: None,
            refused: Refused::default(),
            unsent: None,
            news: Vec::new(),
        };
        let open = router.open(place.now).map_err(|what| Stop::new(Code::Failed, what))?;
        router.open = Some(open);
        Ok(router)
    }

    fn open(&mut self, now: Time) -> Result<Open, String> {
        let interface = &self.config.interface;
        let tap = Tap::open(interface).map_err(|error| error.to_string())?;
        let gone = || format!("there is no interface {interface}; `ip link` lists those there are");
        let index = if_nametoindex(interface.as_str()).map_err(|_| gone())?;
        let address = sight::address(interface).ok_or_else(gone)?;
        let air = Multicast::join(interface, index, self.config.port);
        let air = air.map_err(|error| error.to_string())?;
        let policy = self.config.policy(self.eyes.is_mesh_point()?);
        let node = MeshNode::new(address, self.boot, self.key.clone(), policy, now);
        let node = node.map_err(|error| error.to_string())?;
        self.boot = self.boot.saturating_add(1);
        Ok(Open { index, node, tap, air })
    }

    /// Takes in packets and messages that have come, and sends what is due.
    pub(super) fn drain(&mut self, now: Time) {
        let Some(Open { node, tap, air, .. }) = &mut self.open else { return };
        tap.read(|packet, leaves| node.on_packet(packet, leaves));
        let mut buffer = [0; MOST_BYTES + 1];
        for _ in 0..MOST_AT_ONCE {
            // An error of the interface, such as that it is down, ends with the interface's next state.
            let Ok(Some(bytes)) = air.receive(&mut buffer) else { break };
            match node.on_message(bytes, now) {
                Ok(()) | Err(NotTaken::FromAfar) => {}
                Err(why) => self.refused.add(&why),
            }
        }
        while let Some(message) = node.poll_message(now) {
            let unsent = air.send(&message).err().map(|error| error.to_string());
            if unsent != self.unsent {
                if let Some(why) = &unsent {
                    let what = format!("messages at {}", self.config.interface);
                    self.news.push(News { event: "not sent", what, why: why.clone(), alarm: None });
                }
                self.unsent = unsent;
            }
        }
    }

    /// Looks at the network. Adds the settings that are to change now; `sets` are those of the plan as they are.
    pub(super) fn look(&mut self, sets: &[Set], turns: &mut Vec<Turn>, now: Time) {
        self.tell_refused(now);
        let (limit, why) = self.limit(now);
        for (at, knob, follows) in &mut self.limits {
            if let Some(packets) = follows.on_limit(limit, now) {
                turns.push(Turn {
                    at: *at,
                    set: knob.turned(&sets[*at], packets),
                    why: why.clone(),
                    moves: None,
                });
            }
        }
    }

    /// The router's limit, none for the safe one, and why.
    fn limit(&mut self, now: Time) -> (Option<u32>, String) {
        let interface = &self.config.interface;
        let index = if_nametoindex(interface.as_str()).ok();
        if self.open.as_ref().is_some_and(|open| Some(open.index) != index) {
            self.open = None;
            let why = "its neighbours cannot be heard; the limit is the safe one".to_owned();
            self.news.push(News { event: "gone", what: interface.clone(), why, alarm: None });
        }
        if self.open.is_none() {
            match self.open(now) {
                Ok(open) => self.open = Some(open),
                Err(why) => return (None, format!("the safe limit: {why}")),
            }
        }
        let sight = self.eyes.look();
        let Some(Open { node, .. }) = &mut self.open else { return (None, String::new()) };
        node.look(sight.as_ref().map_err(Clone::clone), now);
        match node.limit() {
            Some(packets) => (Some(packets), node.why()),
            None => (None, format!("the safe limit: {}", node.why())),
        }
    }

    fn tell_refused(&mut self, now: Time) {
        if self.refused.told.is_some_and(|told| now - told < TOLD_EVERY) {
            return;
        }
        for (why, count) in std::mem::take(&mut self.refused.counts) {
            let what = format!("{count} messages at {}", self.config.interface);
            self.news.push(News { event: "refused", what, why, alarm: None });
            self.refused.told = Some(now);
        }
    }

    /// What happened besides changes.
    pub(super) fn news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }
}
