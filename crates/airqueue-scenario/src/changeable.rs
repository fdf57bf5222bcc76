//! Changes of a network while it runs, by whoever watches it.

use super::emulated::{Emulated, read};
use super::error::{Result, ScenarioError, error, wrong};
use super::{Run, Scenario, current};
use airqueue_network::HopId;
use airqueue_network::network::{Change, TimedChange};
use airqueue_wifi::medium::StationId;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// What is needed to check one more change of a scenario with real nodes.
#[derive(Clone, Debug)]
pub(super) struct Changeable {
    /// The file with a flow for each pair of real nodes.
    file: Value,
    /// How many changes of the network the changes of the file are.
    known: usize,
    /// The stations whose queues were replaced while the network runs.
    replaced: Arc<Mutex<HashSet<StationId>>>,
    /// The hops of the other flows of each pair, by the hop of the pair's first flow.
    copies: HashMap<HopId, Vec<HopId>>,
}

impl Changeable {
    /// `known`: how many changes of the network the changes of the file are; `copies`: the hops of the other flows of each
    /// pair, by the hop of the pair's first flow.
    pub(super) fn new(file: Value, known: usize, copies: HashMap<HopId, Vec<HopId>>) -> Changeable {
        Changeable { file, known, replaced: Arc::default(), copies }
    }

    /// Changes of the first flow of a pair, as changes of all flows of the pair.
    fn of_all_flows(&self, changes: Vec<TimedChange>) -> impl Iterator<Item = TimedChange> {
        changes.into_iter().flat_map(|TimedChange { at, change }| {
            let hop = match change {
                Change::Rate { hop, .. } | Change::HopLimit { hop, .. } => Some(hop),
                _ => None,
            };
            let copies = hop.and_then(|hop| self.copies.get(&hop)).map_or(&[][..], Vec::as_slice);
            let on = move |copy: &HopId| match change {
                Change::Rate { rate, .. } => Change::Rate { hop: *copy, rate },
                Change::HopLimit { limit, .. } => Change::HopLimit { hop: *copy, limit },
                other => other,
            };
            let changes = std::iter::once(change).chain(copies.iter().map(on));
            changes.map(move |change| TimedChange { at, change })
        })
    }
}

impl Changeable {
    /// What a change of the running network is: a JSON object with the keys of an entry of `changes`, without its time.
    ///
    /// The errors are those of the same entry in the file, without the entry's place; and a change to a route that the
    /// changes of the file do not have.
    fn change(&self, scenario: &Scenario, text: &str) -> Result<Vec<Change>> {
        let mut change: Value = serde_json::from_str(text).map_err(|problem| error("", problem))?;
        let Some(keys) = change.as_object_mut() else {
            return wrong("", "a change is a table of keys");
        };
        if keys.contains_key("at") {
            return wrong("at", "a change of a running network is at once; leave the time out");
        }
        if let Some(name) = keys.get("flow").and_then(Value::as_str)
            && !scenario.names.flows.iter().any(|known| known == name)
        {
            return wrong("flow", format_args!("there is no flow {name:?}"));
        }
        keys.insert("at".to_owned(), json!("0 s"));
        let place = self.file.get("changes").and_then(Value::as_array);
        let place = place.map_or(0, Vec::len);
        self.built(scenario, change).map_err(|problem| of_change(problem, place))
    }

    fn built(&self, scenario: &Scenario, change: Value) -> Result<Vec<Change>> {
        let Changeable { file, known, replaced, .. } = self;
        let mut file = file.clone();
        let keys = file.as_object_mut().expect("a file that was read is a table");
        let changes = keys.entry("changes").or_insert_with(|| json!([]));
        changes.as_array_mut().expect("changes that were read are a list").push(change);
        current(&mut file)?;
        let changes = Scenario::new(&*read(file)?)?.spec.changes.split_off(*known);
        let all: Vec<_> = self.of_all_flows(changes).collect();
        if all.iter().any(|change| change.check(&scenario.spec).is_err()) {
            let problem = "the running network has no such route; give a change of the scenario this \
                           route, at any time";
            return wrong("via", problem);
        }
        let mut replaced = replaced.lock().unwrap_or_else(PoisonError::into_inner);
        let from = |hop: HopId| scenario.spec.wlan.hops[hop.index()].from;
        for TimedChange { change, .. } in &all {
            match *change {
                Change::HopLimit { hop, .. } if replaced.contains(&from(hop)) => {
                    return wrong(
                        "flow",
                        "the queue of the station was replaced; leave `flow` out",
                    );
                }
                Change::Queue { station, .. } => drop(replaced.insert(station)),
                _ => {}
            }
        }
        Ok(all.into_iter().map(|timed| timed.change).collect())
    }
}

impl Emulated {
    /// What a change of the running network is: a JSON object with the keys of an entry of `changes`, without its time.
    ///
    /// # Errors
    ///
    /// Those of the same entry in the file, without the entry's place; and a change to a route that the changes of the
    /// file do not have.
    pub fn change(&self, text: &str) -> Result<Vec<Change>> {
        self.changeable.change(&self.scenario, text)
    }
}

/// Changes of a replication, while it runs, that its file does not have.
#[derive(Clone, Debug)]
pub struct LiveChanges {
    scenario: Scenario,
    changeable: Changeable,
}

impl LiveChanges {
    /// Changes of a replication of this file, a JSON object with the keys of a scenario.
    ///
    /// # Errors
    ///
    /// Those of [`Scenario::from_json`].
    pub fn new(text: &str) -> Result<LiveChanges> {
        let mut file: Value = serde_json::from_str(text).map_err(|problem| error("", problem))?;
        current(&mut file)?;
        let scenario = Scenario::new(&*read(file.clone())?)?;
        let changeable = Changeable::new(file, scenario.spec.changes.len(), HashMap::new());
        Ok(LiveChanges { scenario, changeable })
    }

    /// Changes the replication now: `text` is a JSON object with the keys of an entry of `changes`, without its time.
    ///
    /// # Errors
    ///
    /// Those of the same entry in the file; and a change to a route that the changes of the file do not have.
    pub fn apply(&self, run: &mut Run, text: &str) -> Result<()> {
        let changes = self.changeable.change(&self.scenario, text)?;
        let network = &mut run.network;
        for change in changes {
            let now = network.queue.now();
            network.model.add_change(TimedChange { at: now, change }, &mut network.queue);
        }
        Ok(())
    }
}

/// The error of a change, without the place of the change among those of the file.
fn of_change(problem: ScenarioError, place: usize) -> ScenarioError {
    let own = format!("changes[{place}]");
    let key = problem.key.strip_prefix(&own).map(|key| key.trim_start_matches('.').to_owned());
    ScenarioError { key: key.unwrap_or(problem.key), problem: problem.problem }
}
