//! A queue in a scenario: a table of keys, or a short text instead of the table.

use crate::registry::QueueTable;
use crate::text::QueueText;
use airqueue_core::keys::Table;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// A table of keys, or a text that stands for one: `queue = "pfifo:100"`.
#[derive(Clone, Debug, Default)]
pub struct QueueGiven(Table<QueueTable>);

impl Deref for QueueGiven {
    type Target = QueueTable;
    fn deref(&self) -> &QueueTable {
        &self.0
    }
}

struct QueueVisitor;

impl<'de> Visitor<'de> for QueueVisitor {
    type Value = QueueGiven;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a table of keys, or a queue such as \"pfifo:100\"")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<QueueGiven, E> {
        QueueText::table(text).map(|table| QueueGiven(Table(table))).map_err(E::custom)
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
