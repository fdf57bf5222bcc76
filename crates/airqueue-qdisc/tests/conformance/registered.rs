//! Every registered discipline, with tables drawn from the schema of its keys.

use super::rng;
use super::trial::{Full, calls, conform};
use airqueue_core::keys::{KeyError, Layers};
use airqueue_qdisc::queue::check_used;
use airqueue_qdisc::{Discipline, DisciplineName, Link, QueueSpec, QueueTable};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use serde_json::{Map, Value, json};

/// The schema of a queue's keys.
fn schema() -> Value {
    schemars::schema_for!(QueueTable).to_value()
}

/// The keys of a discipline's own table, with the schema of each.
fn own_keys(schema: &Value, name: DisciplineName) -> Vec<(String, Value)> {
    let Some(property) = schema["properties"].get(name.word()) else { return Vec::new() };
    let table = resolved(schema, property);
    let keys = table["properties"].as_object().expect("a table has keys");
    keys.iter().map(|(key, of)| (key.clone(), resolved(schema, of))).collect()
}

/// The schema itself, where a schema refers to another schema or allows null.
fn resolved(schema: &Value, of: &Value) -> Value {
    if let Some(name) = of["$ref"].as_str() {
        let name = name.rsplit('/').next().expect("a name");
        let mut found = resolved(schema, &schema["$defs"][name]);
        found["description"] = of.get("description").unwrap_or(&found["description"]).clone();
        found["name"] = json!(name);
        return found;
    }
    let some = of["anyOf"].as_array().and_then(|of| of.iter().find(|of| of["type"] != "null"));
    match some {
        Some(some) => {
            let mut found = resolved(schema, some);
            found["description"] = of["description"].clone();
            found
        }
        None => of.clone(),
    }
}

/// Values of a key: small values, so that much happens within some milliseconds. Some values are refused.
fn value(of: &Value) -> BoxedStrategy<Value> {
    let texts = |texts: &[&str]| select(texts.iter().map(|&text| json!(text)).collect::<Vec<_>>());
    if let Some(words) = of["oneOf"].as_array() {
        return select(words.iter().map(|word| word["const"].clone()).collect::<Vec<_>>()).boxed();
    }
    let kind = |name: &str| match &of["type"] {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == name),
        kind => kind == name,
    };
    if kind("boolean") {
        return any::<bool>().prop_map(Value::from).boxed();
    }
    if kind("integer") {
        let least = of["minimum"].as_u64().unwrap_or(0);
        return (least..least + 8).prop_map(Value::from).boxed();
    }
    if kind("number") {
        let end = |key: &str, or| of[key].as_f64().unwrap_or(or);
        return (end("minimum", 0.0)..end("maximum", 1.0)).prop_map(Value::from).boxed();
    }
    match of["name"].as_str() {
        Some("Duration") => texts(&["1 us", "500 us", "2 ms", "5 ms", "20 ms", "1 s"]).boxed(),
        Some("Size") => texts(&["1 B", "64 B", "300 B", "1514 B", "6000 B", "20 kB"]).boxed(),
        Some("Packets") => texts(&["1 packet", "3 packets", "9 packets"]).boxed(),
        Some("QueueLimit") => {
            texts(&["1 packet", "3 packets", "9 packets", "3 kB", "9 kB"]).boxed()
        }
        Some("Rate") => texts(&["100 kb/s", "8 Mb/s", "1 Gb/s"]).boxed(),
        _ => Just(of["examples"][0].clone()).boxed(),
    }
}

/// A random subset of the keys, each with a value.
fn some_of(keys: Vec<(String, Value)>) -> impl Strategy<Value = Map<String, Value>> {
    let given = |(key, of): (String, Value)| value(&of).prop_map(move |value| (key.clone(), value));
    let each: Vec<_> = keys.into_iter().map(given).collect();
    let all = each.len();
    (each, subsequence((0..all).collect::<Vec<_>>(), 0..=all))
        .prop_map(|(each, chosen)| chosen.into_iter().map(|at| each[at].clone()).collect())
}

/// A table of a queue with this discipline.
fn table(name: DisciplineName) -> impl Strategy<Value = Value> {
    let schema = schema();
    let common = ["limit", "drop_from", "link_layer"]
        .map(|key| (key.to_owned(), resolved(&schema, &schema["properties"][key])));
    let common = common
        .into_iter()
        .filter(|(key, _)| key != "drop_from" || name.by_itself().facts().drops_from);
    let own = own_keys(&schema, name);
    (some_of(common.collect()), some_of(own)).prop_map(move |(mut table, own)| {
        table.insert("discipline".to_owned(), json!(name.word()));
        if !own.is_empty() {
            table.insert(name.word().to_owned(), Value::Object(own));
        }
        Value::Object(table)
    })
}

