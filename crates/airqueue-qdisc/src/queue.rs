//! A queue as tables of keys describe it: the discipline, the limit, and the driver ring behind the discipline.

use crate::discipline::{Around, Facts, Link, Place};
use crate::droptail::DropFrom;
use crate::registry::{Discipline, DisciplineName, QueueTable};
use airqueue_core::keys::check::{any, plain, some};
use airqueue_core::keys::{Layers, Result, wrong};
use airqueue_core::{BoxedQueue, Limit, RandomStream, take};
use std::fmt::Display;

/// Packets of the ring in which a MAC that aggregates finds packets for one receiver, if the discipline in front of the
/// ring cannot be searched for them.
const AGGREGATING_RING: usize = 64;

/// An interface of a station: the queue of one access category.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueSpec {
    /// The queue discipline.
    pub discipline: Discipline,
    /// The hard limit.
    pub limit: Limit,
    /// Bytes that the queue counts on top of each IP packet, wherever the queue counts bytes.
    pub link_layer_bytes: u32,
    /// Packets of the driver ring behind the discipline; 0: no ring. The packet that the MAC is sending is in neither
    /// of them.
    pub ring_packets: usize,
    /// The limit, if it is in packets, is of all packets at the interface: those that wait, and those that the MAC
    /// holds.
    pub counts_in_hand: bool,
}

impl QueueSpec {
    /// A drop-tail queue without a ring.
    pub fn new(limit: Limit) -> QueueSpec {
        let discipline = DisciplineName::DropTail.by_itself();
        QueueSpec { discipline, limit, link_layer_bytes: 0, ring_packets: 0, counts_in_hand: false }
    }

    /// The queue that tables describe, in front of a link.
    ///
    /// # Errors
    ///
    /// The key that is wrong, and why.
    pub fn check(tables: &Layers<'_, QueueTable>, link: Link) -> Result<QueueSpec> {
        let name = DisciplineName::of(tables);
        check_link(tables, name, link)?;
        let mut around = Around { limit: None, drop_from: DropFrom::default(), link };
        take!(around.limit, tables.limit, some);
        take!(around.drop_from, tables.drop_from, any);
        let discipline = name.check(tables, &around)?;
        let facts = discipline.facts();
        let mut spec = QueueSpec {
            discipline,
            limit: around.limit.unwrap_or(facts.limit),
            link_layer_bytes: 0,
            ring_packets: 0,
            counts_in_hand: false,
        };
        if link == (Link::Air { aggregates: true }) && !facts.searched {
            spec.ring_packets = AGGREGATING_RING;
        }
        take!(spec.ring_packets, tables.ring, |ring| Ok::<_, &str>(ring.value as usize));
        take!(spec.link_layer_bytes, tables.link_layer, plain);
        Ok(spec)
    }

    /// The queue at a station whose limits count the packets that the MAC holds, if `counts`: those of a FIFO without a
    /// ring. Other disciplines, and a queue in front of a ring, are apart from the MAC there, too.
    pub fn counting_in_hand(self, counts: bool) -> QueueSpec {
        let fifo = self.discipline.facts().fifo && self.ring_packets == 0;
        QueueSpec { counts_in_hand: counts && fifo, ..self }
    }

    /// An empty queue of this discipline, without the ring; `rng` gives the random numbers and the keys of the hash.
    pub fn make(&self, rng: RandomStream) -> BoxedQueue {
        let QueueSpec { limit, link_layer_bytes: link_layer, .. } = *self;
        self.discipline.make(Place { limit, link_layer, rng })
    }

    /// How much always fits into the queue, whatever the discipline decides at run time: at most each of these limits.
    pub fn room(&self) -> impl Iterator<Item = Limit> {
        std::iter::once(self.limit).chain(self.discipline.facts().room)
    }
}

