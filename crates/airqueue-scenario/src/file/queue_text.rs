//! The queue of a scenario in a few letters, in place of a table: `queue = "pfifo:100"`.

use super::{DisciplineName, DropFromName, QueueTable};
use crate::quantity::Quantity;
use airqueue_core::keys::Table;
use airqueue_core::queue_text::{QueueName, QueueText};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A table of keys, or a text that stands for one.
pub(crate) struct QueueGiven(pub(crate) Table<QueueTable>);

/// The table, however it is given.
pub(super) fn queue_table<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Table<QueueTable>, D::Error> {
    QueueGiven::deserialize(deserializer).map(|given| given.0)
}

/// The same, where there may be none.
pub(super) fn some_queue_table<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Table<QueueTable>>, D::Error> {
    Ok(Option::<QueueGiven>::deserialize(deserializer)?.map(|given| given.0))
}

fn table(text: &str) -> Result<QueueTable, String> {
    let queue = QueueText::parse(text)?;
    let limit = queue.limit_text().map(|limit| Quantity::parse(&limit)).transpose();
    let limit = limit.map_err(|problem| format!("the limit of the queue {text:?}: {problem}"))?;
    let (discipline, drop_from) = match queue.name {
        QueueName::Pfifo | QueueName::Bfifo => (DisciplineName::DropTail, Some(DropFromName::Tail)),
        QueueName::PfifoHeadDrop => (DisciplineName::DropTail, Some(DropFromName::Head)),
        QueueName::DropTail => (DisciplineName::DropTail, None),
        QueueName::Codel => (DisciplineName::Codel, None),
        QueueName::FqCodel => (DisciplineName::FqCodel, None),
        QueueName::Red => (DisciplineName::Red, None),
        QueueName::Pie => (DisciplineName::Pie, None),
        QueueName::Drr => (DisciplineName::Drr, None),
        QueueName::Adaptive => (DisciplineName::Adaptive, None),
        QueueName::Rdqm => (DisciplineName::Rdqm, None),
        QueueName::Mac80211 => (DisciplineName::Mac80211, None),
    };
    Ok(QueueTable { discipline: Some(discipline), drop_from, limit, ..QueueTable::default() })
}

struct QueueVisitor;

impl<'de> Visitor<'de> for QueueVisitor {
    type Value = QueueGiven;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a table of keys, or a queue such as \"pfifo:100\"")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<QueueGiven, E> {
        table(text).map(|table| QueueGiven(Table(table))).map_err(E::custom)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<QueueGiven, A::Error> {
        QueueTable::deserialize(MapAccessDeserializer::new(map))
            .map(|table| QueueGiven(Table(table)))
    }
}

impl<'de> Deserialize<'de> for QueueGiven {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<QueueGiven, D::Error> {
        deserializer.deserialize_any(QueueVisitor)
    }
}

impl JsonSchema for QueueGiven {
    fn schema_name() -> Cow<'static, str> {
        "Queue".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A queue: a table of keys, or a discipline and its limit in a few letters",
            "anyOf": [
                generator.subschema_for::<Table<QueueTable>>(),
                { "type": "string", "pattern": QueueText::pattern() },
            ],
            "examples": ["pfifo:100", "bfifo:150kB", "fq_codel"],
        })
    }
}
