//! Words and names in scenarios, what is meant by others, and the lines on which keys are.

use crate::scenarios::{refusal_of, set};
use airqueue_scenario::{Scenario, toml_lines};
use serde_json::{Value, json};

fn of_two(one: &str, other: &str) -> Value {
    json!({
        "phy": {"standard": "802.11g"},
        "stations": [{"name": one}, {"name": other}],
        "tcp": {},
        "flows": [{"from": one, "to": other}],
    })
}

#[test]
fn what_is_meant_is_the_nearest_name_alone() {
    let hint = |one, other, key: &str, found: &str| {
        let refusal = refusal_of(set(of_two(one, other), key, json!(found)));
        refusal.split_once("; ").map(|(_, hint)| hint.to_owned())
    };
    let meant = |name| Some(format!("did you mean {name}?"));
    assert_eq!(hint("phone", "tv", "flows[0].from", "phnoe"), meant("\"phone\""));
    assert_eq!(hint("phone", "tv", "flows[0].from", "x"), Some("there are phone, tv".to_owned()));
    let digits = hint("phone1", "phone2", "flows[0].from", "phone3");
    assert_eq!(digits, Some("there are phone1, phone2".to_owned()), "another digit, another name");
    assert_eq!(hint("a", "b", "phy.standrad", "802.11g"), meant("`standard`"));
    assert_eq!(hint("a", "b", "phy.standard", "802.11p"), None, "several are as near");
    assert_eq!(hint("a", "b", "phy.standard", "802.11be"), None, "another standard");
    assert_eq!(hint("a", "b", "tcp.stack", "ns3"), None, "ns-3 is not ns-2");
    assert_eq!(hint("a", "b", "phy.xyz", "802.11g"), None);
}

#[test]
fn dscp_is_the_name_or_number_of_a_codepoint() {
    let with = |dscp| set(of_two("a", "b"), "flows[0].dscp", dscp);
    let read = |dscp| Scenario::from_json(&with(dscp).to_string()).unwrap().spec().flows[0].dscp;
    // RFC 2474 (CS), 2597 (AF), 3246 (EF), 5865 (VA), 8622 (LE).
    for (name, codepoint) in
        [("DF", 0), ("CS1", 8), ("CS7", 56), ("AF11", 10), ("AF43", 38), ("EF", 46), ("VA", 44)]
    {
        assert_eq!(read(json!(name)), codepoint, "{name}");
    }
    assert_eq!(read(json!(63)), 63);
    for wrong in [json!("ef"), json!("CS8"), json!("AF14"), json!(""), json!(64), json!(-1)] {
        let problem = refusal_of(with(wrong));
        assert!(problem.contains("0 to 63"), "{problem}");
    }
    assert!(refusal_of(with(json!(4.5))).starts_with("flows[0].dscp: "));
}

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