fn read(table: &Value) -> QueueTable {
    serde_json::from_value(table.clone()).expect("keys and values of the schema")
}

fn check(table: &Value) -> Result<QueueSpec, KeyError> {
    let table = read(table);
    let layers = Layers::new(vec![("queue".to_owned(), &table)]);
    check_used("queue", &table, &[DisciplineName::of(&layers)])?;
    QueueSpec::check(&layers, Link::Air { aggregates: false })
}

/// The queue that a table describes, without the keys that are refused. Each refusal names a key of the table.
fn accepted(mut table: Value) -> QueueSpec {
    loop {
        let refused = match check(&table) {
            Ok(spec) => return spec,
            Err(refused) => refused,
        };
        let pointer = refused.key.strip_prefix("queue").expect("the table").replace('.', "/");
        let (parent, key) = pointer.rsplit_once('/').expect("a key of the table");
        let parent = table.pointer_mut(parent).and_then(Value::as_object_mut);
        let removed = parent.and_then(|parent| parent.remove(key));
        assert!(removed.is_some(), "{refused} names a key that is not there");
        assert!(!refused.problem.is_empty());
    }
}

fn full(discipline: &Discipline) -> Full {
    let facts = discipline.facts();
    match (facts.drops_waiting, facts.full_below_limit) {
        (false, false) => Full::Arrivals,
        (true, false) => Full::Waiting,
        (false, true) => Full::Own,
        (true, true) => Full::Any,
    }
}

fn tables() -> Vec<BoxedStrategy<Value>> {
    DisciplineName::all().map(|name| table(name).boxed()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Each case has one table of each discipline.
    #[test]
    fn every_registered_discipline(tables in tables(), calls in calls()) {
        for table in tables {
            let spec = accepted(table);
            conform(|| spec.make(rng()), full(&spec.discipline), &calls);
        }
    }

    /// Tables of disciplines other than the named discipline are refused.
    #[test]
    fn tables_of_others_are_refused(one in any::<Index>(), other in any::<Index>()) {
        let all: Vec<DisciplineName> = DisciplineName::all().collect();
        let (one, other) = (*one.get(&all), *other.get(&all));
        let mut table = json!({"discipline": one.word()});
        prop_assume!(!own_keys(&schema(), other).is_empty());
        table[other.word()] = json!({});
        match check(&table) {
            Ok(_) => prop_assert_eq!(one, other),
            Err(refused) => prop_assert_eq!(refused.key, format!("queue.{}", other.word())),
        }
    }
}

/// The default that a key's comment states, in the form in which the key takes values.
fn stated_default(of: &Value) -> Option<Value> {
    let said = of["description"].as_str()?.split("The default is ").nth(1)?;
    let said = said.trim_end_matches('.').trim_matches('`');
    let read = serde_json::from_str(said).unwrap_or_else(|_| json!(said));
    let word =
        of["oneOf"].as_array().is_some_and(|words| words.iter().any(|word| word["const"] == read));
    let quantity = of["pattern"].is_string() && said.starts_with(|c: char| c.is_ascii_digit());
    (word || quantity || !read.is_string()).then_some(read)
}

#[test]
fn defaults_are_those_that_comments_state() {
    let schema = schema();
    let mut stated = 0;
    for name in DisciplineName::all() {
        let alone = check(&json!({"discipline": name.word()})).unwrap();
        assert_eq!(alone.discipline, name.by_itself());
        assert_eq!(alone.limit, alone.discipline.facts().limit);
        for (key, of) in own_keys(&schema, name) {
            let Some(value) = stated_default(&of) else { continue };
            let table = json!({"discipline": name.word(), name.word(): {&key: value}});
            assert_eq!(check(&table).unwrap(), alone, "{}.{key}", name.word());
            stated += 1;
        }
    }
    // Most keys have a plain default.
    assert!(stated > 50, "{stated}");
}

#[test]
fn every_key_says_what_it_is() {
    let schema = schema();
    for name in DisciplineName::all() {
        assert!(airqueue_core::keys::Word::about(name).ends_with('.'), "{}", name.word());
        for (key, of) in own_keys(&schema, name) {
            let said = of["description"].as_str().unwrap_or_default();
            assert!(said.len() > 10, "{}.{key} has no comment", name.word());
        }
    }
}
