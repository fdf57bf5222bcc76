//! Keys of scenario files that have another name by now. The old name is read for one version more.
//!
//! A rename is one line of [`RENAMES`]. Old keys are moved to their new names in the file's tree before anything else reads
//! the tree: tables, checks and errors know the new names alone.

use super::error::{Result, error, wrong};
use serde_json::{Map, Value};
use std::fmt;

/// The version that does not read the old names any more.
const UNTIL: &str = "0.2";

/// Paths of the tables of TCP, of queues and of others; `[]` is each element of a list.
const TCP: &[&str] = &["tcp", "flows[].tcp"];
const MAC80211: &[&str] =
    &["queue.mac80211", "stations[].queue.mac80211", "hosts[].queue.mac80211"];
const DRR: &[&str] = &["queue.drr", "stations[].queue.drr", "hosts[].queue.drr"];
const BUFFERS: &[&str] = &["buffers"];
const WEB: &[&str] = &["flows[].web"];
const RANDOM: &[&str] = &["stations[].random"];
const FLOWS: &[&str] = &["flows[]"];

/// Tables, the old name of a key in them, and the key's present name.
const RENAMES: [(&[&str], &str, &str); 11] = [
    (TCP, "like", "stack"),
    (MAC80211, "turn", "airtime_quantum"),
    (DRR, "by", "queue_per"),
    (BUFFERS, "look", "sample_interval"),
    (BUFFERS, "every", "refresh_interval"),
    (BUFFERS, "change", "min_change"),
    (BUFFERS, "hold", "hold_time"),
    (BUFFERS, "queues", "limit_per"),
    (WEB, "law", "distribution"),
    (RANDOM, "apart", "min_distance"),
    (FLOWS, "volume", "transfer_size"),
];

/// An old key that a scenario has. As text it is a sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenamedKey {
    /// The keys and indices that lead to the table.
    pub table: Vec<String>,
    /// The key's name in the scenario.
    pub old: &'static str,
    /// The key's present name.
    pub new: &'static str,
}

impl RenamedKey {
    /// The whole key, as errors write keys: `flows[0].tcp.stack`.
    fn written(&self, name: &str) -> String {
        let mut key = String::new();
        for step in &self.table {
            if step.bytes().all(|byte| byte.is_ascii_digit()) {
                key += &format!("[{step}]");
            } else {
                key += if key.is_empty() { "" } else { "." };
                key += step;
            }
        }
        format!("{key}.{name}")
    }
}

impl fmt::Display for RenamedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (old, new) = (self.written(self.old), self.written(self.new));
        write!(f, "{old} is now called {new}; the old name is read until version {UNTIL}")
    }
}

/// The old keys of a scenario, a JSON object with the keys of a scenario file.
///
/// # Errors
///
/// If the text is not JSON, or has both the old and the new name of a key.
pub fn renamed_keys(text: &str) -> Result<Vec<RenamedKey>> {
    let mut tree: Value = serde_json::from_str(text).map_err(|problem| error("", problem))?;
    rename(&mut tree)
}

/// Gives old keys their new names, and returns the old keys.
pub(super) fn rename(tree: &mut Value) -> Result<Vec<RenamedKey>> {
    let mut found = Vec::new();
    for (tables, old, new) in RENAMES {
        for table in tables {
            in_tables(tree, table, &mut Vec::new(), &mut |holder, steps| {
                let Some(value) = holder.remove(old) else { return Ok(()) };
                let key = RenamedKey { table: steps.to_vec(), old, new };
                if holder.contains_key(new) {
                    let problem = format_args!(
                        "the key is now called {}, which is given too; leave the old one out",
                        key.written(new)
                    );
                    return wrong(key.written(old), problem);
                }
                holder.insert(new.to_owned(), value);
                found.push(key);
                Ok(())
            })?;
        }
    }
    Ok(found)
}

/// Calls `change` with each table below `value` that the pattern leads to, and the steps that lead there.
fn in_tables<F>(
    value: &mut Value,
    pattern: &str,
    steps: &mut Vec<String>,
    change: &mut F,
) -> Result<()>
where
    F: FnMut(&mut Map<String, Value>, &[String]) -> Result<()>,
{
    let Value::Object(table) = value else { return Ok(()) };
    if pattern.is_empty() {
        return change(table, steps);
    }
    let (key, rest) = pattern.split_once('.').unwrap_or((pattern, ""));
    let name = key.trim_end_matches("[]");
    let Some(inner) = table.get_mut(name) else { return Ok(()) };
    steps.push(name.to_owned());
    match (inner, name == key) {
        (Value::Array(elements), false) => {
            for (at, element) in elements.iter_mut().enumerate() {
                steps.push(at.to_string());
                in_tables(element, rest, steps, change)?;
                steps.pop();
            }
        }
        (inner, true) => in_tables(inner, rest, steps, change)?,
        // One table where a list is expected; reading the tree reports this.
        (_, false) => {}
    }
    steps.pop();
    Ok(())
}
