//! The loops of a service: each has one setting of the plan, and says what its value is to be.

use super::ears::{Ears, Side};
use super::mesh::{MeshRouter, Place};
use super::rdqm::{Moves, Rates, Rdqm};
use crate::commands::{Code, Stop};
use crate::radio::nl80211::Nl80211;
use crate::state::State;
use airqueue_control::plan::{Plan, Set};
use airqueue_control::steer::{Access, AccessLoop, AdaptiveLoop, Config, EdcaConfig, Knob};
use airqueue_control::watch::Alarm;
use airqueue_core::{Span, Time};
use std::path::Path;

/// A change that a loop wants.
pub(super) struct Turn {
    /// Place of the setting in the plan.
    pub(super) at: usize,
    /// What the setting becomes.
    pub(super) set: Set,
    /// Why, in words.
    pub(super) why: String,
    /// Flows that change their classes with it.
    pub(super) moves: Option<Moves>,
}

/// Something that happened besides changes.
pub(super) struct News {
    /// Its kind.
    pub(super) event: &'static str,
    /// Where, or of what.
    pub(super) what: String,
    /// Why, in words.
    pub(super) why: String,
    /// The queue that it is about, if that one does not drain.
    pub(super) alarm: Option<Alarm>,
}

/// All loops, and what they listen to.
pub(super) struct Loops {
    ears: Ears,
    nl80211: Option<Nl80211>,
    edca: Vec<Edca>,
    adaptive: Vec<Adaptive>,
    rdqm: Vec<Rdqm>,
    mesh: Vec<MeshRouter>,
}

struct Edca {
    at: usize,
    access: AccessLoop,
    interface: String,
}

struct Adaptive {
    at: usize,
    knob: Knob,
    limit: AdaptiveLoop,
    interface: String,
    uplink: Option<String>,
}

impl Edca {
    fn new(index: usize, config: &EdcaConfig, plan: &Plan, pace: Span) -> Result<Edca, Stop> {
        let who = format!("edca[{index}]");
        let at = place(&config.knob(), plan, &who)?;
        let set = &plan.settings[at].set;
        let begin = Access::of(set).unwrap_or_default();
        let access = AccessLoop::new(config.policy(), config.access.clone(), pace, begin);
        // The kernel would refuse such a row in the middle of the service.
        let possible = access.check(set).map_err(|what| format!("{who}.access: {what}"));
        possible.map_err(|what| Stop::new(Code::Refused, what))?;
        Ok(Edca { at, access, interface: config.interface.clone() })
    }

    fn look(&mut self, ears: &Ears, sets: &[Set], now: Time) -> Option<Turn> {
        let downloads = number(ears.downloads(&self.interface));
        let uploads = number(ears.uploads(&self.interface));
        let access = self.access.on_flows(downloads, uploads, now)?;
        let mut why = counted(downloads, "active download");
        if self.access.counts_uploads() {
            why = format!("{why}, {}", counted(uploads, "upload"));
        }
        Some(Turn { at: self.at, set: access.within(&sets[self.at]), why, moves: None })
    }
}

impl Loops {
    /// The loops of a configuration, whose folder has the files that it names. The error names the loop whose setting the plan lacks, or what cannot be listened to.
    pub(super) fn new(
        config: &Config,
        plan: &Plan,
        folder: &Path,
        state: &State,
        now: Time,
    ) -> Result<Loops, Stop> {
        let mut ears = Ears::default();
        let pace = config.at_most_every.value;
        let mut edca = Vec::new();
        for (index, each) in config.edca.iter().enumerate() {
            let following = Edca::new(index, each, plan, pace)?;
            ears.listen(&following.interface, Side::Stations, now)?;
            edca.push(following);
        }
        let mut adaptive = Vec::new();
        for (index, each) in config.adaptive.iter().enumerate() {
            let knob = each.knob();
            let at = place(&knob, plan, &format!("adaptive[{index}]"))?;
            let begin = knob.value(&plan.settings[at].set).unwrap_or_default();
            let (interface, uplink) = (each.interface.clone(), each.uplink.clone());
            ears.listen(&interface, Side::Stations, now)?;
            if let Some(uplink) = &uplink {
                ears.listen(uplink, Side::Far, now)?;
            }
            let limit = AdaptiveLoop::new(each.policy(pace), begin);
            adaptive.push(Adaptive { at, knob, limit, interface, uplink });
        }
        let first = plan.settings.len() - config.rdqm.len();
        let rdqm = config
            .rdqm
            .iter()
            .enumerate()
            .map(|(index, each)| Rdqm::new(first + index, each.clone(), pace, &mut ears, now));
        let rdqm = rdqm.collect::<Result<Vec<_>, Stop>>()?;
        let nl80211 = if rdqm.is_empty() { None } else { Nl80211::open().ok().flatten() };
        let mesh = meshes(config, plan, folder, state, now)?;
        Ok(Loops { ears, nl80211, edca, adaptive, rdqm, mesh })
    }

