//! Several values in one text: lists `1,2,5`, and ranges `1..50`, `10..100 step 10`, `2..1024 factor 2`, `1 Mb/s..10
//! Mb/s points 4 log`.
//!
//! Arguments of models and files of sweeps share this grammar:
//!
//! ```text
//! values = item { "," item }
//! item   = value | value ".." value [how]
//! how    = "step" value    | ":" value        evenly, up to and including the end where a step meets it
//!        | "factor" number | "*" number       each value times the factor is the next
//!        | "points" count ["log"]             so many, evenly or in even ratios, both ends among them
//! ```
//!
//! Without `how`, a range of numbers, bytes or packets has steps of one. Ranges go up or down. The ends and the step of
//! a range of quantities each have a unit.

mod progression;
mod terms;

pub use terms::{Element, Term, Value};

use crate::quantity::{Decimal, Kind};
use progression::Progression;

/// One or several values.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// The values, in order.
    pub values: Vec<Value>,
    /// Whether the text is a list or a range: `1..1` is a range of one value.
    pub swept: bool,
    /// Whether each value is the previous one times a factor, so that a logarithmic axis suits.
    pub geometric: bool,
}

/// How a range is divided.
#[derive(Clone, Copy, Debug)]
enum How<'a> {
    Ones,
    Step(&'a str),
    Factor(&'a str),
    Points(&'a str),
}

/// The meaning of the text after a mark.
type Meaning = fn(&str) -> How<'_>;

/// Words and signs, and the meaning of the text after each.
const MARKS: [(&str, Meaning); 5] = [
    (":", |rest| How::Step(rest)),
    ("step", |rest| How::Step(rest)),
    ("*", |rest| How::Factor(rest)),
    ("factor", |rest| How::Factor(rest)),
    ("points", |rest| How::Points(rest)),
];

/// Reads the values of a kind, at most `most`; `absent` is the word for no value, if allowed.
pub fn values(
    text: &str,
    element: Element,
    absent: Option<&str>,
    most: usize,
) -> Result<Values, String> {
    let items: Vec<&str> = text.split(',').collect();
    let mut found = Values { values: Vec::new(), swept: items.len() > 1, geometric: true };
    for item in items {
        let range = if absent == Some(item) { None } else { item.split_once("..") };
        found.geometric &= range.is_some();
        match range {
            None if absent == Some(item) => found.values.push(Value::Absent),
            None => found.values.push(element.read(item)?.value()?),
            Some((first, rest)) => {
                found.swept = true;
                let (range, geometric) = range_of(first, rest, element, most)?;
                found.geometric &= geometric;
                found.values.extend(range);
            }
        }
        if found.values.len() > most {
            return Err(format!("more than {} values", grouped(most as f64)));
        }
    }
    Ok(found)
}

/// Lists of values, separated by slashes: `1,2/3`. The slash of a unit (`54mbit/s`) separates nothing.
pub fn lists(
    text: &str,
    element: Element,
    absent: Option<&str>,
) -> Result<Vec<Option<Vec<Value>>>, String> {
    let list = |part: &str| {
        if absent == Some(part) {
            return Ok(None);
        }
        let items = part.split(',').map(|item| element.read(item)?.value());
        items.collect::<Result<_, _>>().map(Some)
    };
    alternatives(text).into_iter().map(list).collect()
}

/// The parts between slashes, except slashes in units.
fn alternatives(text: &str) -> Vec<&str> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for (at, _) in text.match_indices('/') {
        let rest = &text[at + 1..];
        let ends =
            |next: Option<char>| next.is_none_or(|c| c == ',' || c == '/' || c.is_whitespace());
        let of_unit = rest.strip_prefix(['s', 'S']).is_some_and(|rest| ends(rest.chars().next()));
        if !of_unit {
            parts.push(&text[from..at]);
            from = at + 1;
        }
    }
    parts.push(&text[from..]);
    parts
}

/// The values of a range, and whether they are in even ratios.
fn range_of(
    first: &str,
    rest: &str,
    element: Element,
    most: usize,
) -> Result<(Vec<Value>, bool), String> {
    let (last, how) = divided(rest);
    let range = Range::between(element.read(first)?, element.read(last)?)?;
    match how {
        How::Ones => range.steps(range.one()?, most).map(|values| (values, false)),
        How::Step(step) => {
            range.steps(range.step(step, element)?, most).map(|values| (values, false))
        }
        How::Factor(factor) => range.factors(number(factor)?, most).map(|values| (values, true)),
        How::Points(count) => {
            let (count, log) = match count.trim().strip_suffix("log") {
                Some(count) => (count, true),
                None => (count, false),
            };
            let count = number(count)?;
            if !count.is_whole() || count < Decimal::from(2) || count.to_f64() > most as f64 {
                return Err(format!(
                    "found {count} points, expected 2 to {}",
                    grouped(most as f64)
                ));
            }
            range.points(count.to_f64() as usize, log).map(|values| (values, log))
        }
    }
}

/// The end of a range, and the division of the range.
fn divided(rest: &str) -> (&str, How<'_>) {
    let found = MARKS.iter().filter_map(|&(mark, how)| rest.find(mark).map(|at| (at, mark, how)));
    match found.min_by_key(|&(at, ..)| at) {
        None => (rest, How::Ones),
        Some((at, mark, how)) => (&rest[..at], how(&rest[at + mark.len()..])),
    }
}

/// A number without a unit.
fn number(text: &str) -> Result<Decimal, String> {
    Element::Number.read(text).map(|term| term.base())
}

/// A range between two values of one kind.
#[derive(Clone, Debug)]
pub struct Range {
    first: Term,
    last: Term,
}

impl Range {
    /// The range between two values, both included.
    pub fn between(first: Term, last: Term) -> Result<Range, String> {
        if first.comparable(&last) {
            Ok(Range { first, last })
        } else {
            Err(format!("from {first} to {last}: write both with units of one kind"))
        }
    }

    /// Whether all values are whole numbers.
    fn whole(&self) -> bool {
        self.first.is_whole() && self.last.is_whole()
    }

    /// The step of a range without a given step.
    fn one(&self) -> Result<Decimal, String> {
        if self.first.counts() {
            Ok(Decimal::ONE)
        } else {
            Err("this range needs a step, as in FIRST..LAST step STEP".to_owned())
        }
    }

    fn step(&self, text: &str, element: Element) -> Result<Decimal, String> {
        if self.first.is_level() {
            // The step between two levels in dBm is in decibels.
            return Element::Of(Kind::Ratio).read(text).map(|step| step.base());
        }
        let step = element.read(text)?;
        if step.comparable(&self.first) {
            Ok(step.base())
        } else {
            Err(format!("the step {step} is of another kind than {}", self.first))
        }
    }

    fn values(&self, found: impl IntoIterator<Item = Decimal>) -> Result<Vec<Value>, String> {
        found.into_iter().map(|base| self.first.value_of(base)).collect()
    }

    fn progression(&self) -> Progression {
        Progression { first: self.first.base(), last: self.last.base() }
    }

    fn steps(&self, step: Decimal, most: usize) -> Result<Vec<Value>, String> {
        self.values(self.progression().by_steps(step, most)?)
    }

    fn factors(&self, factor: Decimal, most: usize) -> Result<Vec<Value>, String> {
        if self.first.is_level() {
            return Err(format!("{} is a level; give a step in dB", self.first));
        }
        self.values(self.progression().by_factor(factor, most)?)
    }

    /// `count` values, at least two, evenly spaced or in even ratios. Repeated whole numbers are listed once.
    pub fn points(&self, count: usize, log: bool) -> Result<Vec<Value>, String> {
        self.check_ends(log)?;
        let shares =
            (0..count).map(|i| Decimal::of(i as f64).over(Decimal::of((count - 1) as f64)));
        let mut found: Vec<Value> =
            shares.map(|share| self.at(share, log)).collect::<Result<_, _>>()?;
        found.dedup();
        Ok(found)
    }

    /// Refuses a range without extent.
    pub fn check_ends(&self, log: bool) -> Result<(), String> {
        let Progression { first, last } = self.progression();
        if first == last {
            return Err("from and to are the same; expected a range".to_owned());
        }
        let positive = first > Decimal::ZERO && last > Decimal::ZERO;
        if log && (!positive || self.first.is_level()) {
            let problem = if positive { "decibels" } else { "zero" };
            return Err(format!(
                "a logarithmic range has no {problem}; expected from and to above zero"
            ));
        }
        Ok(())
    }

    /// The value at a fraction of the range, 0 to 1.
    pub fn at(&self, share: Decimal, log: bool) -> Result<Value, String> {
        self.first.value_of(self.progression().at(share, log, self.whole()))
    }

    /// The value at a random fraction, 0 to 1: whole numbers are equally likely.
    pub fn drawn(&self, share: f64, log: bool) -> Result<Value, String> {
        if log || !self.whole() {
            return self.at(Decimal::of(share), log);
        }
        let Progression { first, last } = self.progression();
        let (low, high) = if first < last { (first, last) } else { (last, first) };
        let count = high.minus(low).plus(Decimal::ONE);
        let above = Decimal::of((share * count.to_f64()).floor()).plus(low);
        self.first.value_of(if above > high { high } else { above })
    }
}

/// A count with commas between groups of three digits.
pub(crate) fn grouped(count: f64) -> String {
    let digits = format!("{count:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
