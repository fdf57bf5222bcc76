//! What `uci export` prints: sections (`config queue 'eth1'`) with a line for each option and for each entry of a list.
//!
//! A text is between apostrophes; an apostrophe in it is written `'\''`, as shells have it (`uci_escape`). It may have
//! line ends. `uci show` does not tell a list of one entry from an option.

use airqueue_control::plan::UciValue;
use std::collections::BTreeMap;

/// A section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its type.
    pub kind: String,
    /// Its options.
    pub options: BTreeMap<String, UciValue>,
}

/// The sections that have names, by these. Errors say at which line something else is.
pub fn read(text: &str) -> Result<BTreeMap<String, Section>, String> {
    let mut sections: BTreeMap<String, Section> = BTreeMap::new();
    // That of the lines of options: one without a name is left out.
    let mut current: Option<String> = None;
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(['\n', '\t']);
        if rest.is_empty() {
            return Ok(sections);
        }
        let wrong = || {
            let line = text[..text.len() - rest.len()].matches('\n').count() + 1;
            format!("line {line} is neither a section nor an option")
        };
        let (head, quoted, after) = statement(rest).ok_or_else(wrong)?;
        let mut words = head.split(' ');
        let word = (words.next().unwrap_or_default(), words.next(), words.next());
        match (word, quoted) {
            (("package", Some(_), None), None) => {}
            (("config", Some(kind), None), name) => {
                current = name;
                if let Some(name) = &current {
                    let kind = kind.to_owned();
                    sections.insert(name.clone(), Section { kind, options: BTreeMap::new() });
                }
            }
            ((word @ ("option" | "list"), Some(option), None), Some(value)) => {
                let section = current.as_ref().and_then(|name| sections.get_mut(name));
                if let Some(section) = section {
                    add(section, word == "list", option, value);
                }
            }
            _ => return Err(wrong()),
        }
        rest = after;
    }
}

fn add(section: &mut Section, is_list: bool, option: &str, value: String) {
    match section.options.get_mut(option) {
        Some(UciValue::List(list)) if is_list => list.push(value),
        _ => {
            let value = if is_list { UciValue::List(vec![value]) } else { UciValue::Text(value) };
            section.options.insert(option.to_owned(), value);
        }
    }
}

/// The words of a line, the text between apostrophes at its end, and what comes behind the line.
fn statement(from: &str) -> Option<(&str, Option<String>, &str)> {
    let end = from.find(['\'', '\n']).unwrap_or(from.len());
    let (head, rest) = from.split_at(end);
    if !rest.starts_with('\'') {
        return Some((head, None, rest));
    }
    let (text, after) = quoted(rest)?;
    let is_end = after.is_empty() || after.starts_with('\n');
    is_end.then_some((head.strip_suffix(' ')?, Some(text), after))
}

fn quoted(from: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut rest = from.strip_prefix('\'')?;
    loop {
        let (part, after) = rest.split_once('\'')?;
        text.push_str(part);
        match after.strip_prefix("\\''") {
            Some(next) => {
                text.push('\'');
                rest = next;
            }
            None => return Some((text, after)),
        }
    }
}