/// Refuses airtime sharing on a link that does not report airtime: the queue would wait for these reports for ever.
fn check_link(tables: &Layers<'_, QueueTable>, name: DisciplineName, link: Link) -> Result<()> {
    let why = match link {
        Link::Air { .. } => return Ok(()),
        Link::Wire => "a wired link has none; choose another",
        Link::TokenBucket => "a token bucket reports none; choose another, or simulate a network",
    };
    match tables.find("discipline", |queue| queue.discipline.as_ref()) {
        Some(given) if name.by_itself().facts().shares_airtime => {
            wrong(given.key, format_args!("{:?} shares airtime, and {why}", name.word()))
        }
        _ => Ok(()),
    }
}

/// Refuses keys without effect: keys in `table`, whose name is `key`, of disciplines that none of its queues has.
///
/// # Errors
///
/// The key without effect.
pub fn check_used(key: impl Display, table: &QueueTable, queues: &[DisciplineName]) -> Result<()> {
    let has = |name| queues.contains(&name);
    if let Some(other) = table.tables().find(|&name| !has(name)) {
        let word = other.word();
        let problem = format_args!(
            "{}; give discipline = {word:?} beside it, or leave it out",
            not_used(queues)
        );
        return wrong(format_args!("{key}.{word}"), problem);
    }
    let drops_from = |name: &DisciplineName| name.by_itself().facts().drops_from;
    if table.drop_from.is_some() && !queues.iter().any(drops_from) {
        let problem = format_args!("{}; leave it out", not_used(queues));
        return wrong(format_args!("{key}.drop_from"), problem);
    }
    Ok(())
}

fn not_used(queues: &[DisciplineName]) -> String {
    match queues {
        [only] => format!("the queue has the discipline {:?}", only.word()),
        _ => "no queue has the discipline for it".to_owned(),
    }
}

/// The schema's description of the key `limit`.
pub(crate) fn limit_words() -> String {
    let said = |limit| match limit {
        Limit::Packets(packets) => format!("`{packets} packets`"),
        Limit::Bytes(_) => "that of the memory".to_owned(),
    };
    let mut groups: Vec<(Limit, Vec<&str>)> = Vec::new();
    for name in DisciplineName::all() {
        let limit = name.by_itself().facts().limit;
        match groups.iter_mut().find(|(of, _)| *of == limit) {
            Some((_, words)) => words.push(name.word()),
            None => groups.push((limit, vec![name.word()])),
        }
    }
    let groups = groups.iter().map(|(limit, words)| format!("{} for {}", said(*limit), and(words)));
    format!(
        "Limit of the queue, in packets or in bytes of IP packets; with {} the limit of each flow or link. The default is {}.",
        and(&those_with(|facts| facts.apart.is_some())),
        groups.collect::<Vec<_>>().join(", ")
    )
}

/// The schema's description of the key `drop_from`.
pub(crate) fn drop_from_words() -> String {
    let choose = those_with(|facts| facts.drops_from);
    format!(
        "What a full queue of {} drops. The default is the arriving packet: tail.",
        choose.join(" or ")
    )
}

/// The schema's description of the key `ring`.
pub(crate) fn ring_words() -> String {
    let behind = those_with(|facts| !facts.searched);
    format!(
        "Packets of a driver ring between the queue and the MAC. The default is `0 packets`: no ring; behind {} the default is \
         `{AGGREGATING_RING} packets` where the MAC aggregates and searches the ring for packets to one receiver.",
        and(&behind)
    )
}

/// The names of the disciplines that have a property with default parameters.
fn those_with(has: impl Fn(&Facts) -> bool) -> Vec<&'static str> {
    let all = DisciplineName::all().filter(|name| has(&name.by_itself().facts()));
    all.map(DisciplineName::word).collect()
}

/// The disciplines that have a property with default parameters, as an error message offers them: `"drr"`.
pub fn offered(has: impl Fn(&Facts) -> bool) -> String {
    let quoted = |word| format!("{word:?}");
    those_with(has).into_iter().map(quoted).collect::<Vec<_>>().join(" or ")
}

/// `a, b and c`.
fn and(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
