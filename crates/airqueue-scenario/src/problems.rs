//! All errors of a scenario at once.
//!
//! A check ends at the first error. The search takes the wrong key out of the tree and checks what is left, again and
//! again. An error that may only follow from what was taken out is not reported: better a second round for the user than an
//! error that is none.

use super::error::{ScenarioError, error};
use super::{Scenario, current, emulated::read, file::File};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Most errors that are looked for.
const MOST: usize = 20;
/// Most checks, since each reads the whole file.
const MOST_CHECKS: usize = 100;
/// Lists whose elements nothing but flows and changes refers to: a wrong element may be taken out whole.
const LOOSE: [&str; 4] = ["flows", "changes", "links", "beacons"];
/// Values for a required key that has a wrong one: of each type and dimension one.
const STANDINS: [&str; 9] =
    ["x", "802.11g", "1 s", "1 m", "1 Mb/s", "1 packets", "1 B", "0 dBm", "2.4 GHz"];

/// The errors of a scenario, a JSON object with the keys of a scenario file, in the order in which checks find them: the
/// first is that of [`Scenario::with_real`]. Empty for a valid scenario.
pub fn problems(text: &str, others_real: bool) -> Vec<ScenarioError> {
    let tree = match serde_json::from_str(text) {
        Ok(tree) => tree,
        Err(problem) => return vec![error("", problem)],
    };
    let mut search = Search::new(tree, others_real);
    for _ in 0..MOST_CHECKS {
        let Some(problem) = search.check() else { break };
        if search.found.len() == MOST || !search.pass(problem) {
            break;
        }
    }
    search.found
}

/// An error, and whether the tree could be read.
struct Problem {
    error: ScenarioError,
    readable: bool,
}

struct Search {
    tree: Value,
    found: Vec<ScenarioError>,
    /// Tables out of which a key was taken: other errors in them may follow from that.
    doubtful: Vec<String>,
    /// Places in the file of the elements that were taken out, by list, in ascending order.
    gone: HashMap<&'static str, Vec<usize>>,
    /// A key has a value that the user did not give: only what cannot be read is reported from now on.
    stand_in: bool,
    /// Nodes are real that the file does not mark.
    others_real: bool,
}

impl Search {
    fn new(tree: Value, others_real: bool) -> Search {
        let (found, doubtful, gone) = Default::default();
        Search { tree, found, doubtful, gone, stand_in: false, others_real }
    }

    /// The first error of what is left.
    fn check(&self) -> Option<Problem> {
        let mut tree = self.tree.clone();
        let file = current(&mut tree).and_then(|_| read(tree));
        let file = match file {
            Ok(file) => File { others_real: self.others_real, ..file.0 },
            Err(error) => return Some(Problem { error, readable: false }),
        };
        Scenario::new(&file).err().map(|error| Problem { error, readable: true })
    }

    /// Reports an error, and takes its key out of the tree; whether the search goes on.
    fn pass(&mut self, problem: Problem) -> bool {
        let Problem { error, readable } = problem;
        let follows_from_all = self.doubtful.iter().any(String::is_empty);
        if readable && (self.stand_in || follows_from_all) {
            return false;
        }
        if !readable || self.is_sure(&error.key) {
            let key = self.in_file(&error.key);
            let again =
                self.found.iter().any(|known| known.key == key && known.problem == error.problem);
            if again {
                return false;
            }
            self.found.push(ScenarioError { key, problem: error.problem.clone() });
        }
        let steps = steps(&error.key);
        if readable { self.take_out(&error.key, &steps) } else { self.repair(&error, &steps) }
    }

