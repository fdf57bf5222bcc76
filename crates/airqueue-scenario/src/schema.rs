//! The JSON Schemas of scenario files, for editors, and of the reports of a network.

use super::buffers::Buffers;
use super::file::File;
use super::in_force::QueueInForce;
use super::monitor::{Map, Snapshot};
use super::reported::Figures;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::Value;

/// The JSON Schema (draft 2020-12) of scenario files.
pub fn schema() -> String {
    let settings = SchemaSettings::draft2020_12().with_transform(ForEditors);
    let schema = settings.into_generator().into_root_schema_for::<File>();
    serde_json::to_string_pretty(&schema).expect("a schema is JSON")
}

/// The JSON Schemas (draft 2020-12) of reports, by name under `$defs`: `Figures` of [`super::Run::results`], `Map` of
/// [`super::Monitor::map`], `Snapshot` of [`super::Monitor::snapshot`], `Buffers` of
/// [`Scenario::buffers`](super::Scenario::buffers), `QueueInForce` of
/// [`Scenario::queues_in_force`](super::Scenario::queues_in_force).
pub fn reported_schema() -> String {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.subschema_for::<Figures<'static>>();
    generator.subschema_for::<Map<'static>>();
    generator.subschema_for::<Snapshot<'static>>();
    generator.subschema_for::<Buffers>();
    generator.subschema_for::<QueueInForce<'static>>();
    let schema = serde_json::json!({ "$defs": generator.take_definitions(true) });
    serde_json::to_string_pretty(&schema).expect("a schema is JSON")
}

/// Removes what stems from the program rather than the format: TOML has no null, and descriptions have line breaks
/// where the source has them.
#[derive(Clone, Debug)]
struct ForEditors;

impl Transform for ForEditors {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(schema) = schema.as_object_mut() else { return };
        if let Some(Value::String(description)) = schema.get_mut("description") {
            *description = description.replace('\n', " ");
        }
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = &types[..] {
                let only = only.clone();
                schema.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(kinds)) = schema.get_mut("anyOf") {
            kinds.retain(|kind| kind["type"] != "null");
            if let [Value::Object(only)] = &kinds[..] {
                let only = only.clone();
                schema.remove("anyOf");
                schema.extend(only);
            }
        }
    }
}