    /// Whether packets have to be taken in.
    pub(super) fn is_listening(&self) -> bool {
        !(self.ears.is_empty() && self.mesh.is_empty())
    }

    /// Takes in the packets that have passed, and has routers of meshes hear and speak.
    pub(super) fn drain(&mut self, now: Time) {
        self.ears.drain();
        self.mesh.iter_mut().for_each(|mesh| mesh.drain(now));
    }

    /// What happened besides changes.
    pub(super) fn news(&mut self) -> Vec<News> {
        self.mesh.iter_mut().flat_map(MeshRouter::news).collect()
    }

    /// Looks at the flows. Returns the settings that are to change now; `sets` are those of the plan as they are.
    pub(super) fn look(&mut self, sets: &[Set], now: Time) -> Vec<Turn> {
        self.ears.look(now);
        let (ears, mut turns) = (&self.ears, Vec::new());
        turns.extend(self.edca.iter_mut().filter_map(|edca| edca.look(ears, sets, now)));
        for Adaptive { at, knob, limit, interface, uplink } in &mut self.adaptive {
            let flows = number(ears.active(interface, Side::Stations));
            let rtt = uplink.as_ref().and_then(|uplink| ears.median_rtt(interface, uplink));
            if let Some(packets) = limit.on_flows(flows, rtt, now) {
                let trip = rtt.map_or(String::new(), |rtt| format!(", round trip {}", in_ms(rtt)));
                let why = format!("{}{trip}", counted(flows, "active flow"));
                turns.push(Turn {
                    at: *at,
                    set: knob.turned(&sets[*at], packets),
                    why,
                    moves: None,
                });
            }
        }
        if !self.rdqm.is_empty() {
            let rates = Rates::read(self.nl80211.as_mut());
            turns.extend(self.rdqm.iter_mut().filter_map(|rdqm| rdqm.look(ears, &rates, now)));
        }
        self.mesh.iter_mut().for_each(|mesh| mesh.look(sets, &mut turns, now));
        turns
    }

    /// The classes of flows at a setting that was made anew.
    pub(super) fn again(&self, at: usize) -> Option<Moves> {
        self.rdqm.iter().find(|rdqm| rdqm.at == at).map(Rdqm::again)
    }
}

fn number<T>(of: impl Iterator<Item = T>) -> u32 {
    u32::try_from(of.count()).unwrap_or(u32::MAX)
}

fn counted(number: u32, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn in_ms(span: Span) -> String {
    format!("{:.1} ms", span.as_secs_f64() * 1e3)
}

/// The routers of meshes.
fn meshes(
    config: &Config,
    plan: &Plan,
    folder: &Path,
    state: &State,
    now: Time,
) -> Result<Vec<MeshRouter>, Stop> {
    if config.mesh.is_empty() {
        return Ok(Vec::new());
    }
    let place = Place { folder, boot: state.next_start()?, pace: config.at_most_every.value, now };
    let each = config.mesh.iter().enumerate();
    each.map(|(index, mesh)| MeshRouter::new(index, mesh, plan, &place)).collect()
}

/// The setting of the plan that a loop changes.
pub(super) fn place(knob: &Knob, plan: &Plan, who: &str) -> Result<usize, Stop> {
    knob.find(plan).ok_or_else(|| {
        let what =
            format!("{who}: the plan has no setting for this loop; it needs {}", knob.wanted());
        Stop::new(Code::Refused, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"{"plan": 1, "made_by": "a test", "settings": [{"why": "a test", "set": {"own_edca":
        {"interface": "wlan0", "access_category": "best_effort", "aifsn": 6, "cw_min": 31, "cw_max": 63, "txop_us": 0}}}]}"#;

    fn edca(cw_min: u32) -> Result<Edca, Stop> {
        let text = format!(
            "config = 1\nplan = \"p\"\n[[edca]]\ninterface = \"wlan0\"\npacket = \"1.27 ms\"\nmost_packets = 2\naccess = \
             [{{ uploads = 1, downloads = 4, aifsn = 4, cw_min = {cw_min}, packets = 2 }}]"
        );
        let (config, plan) = (Config::read(&text).unwrap(), Plan::read(PLAN).unwrap());
        Edca::new(0, &config.edca[0], &plan, Span::from_secs(10))
    }

    /// No packet was heard: the setting stays, and a window that the kernel would refuse later is refused at the start.
    #[test]
    fn rows_of_channel_access_fit_the_plan() {
        let sets = [Plan::read(PLAN).unwrap().settings[0].set.clone()];
        let mut quiet = edca(15).ok().unwrap();
        assert!(quiet.look(&Ears::default(), &sets, Time::ZERO).is_none());
        let Err(stop) = edca(127) else { panic!("CWmin above CWmax is taken") };
        assert_eq!(stop.code, Code::Refused);
        assert!(stop.text.contains("edca[0].access: a cw_min is 127"), "{}", stop.text);
    }
}
