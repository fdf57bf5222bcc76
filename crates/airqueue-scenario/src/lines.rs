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

#[cfg(test)]
mod tests {
    use super::toml_lines;

    const TEXT: &str = "duration = \"1 s\"\n\n[phy]\nstandard = \"802.11g\"\n\n[[stations]]\nname = \"a\"\n\n[[stations]]\n\
                        name = \"b\"\nqueue = {limit = \"5 packets\"}\nmac.edca.be = {\n  aifsn = 3,\n}\n";

    #[test]
    fn a_key_is_on_its_line_or_on_that_of_what_is_around() {
        let line = |key: &str| toml_lines(TEXT, &[key.to_owned()])[0];
        assert_eq!(line("duration"), Some(1));
        assert_eq!(line("phy.standard"), Some(4));
        assert_eq!(line("phy.rate"), Some(3));
        assert_eq!(line("stations[0].name"), Some(7));
        assert_eq!(line("stations[1].queue.limit"), Some(11));
        assert_eq!(line("stations[1].queue.ring"), Some(11));
        assert_eq!(line("stations[1].mac.edca.be.aifsn"), Some(13));
        assert_eq!(line("stations[1].rate"), Some(9));
        assert_eq!(line("flows[0]"), None);
        assert_eq!(line(""), None);
        assert_eq!(toml_lines("= 1", &["a".to_owned()]), [None]);
    }
}
