//! Queues in a few letters: `pfifo:100`, `bfifo:150kB`, `fq_codel`, `codel:1000p`.
//!
//! The test bed's `--queue` and the `queue` of scenarios share this short form: a discipline's name, and after
//! a colon the limit. Where the name implies the unit, as `pfifo` and `bfifo` do in tc, the number may stand
//! alone; after other names the number needs a unit.

use crate::quantity::{Kind, shown};

/// The disciplines that have a name of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueName {
    /// First come, first served, counted in packets.
    Pfifo,
    /// First come, first served, counted in bytes.
    Bfifo,
    /// Counted in packets; a full queue drops the oldest packet.
    PfifoHeadDrop,
    /// First come, first served, counted as the limit says.
    DropTail,
    /// CoDel.
    Codel,
    /// FQ-CoDel.
    FqCodel,
    /// RED.
    Red,
    /// PIE.
    Pie,
    /// Deficit round robin.
    Drr,
    /// The adaptive limit.
    Adaptive,
    /// RDQM.
    Rdqm,
    /// The queues of mac80211.
    Mac80211,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
}

/// A queue: its discipline, and its limit if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueText {
    /// The discipline.
    pub name: QueueName,
    /// The most that waits.
    pub limit: Option<(u64, Counted)>,
}

impl QueueName {
    /// Every name.
    pub const ALL: [QueueName; 12] = [
        QueueName::Pfifo,
        QueueName::Bfifo,
        QueueName::PfifoHeadDrop,
        QueueName::DropTail,
        QueueName::Codel,
        QueueName::FqCodel,
        QueueName::Red,
        QueueName::Pie,
        QueueName::Drr,
        QueueName::Adaptive,
        QueueName::Rdqm,
        QueueName::Mac80211,
    ];

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            QueueName::Pfifo => "pfifo",
            QueueName::Bfifo => "bfifo",
            QueueName::PfifoHeadDrop => "pfifo_head_drop",
            QueueName::DropTail => "droptail",
            QueueName::Codel => "codel",
            QueueName::FqCodel => "fq_codel",
            QueueName::Red => "red",
            QueueName::Pie => "pie",
            QueueName::Drr => "drr",
            QueueName::Adaptive => "adaptive",
            QueueName::Rdqm => "rdqm",
            QueueName::Mac80211 => "mac80211",
        }
    }

    /// What the limit counts, if the name implies that.
    fn counted(self) -> Option<Counted> {
        match self {
            QueueName::Pfifo | QueueName::PfifoHeadDrop => Some(Counted::Packets),
            QueueName::Bfifo => Some(Counted::Bytes),
            _ => None,
        }
    }
}

impl Counted {
    /// Its name.
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

    /// A unit in which it can be counted.
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
        let names = QueueName::ALL.map(QueueName::word).join("|");
        format!("^({names})(:.+)?$")
    }

    /// Reads `text`; the error is one sentence.
    pub fn parse(text: &str) -> Result<QueueText, String> {
        let text = text.trim();
        let (word, after) = match text.split_once(':') {
            Some((word, after)) => (word, Some(after)),
            None => (text, None),
        };
        let Some(name) = QueueName::ALL.into_iter().find(|name| name.word() == word) else {
            let names = QueueName::ALL.map(QueueName::word).join(", ");
            return Err(format!(
                "{} is no queue; write a discipline and its limit, such as \"pfifo:100\" or \
                 \"bfifo:150kB\"; there are {names}",
                shown(text)
            ));
        };
        let found = after.map(|after| limit_of(name, after)).transpose();
        let limit = found.map_err(|problem| format!("the queue {}: {problem}", shown(text)))?;
        Ok(QueueText { name, limit })
    }

    /// The limit as a quantity.
    pub fn limit_text(&self) -> Option<String> {
        self.limit.map(|(count, counted)| format!("{count} {}", counted.unit()))
    }
}

fn limit_of(name: QueueName, text: &str) -> Result<(u64, Counted), String> {
    let Some(counted) = name.counted() else { return limit(text) };
    let bare = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unit = if bare { counted.unit() } else { "" };
    let count = counted.kind().parse(&format!("{text}{unit}")).map_err(|_| {
        let examples = match counted {
            Counted::Packets => format!("\"{0}:100\" or \"{0}:100p\"", name.word()),
            Counted::Bytes => format!("\"{0}:150000\" or \"{0}:150kB\"", name.word()),
        };
        let what = counted.word();
        format!("{} is not a whole number of {what}, as in {examples}", shown(text))
    })?;
    Ok((count as u64, counted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_and_a_limit_are_a_queue() {
        let read = |text| QueueText::parse(text).map(|queue| (queue.name, queue.limit)).unwrap();
        use Counted::{Bytes, Packets};
        assert_eq!(read("pfifo:100"), (QueueName::Pfifo, Some((100, Packets))));
        assert_eq!(read("pfifo:100 packets"), (QueueName::Pfifo, Some((100, Packets))));
        assert_eq!(read("bfifo:150000"), (QueueName::Bfifo, Some((150_000, Bytes))));
        assert_eq!(read(" bfifo:150kB"), (QueueName::Bfifo, Some((150_000, Bytes))));
        assert_eq!(read("pfifo_head_drop:30p"), (QueueName::PfifoHeadDrop, Some((30, Packets))));
        assert_eq!(read("fq_codel"), (QueueName::FqCodel, None));
        assert_eq!(read("codel:64 KiB"), (QueueName::Codel, Some((65_536, Bytes))));
        assert_eq!(QueueText::parse("codel:1p").unwrap().limit_text().unwrap(), "1 packets");
    }

    #[test]
    fn what_is_no_queue_is_said() {
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
