//! Names of schemes of 802.11n and later, as a network's files give rates.

use super::{Format, GuardInterval, Mcs, Shape, Width};
use std::fmt::Display;
use std::iter::Peekable;

/// The name of a scheme: as an [`Mcs`] is shown, where everything behind the number may be missing. What is missing,
/// a [`Shape`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeName {
    /// Of the PPDU.
    pub format: Format,
    /// The standard's number: of HT it tells the streams, too.
    pub number: u8,
    /// Spatial streams.
    pub streams: Option<u8>,
    /// Of the channel.
    pub width: Option<Width>,
    /// In front of each symbol.
    pub guard: Option<GuardInterval>,
}

impl SchemeName {
    /// Whether a text begins with a format's name, and so means to be one.
    pub fn is_meant(text: &str) -> bool {
        let begin = text.split_once('-').map(|(begin, _)| begin);
        Format::ALL.iter().any(|format| begin == Some(format.facts().name))
    }

    /// What a text says; `None` if it is no name of a scheme.
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

    /// A regular expression of all names.
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
    /// The scheme of a name, where what the name leaves out is as in the shape.
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

/// The one of `all` that is shown as the next part, which is taken if there is one.
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
