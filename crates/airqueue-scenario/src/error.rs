//! Errors in a scenario, and their place.

pub use airqueue_core::keys::KeyError as ScenarioError;
pub(super) use airqueue_core::keys::{Result, error, wrong};

/// Checks a probability.
pub(super) fn probability(key: impl std::fmt::Display, p: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&p) {
        return Ok(p);
    }
    wrong(key, format_args!("found {p}, expected a probability from 0 to 1"))
}

/// serde's terms and the terms of the file: serde calls keys fields.
const WORDS: [(&str, &str); 3] = [
    ("unknown field", "unknown key"),
    ("missing field", "missing key"),
    ("unknown variant", "unknown word"),
];

/// What serde calls the values that it finds.
const VALUES: [(&str, &str); 7] = [
    ("map", "a table"),
    ("sequence", "a list"),
    ("null", "nothing"),
    ("boolean ", ""),
    ("integer ", ""),
    ("floating point ", ""),
    ("string ", ""),
];

/// What serde expects, and what a file has.
const EXPECTED: [(&str, &str); 6] = [
    ("u32", "a whole number, at least 0"), // the only type of whole number in a scenario
    ("f64", "a number"),
    ("a boolean", "true or false"),
    ("an array of length 2", "a list of two values"),
    ("string or map", "a word or a table"),
    ("map with a single key", "a table with a single key"),
];

/// An error that serde finds in a file.
pub(super) fn unreadable(found: serde_path_to_error::Error<serde_json::Error>) -> ScenarioError {
    let key = found.path().to_string();
    let problem = found.into_inner().to_string();
    if let (Some((key, name)), true) = (key.rsplit_once('.'), problem == WORD_ALONE) {
        let last = key.rsplit('.').next().unwrap_or(key);
        let problem = format!("`{name}` has a value: write `{last} = {{{name} = ...}}`");
        return ScenarioError { key: key.to_owned(), problem };
    }
    let known = WORDS.iter().find_map(|(serde, ours)| Some((ours, problem.strip_prefix(serde)?)));
    let problem = match known {
        Some((ours, rest)) => with_near(format!("{ours}{rest}")),
        None => mistaken(&problem).unwrap_or(problem),
    };
    ScenarioError { key: if key == "." { String::new() } else { key }, problem }
}

/// serde's words on a word that stands without the value that goes with it.
const WORD_ALONE: &str = "invalid type: unit variant, expected newtype variant";

/// `wrong type: found a list, expected ...`, in place of serde's words on a value that is not of the expected type.
fn mistaken(problem: &str) -> Option<String> {
    let (kind, rest) = match problem.strip_prefix("invalid type: ") {
        Some(rest) => ("wrong type: ", rest),
        None => ("", problem.strip_prefix("invalid value: ")?),
    };
    let (found, serde_expected) = rest.split_once(", expected ")?;
    let in_file = VALUES.iter().find_map(|(serde, ours)| Some((ours, found.strip_prefix(serde)?)));
    let found = in_file.map_or(found.to_owned(), |(ours, value)| format!("{ours}{value}"));
    let ours = EXPECTED.iter().find(|(serde, _)| *serde == serde_expected);
    Some(format!(
        "{kind}found {found}, expected {}",
        ours.map_or(serde_expected, |(_, ours)| *ours)
    ))
}

/// How alike two names are at least, of 1, for one to be meant by the other.
const ALIKE: f64 = 0.6;

/// The name that is meant by `name`, if one is nearer than all others. A name with other digits is another name, and so is one
/// with other letters after its last digit: 802.11be for 802.11b.
pub(super) fn near<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (mut best, mut second, mut found) = (ALIKE, 0.0, None);
    // Users' names may be long, and the comparison takes the product of their lengths.
    let name: String = name.chars().take(80).collect();
    let without_digits = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
    let numbered =
        |name: &str| name.rfind(|c: char| c.is_ascii_digit()).map(|at| name[..=at].to_owned());
    let (of_name, number) = (without_digits(&name), numbered(&name));
    let is_another = |other: &str| {
        without_digits(other) == of_name || number.is_some() && numbered(other) == number
    };
    for other in names.into_iter().filter(|other| !is_another(other)) {
        let alike = strsim::normalized_damerau_levenshtein(&name, other);
        if alike >= best && alike > second {
            (second, best, found) = (best, alike, Some(other));
        } else {
            second = f64::max(second, alike);
        }
    }
    found.filter(|_| best > second)
}

/// `; did you mean "ap"?`, or with no name that is near the names that there are, a few of them.
pub(super) fn hint<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    const FEW: usize = 6;
    let names: Vec<&str> = names.into_iter().collect();
    match near(name, names.iter().copied()) {
        Some(near) => format!("; did you mean {near:?}?"),
        None if (1..=FEW).contains(&names.len()) => format!("; there are {}", names.join(", ")),
        None => String::new(),
    }
}

/// An error of an unknown key or word with the one that is meant in place of all that there are.
fn with_near(problem: String) -> String {
    let found = |problem: &str| {
        let (head, listed) = problem.split_once(", expected ")?;
        let name = head.strip_prefix("unknown key `").or(head.strip_prefix("unknown word `"))?;
        let words = listed.split('`').skip(1).step_by(2);
        near(name.strip_suffix('`')?, words).map(|near| format!("{head}; did you mean `{near}`?"))
    };
    found(&problem).unwrap_or(problem)
}
