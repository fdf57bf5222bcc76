//! The short text form of queues: `pfifo:100`, `bfifo:150kB`, `fq_codel`, `codel:1000p`.
//!
//! The test bed's `--queue` and the `queue` of scenarios share this short form: a discipline's name, and after
//! a colon the limit. Where the name implies the unit, as `pfifo` and `bfifo` do in tc, the number may stand
//! alone; after other names the number needs a unit.

pub use crate::discipline::Counted;
use crate::discipline::Short;
use crate::droptail::DropFrom;
use crate::registry::{DisciplineName, QueueTable};
use airqueue_core::quantity::{Kind, Quantity, shown};

/// A queue: its discipline, and its limit if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueText {
    /// The discipline's word, as written in the text.
    pub word: &'static str,
    /// The discipline.
    pub discipline: DisciplineName,
    /// What a full queue drops, if the word says so.
    pub drop_from: Option<DropFrom>,
    /// The maximum that waits.
    pub limit: Option<(u64, Counted)>,
}

/// A word of the text form, its discipline, and the short name behind the word, if the word says more than the
/// discipline.
type Name = (&'static str, DisciplineName, Option<Short>);

/// All words: those of all disciplines, each after its short names.
fn names() -> impl Iterator<Item = Name> {
    DisciplineName::all().flat_map(|name| {
        let short = name.short().iter().map(move |short| (short.word, name, Some(*short)));
        short.chain([(name.word(), name, None)])
    })
}

/// All words, separated by `between`.
fn listed(between: &str) -> String {
    names().map(|(word, ..)| word).collect::<Vec<_>>().join(between)
}

impl Counted {
    /// The name of what the limit counts.
    pub fn word(self) -> &'static str {
        match self {
            Counted::Packets => "packets",
            Counted::Bytes => "bytes",
        }
    }

    fn kind(self) -> Kind {
        match self {
            Counted::Packets => Kind::Packets,
            Counted::Bytes => Kind::Size,
        }
    }

    /// A unit for the count.
    fn unit(self) -> &'static str {
        match self {
            Counted::Packets => "packets",
            Counted::Bytes => "B",
        }
    }
}

/// Reads a limit in packets or bytes; the error is one sentence.
pub fn limit(text: &str) -> Result<(u64, Counted), String> {
    let of = |counted: Counted| counted.kind().parse(text).map(|count| (count as u64, counted));
    of(Counted::Packets).or_else(|_| of(Counted::Bytes)).map_err(|_| {
        format!(
            "{} is not a limit; write packets or bytes, such as \"50 packets\", \"64p\" or \"150kB\"",
            shown(text)
        )
    })
}

impl QueueText {
    /// The accepted form, as a regular expression.
    pub fn pattern() -> String {
        format!("^({})(:.+)?$", listed("|"))
    }

    /// Reads `text`; the error is one sentence.
    ///
    /// # Errors
    ///
    /// The part that is not valid, and the words that are.
    pub fn parse(text: &str) -> Result<QueueText, String> {
        let text = text.trim();
        let (written, after) = match text.split_once(':') {
            Some((word, after)) => (word, Some(after)),
            None => (text, None),
        };
        let Some((word, discipline, short)) = names().find(|(word, ..)| *word == written) else {
            return Err(format!(
                "{} is no queue; write a discipline and its limit, such as \"pfifo:100\" or \
                 \"bfifo:150kB\"; there are {}",
                shown(text),
                listed(", ")
            ));
        };
        let found = after.map(|after| limit_of(short, after)).transpose();
        let limit = found.map_err(|problem| format!("the queue {}: {problem}", shown(text)))?;
        Ok(QueueText { word, discipline, drop_from: short.map(|short| short.drop_from), limit })
    }

    /// The table of keys that the text stands for.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, in one sentence.
    pub fn table(text: &str) -> Result<QueueTable, String> {
        let queue = QueueText::parse(text)?;
        let written = |(count, counted): (u64, Counted)| format!("{count} {}", counted.unit());
        let limit = queue.limit.map(|limit| Quantity::parse(&written(limit))).transpose();
        let limit =
            limit.map_err(|problem| format!("the limit of the queue {text:?}: {problem}"))?;
        let QueueText { discipline, drop_from, .. } = queue;
        let discipline = Some(discipline);
        Ok(QueueTable { discipline, drop_from, limit, ..QueueTable::default() })
    }
}

fn limit_of(short: Option<Short>, text: &str) -> Result<(u64, Counted), String> {
    let Some(Short { word, counts, .. }) = short else { return limit(text) };
    let bare = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unit = if bare { counts.unit() } else { "" };
    let count = counts.kind().parse(&format!("{text}{unit}")).map_err(|_| {
        let examples = match counts {
            Counted::Packets => format!("\"{word}:100\" or \"{word}:100p\""),
            Counted::Bytes => format!("\"{word}:150000\" or \"{word}:150kB\""),
        };
        let what = counts.word();
        format!("{} is not a whole number of {what}, as in {examples}", shown(text))
    })?;
    Ok((count as u64, counts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_and_a_limit_are_a_queue() {
        let read = |text| QueueText::parse(text).map(|queue| (queue.word, queue.limit)).unwrap();
        use Counted::{Bytes, Packets};
        assert_eq!(read("pfifo:100"), ("pfifo", Some((100, Packets))));
        assert_eq!(read("pfifo:100 packets"), ("pfifo", Some((100, Packets))));
        assert_eq!(read("bfifo:150000"), ("bfifo", Some((150_000, Bytes))));
        assert_eq!(read(" bfifo:150kB"), ("bfifo", Some((150_000, Bytes))));
        assert_eq!(read("pfifo_head_drop:30p"), ("pfifo_head_drop", Some((30, Packets))));
        assert_eq!(read("fq_codel"), ("fq_codel", None));
        assert_eq!(read("codel:64 KiB"), ("codel", Some((65_536, Bytes))));
    }

    #[test]
    fn a_text_is_a_table() {
        let table = QueueText::table("pfifo_head_drop:30").unwrap();
        assert_eq!(table.discipline, Some(DisciplineName::DropTail));
        assert_eq!(table.drop_from, Some(DropFrom::Head));
        assert_eq!(table.limit.unwrap().text, "30 packets");
        for name in DisciplineName::all() {
            let table = QueueText::table(name.word()).unwrap();
            assert_eq!((table.discipline, table.limit.is_none()), (Some(name), true));
        }
    }

    #[test]
    fn texts_of_other_forms_are_refused() {
        for (text, says) in [
            ("", "is no queue"),
            ("fifo:5", "there are pfifo, bfifo"),
            ("PFIFO:5", "is no queue"),
            ("pfifo:", "\"\" is not a whole number of packets, as in \"pfifo:100\""),
            ("pfifo:1.5", "\"1.5\" is not a whole number of packets"),
            ("pfifo:-1", "not a whole number"),
            ("pfifo:5kB", "\"5kB\" is not a whole number of packets"),
            ("bfifo:5p", "\"5p\" is not a whole number of bytes, as in \"bfifo:150000\""),
            (
                "codel:1000",
                "the queue \"codel:1000\": \"1000\" is not a limit; write packets or bytes",
            ),
        ] {
            let said = QueueText::parse(text).unwrap_err();
            assert!(said.contains(says), "{text}: {said}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_queue_or_one_sentence(text in "\\PC{0,20}|[pb]fifo:[0-9.kBp ]{0,6}") {
            if let Err(said) = QueueText::parse(&text) {
                prop_assert!(!said.contains('\n') && said.len() < 300, "{}", said);
            }
        }
    }
}
