//! Names of schemes of 802.11n and later, as written in scenarios.

use super::{Format, GuardInterval, Mcs, Shape, Width};
use std::fmt::Display;
use std::iter::Peekable;

/// The name of a scheme: the display form of an [`Mcs`], of which all parts after the number may be missing. A
/// [`Shape`] supplies the missing parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeName {
    /// The PPDU format.
    pub format: Format,
    /// The standard's number: in HT the number includes the streams.
    pub number: u8,
    /// Number of spatial streams.
    pub streams: Option<u8>,
    /// Width of the channel.
    pub width: Option<Width>,
    /// Guard interval before each symbol.
    pub guard: Option<GuardInterval>,
}

impl SchemeName {
    /// Whether a text begins with the name of a format, and is therefore meant as a scheme name.
    pub fn is_meant(text: &str) -> bool {
        let begin = text.split_once('-').map(|(begin, _)| begin);
        Format::ALL.iter().any(|format| begin == Some(format.facts().name))
    }

    /// Parses a text; `None` if the text is not the name of a scheme.
    pub fn parse(text: &str) -> Option<SchemeName> {
        let mut parts = text.split('-').peekable();
        let format = next_shown(&mut parts, Format::ALL)?;
        let number = parts.next()?.strip_prefix("MCS")?.parse().ok()?;
        let mut name = SchemeName { format, number, streams: None, width: None, guard: None };
        if !format.numbers_count_streams()
            && let Some(streams) = parts.peek().and_then(|part| part.strip_suffix("SS"))
        {
            name.streams = Some(streams.parse().ok()?);
            parts.next();
        }
        name.width = next_shown(&mut parts, Width::ALL);
        name.guard = next_shown(&mut parts, &GuardInterval::ALL);
        parts.next().is_none().then_some(name)
    }

    /// A regular expression that matches all names.
    pub fn pattern() -> String {
        let (counting, plain): (Vec<&Format>, Vec<&Format>) =
            Format::ALL.iter().partition(|format| format.numbers_count_streams());
        let streams = plain.iter().map(|format| format.most_streams()).max().unwrap_or(1);
        let counting = shown(&counting).map(|format| format!("{format}-MCS[0-9]+|"));
        let (counting, plain) = (counting.collect::<String>(), either(&plain));
        let (widths, guards) = (either(Width::ALL), either(&GuardInterval::ALL));
        format!("^({counting}({plain})-MCS[0-9]+(-[1-{streams}]SS)?)(-({widths}))?(-({guards}))?$")
    }
}

impl Shape {
    /// The scheme of a name; the shape supplies the missing parts.
    pub fn named(&self, name: &SchemeName) -> Mcs {
        let of_stream = name.format.highest_index() + 1;
        let (index, streams) = match name.format.numbers_count_streams() {
            true => (name.number % of_stream, name.number / of_stream + 1),
            false => (name.number, name.streams.unwrap_or(self.streams)),
        };
        let usual = self.mcs(name.format, index);
        let (width, guard) = (name.width.unwrap_or(usual.width), name.guard.unwrap_or(usual.guard));
        Mcs { streams, width, guard, ..usual }
    }
}

/// The value in `all` whose display form is the next part; the part is consumed if there is a match.
fn next_shown<'a, T: Copy + Display>(
    parts: &mut Peekable<impl Iterator<Item = &'a str>>,
    all: &[T],
) -> Option<T> {
    let part = *parts.peek()?;
    let found = all.iter().find(|one| one.to_string() == part)?;
    parts.next();
    Some(*found)
}

fn shown<T: Display>(all: &[T]) -> impl Iterator<Item = String> {
    all.iter().map(|one| one.to_string().replace('.', r"\."))
}

fn either<T: Display>(all: &[T]) -> String {
    shown(all).collect::<Vec<_>>().join("|")
}
