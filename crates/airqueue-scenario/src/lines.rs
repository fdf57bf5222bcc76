//! Where the keys of a scenario stand in the text of its file.

use super::problems::{Step, steps};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The lines, from 1, on which keys such as `flows[0].rate` stand in a TOML text. A key that the text does not have is
/// where the innermost table or list around it begins; `None`: nothing around it is there either, or the text is no TOML.
pub fn toml_lines(text: &str, keys: &[String]) -> Vec<Option<usize>> {
    let Ok(table) = DeTable::parse(text) else { return vec![None; keys.len()] };
    let line = |at: usize| 1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count();
    keys.iter().map(|key| place(table.get_ref(), &steps(key)).map(line)).collect()
}

/// The first byte of the key, or of what is there on the way.
fn place(table: &DeTable<'_>, steps: &[Step]) -> Option<usize> {
    let (Step::Key(name), rest) = steps.split_first()? else { return None };
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == name)?;
    within(value, rest).or(Some(key.span().start))
}

fn within(value: &Spanned<DeValue<'_>>, steps: &[Step]) -> Option<usize> {
    match (value.get_ref(), steps) {
        (DeValue::Table(table), [_, ..]) => place(table, steps),
        (DeValue::Array(list), [Step::Place(at), rest @ ..]) => {
            let element = list.get(*at)?;
            within(element, rest).or(Some(element.span().start))
        }
        _ => None,
    }
}