    /// Whether an error of the whole network cannot follow from what was taken out.
    fn is_sure(&self, key: &str) -> bool {
        let within = |table: &String| {
            table.is_empty()
                || key
                    .strip_prefix(table.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        !self.doubtful.iter().any(within) && (self.gone.is_empty() || key.starts_with("flows["))
    }

    /// Makes what cannot be read readable.
    fn repair(&mut self, error: &ScenarioError, steps: &[Step]) -> bool {
        if let Some(missing) = error.problem.strip_prefix("missing key `") {
            let name = missing.trim_end_matches('`');
            let Some(Value::Object(table)) = at(&mut self.tree, steps) else { return false };
            table.insert(name.to_owned(), Value::Null);
            return self.stand_in(&key_of(&error.key, name));
        }
        if let [Step::Key(list), Step::Place(place)] = steps {
            return self.take_element(list, *place);
        }
        let Some((last, above)) = leaf(steps) else { return false };
        let Some(old) = remove(&mut self.tree, above, last) else { return false };
        let follows = self.check();
        let needed = follows.is_some_and(|next| {
            !next.readable && next.error.problem.starts_with("missing key `")
                || next.error.key == error.key
        });
        let unknown = error.problem.starts_with("unknown key");
        if needed && !unknown {
            insert(&mut self.tree, above, last, old);
            return self.stand_in(&error.key);
        }
        if !unknown {
            self.doubt(&error.key);
        }
        true
    }

    /// Gives a key a value with which the file can be read as far as the key.
    fn stand_in(&mut self, key: &str) -> bool {
        self.stand_in = true;
        let steps = steps(key);
        let texts = STANDINS.iter().map(|text| json!(text));
        let others = [
            json!(1),
            json!(false),
            json!({"standard": "802.11g"}),
            json!([{"name": "x"}]),
            json!([]),
        ];
        for value in texts.chain(others) {
            let Some(place) = at(&mut self.tree, &steps) else { return false };
            *place = value;
            match self.check() {
                Some(next) if !next.readable && next.error.key.starts_with(key) => {}
                _ => return true,
            }
        }
        false
    }

    /// Takes a key of a readable file out, or the whole flow or change if its key is needed.
    fn take_out(&mut self, key: &str, steps: &[Step]) -> bool {
        let Some((last, above)) = leaf(steps) else { return false };
        if let Some(old) = remove(&mut self.tree, above, last) {
            match self.check() {
                Some(next) if !next.readable || next.error.key == key => {
                    insert(&mut self.tree, above, last, old);
                }
                _ => {
                    self.doubt(key);
                    return true;
                }
            }
        }
        match steps {
            [Step::Key(list), Step::Place(place), ..] => self.take_element(list, *place),
            _ => false,
        }
    }

    fn take_element(&mut self, list: &str, place: usize) -> bool {
        let Some(list) = LOOSE.into_iter().find(|loose| *loose == list) else { return false };
        let Some(elements) = self.tree.get_mut(list).and_then(Value::as_array_mut) else {
            return false;
        };
        if place >= elements.len() {
            return false;
        }
        elements.remove(place);
        let gone = self.gone.entry(list).or_default();
        let original = original(gone, place);
        gone.push(original);
        gone.sort_unstable();
        true
    }

    /// Notes the table of a key that was taken out. Nearly all depends on the physical layer, on what all stations do, and
    /// on the top level, but for the duration.
    fn doubt(&mut self, key: &str) {
        if ["duration", "warm_up"].contains(&key) {
            return;
        }
        let above = key.rsplit_once('.').map_or("", |(above, _)| above);
        let all = ["phy", "mac", "medium"].contains(&above);
        self.doubtful.push(if all { String::new() } else { above.to_owned() });
    }

    /// A key by the places that elements of lists have in the file.
    fn in_file(&self, key: &str) -> String {
        let Some((list, rest)) = key.split_once('[') else { return key.to_owned() };
        let Some((place, rest)) = rest.split_once(']') else { return key.to_owned() };
        match (self.gone.get(list), place.parse()) {
            (Some(gone), Ok(place)) => format!("{list}[{}]{rest}", original(gone, place)),
            _ => key.to_owned(),
        }
    }
}

/// The place of an element before the elements of these places, in ascending order, were taken out.
fn original(gone: &[usize], place: usize) -> usize {
    gone.iter().fold(place, |place, &before| place + usize::from(before <= place))
}

/// A step to a value of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Place(usize),
}

/// The steps of a key, as errors write keys: `flows[0].tcp.stack`.
pub(super) fn steps(key: &str) -> Vec<Step> {
    let parts = key.split(['.', '[']).filter(|part| !part.is_empty());
    let step = |part: &str| match part.strip_suffix(']').map(str::parse) {
        Some(Ok(place)) => Step::Place(place),
        _ => Step::Key(part.to_owned()),
    };
    parts.map(step).collect()
}

fn key_of(table: &str, name: &str) -> String {
    if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") }
}

fn at<'a>(tree: &'a mut Value, steps: &[Step]) -> Option<&'a mut Value> {
    steps.iter().try_fold(tree, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Place(place) => value.get_mut(place),
    })
}

/// The last step that is a key, and those above: an element of a list goes with its list.
fn leaf(steps: &[Step]) -> Option<(&Step, &[Step])> {
    let last = steps.iter().rposition(|step| matches!(step, Step::Key(_)))?;
    Some((&steps[last], &steps[..last]))
}

/// Takes the value of a key out of its table. Elements of lists stay: the places of the others would change.
fn remove(tree: &mut Value, above: &[Step], last: &Step) -> Option<Value> {
    match (at(tree, above)?, last) {
        (Value::Object(table), Step::Key(key)) => table.remove(key),
        _ => None,
    }
}

fn insert(tree: &mut Value, above: &[Step], last: &Step, value: Value) {
    if let (Some(Value::Object(table)), Step::Key(key)) = (at(tree, above), last) {
        table.insert(key.clone(), value);
    }
}
