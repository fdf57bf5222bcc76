//! Descriptions of the properties of generations, for the schema of scenarios and for messages.

use super::{BandName, Format, GENERATIONS, GuardInterval, Width};
use std::fmt::Display;

/// `a`, `a or b`, `a, b or c`.
pub fn alternatives<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    joined(items, "or")
}

fn joined<T: Display>(items: impl IntoIterator<Item = T>, last: &str) -> String {
    let mut items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match (items.pop(), items.is_empty()) {
        (Some(end), false) => format!("{} {last} {end}", items.join(", ")),
        (end, _) => end.unwrap_or_default(),
    }
}

impl Width {
    /// The widths that any format has, as in `20, 40 or 80 MHz`.
    pub fn alternatives() -> String {
        format!("{} MHz", alternatives(Width::ALL.iter().map(|width| width.mhz())))
    }
}

impl Format {
    /// The guard intervals in microseconds, as in `0.4 or 0.8`.
    pub fn guards_us(self) -> String {
        let mut guards = self.guards().to_vec();
        guards.sort_unstable();
        alternatives(guards.into_iter().map(GuardInterval::us))
    }

    /// The schemes, as in `VHT MCS 0 to 9 of 1 to 8 streams up to 160 MHz, with guard intervals of 0.4 or 0.8 us`.
    pub(super) fn schemes_text(self) -> String {
        let (highest, streams) = (u32::from(self.highest_index()), u32::from(self.most_streams()));
        let numbers = match self.numbers_count_streams() {
            true => {
                let each = highest + 1;
                format!("{} ({each} for each of 1 to {streams} streams)", each * streams - 1)
            }
            false => format!("{highest} of 1 to {streams} streams"),
        };
        let (widest, guards) = (self.widest(), self.guards_us());
        format!("{self} MCS 0 to {numbers} up to {widest}, with guard intervals of {guards} us")
    }
}

/// Formats grouped by a common value, in order of age.
fn groups<T: PartialEq>(value: impl Fn(Format) -> T) -> Vec<(Vec<&'static str>, T)> {
    let mut groups: Vec<(Vec<_>, T)> = Vec::new();
    for &format in Format::ALL {
        let (name, value) = (format.generation().name, value(format));
        match groups.last_mut() {
            Some((names, last)) if *last == value => names.push(name),
            _ => groups.push((vec![name], value)),
        }
    }
    groups
}

/// Description of [`OptionName::Band`](super::OptionName::Band), for an editor of scenarios.
pub fn band() -> String {
    let later = GENERATIONS.iter().filter(|generation| generation.format.is_some());
    let (one, more): (Vec<_>, Vec<_>) = later.partition(|later| later.bands.len() == 1);
    let names = |of: Vec<&&super::Generation>| {
        let is = if of.len() == 1 { "is" } else { "are" };
        format!("{} {is}", joined(of.iter().map(|generation| generation.name), "and"))
    };
    let usual = BandName::Ghz5;
    format!("Where {}. The default is {usual}, where {}.", names(more), names(one))
}

/// Description of [`OptionName::Width`](super::OptionName::Width), for an editor of scenarios.
pub fn width() -> String {
    let mut text = "The widest channel of frames of 802.11n and later: ".to_owned();
    let mut known = 0;
    for (names, widest) in groups(Format::widest) {
        let count = usize::from(widest.doublings()) + 1;
        let widths = alternatives(Width::ALL[known..count].iter().map(|width| width.mhz()));
        match known {
            0 => text += &format!("{widths} MHz"),
            _ => text += &format!("; from {} on, at 5 GHz, {widths} MHz too", names[0]),
        }
        known = count;
    }
    let newest = Format::ALL[Format::ALL.len() - 1];
    let usual = newest.usual_width().mhz();
    text + &format!(". The default is {usual} MHz where that is possible, otherwise 20 MHz.")
}

/// Description of [`OptionName::Streams`](super::OptionName::Streams), for an editor of scenarios.
pub fn streams() -> String {
    let groups = groups(Format::most_streams);
    let last = groups.len() - 1;
    let most = groups.iter().enumerate().map(|(at, (names, most))| match at {
        0 => format!("1 to {most} of {}", joined(names, "and")),
        at if at == last => format!("to {most} of its successors"),
        _ => format!("to {most} of {}", joined(names, "and")),
    });
    let most = most.collect::<Vec<_>>().join(", ");
    format!(
        "Largest number of spatial streams of frames of 802.11n and later: {most}. The default is 1."
    )
}

/// The largest number of streams of any format.
pub fn most_streams() -> u8 {
    Format::ALL.iter().map(|format| format.most_streams()).max().unwrap_or(1)
}

/// Description of [`OptionName::GuardInterval`](super::OptionName::GuardInterval), for an editor of scenarios.
pub fn guard_interval() -> String {
    let guards = groups(Format::guards_us).into_iter().enumerate();
    let guards = guards.map(|(at, (names, guards))| match at {
        0 => format!("{guards} µs"),
        _ => format!("of {} {guards} µs", joined(names, "and")),
    });
    let guards = guards.collect::<Vec<_>>().join(", ");
    format!(
        "Guard interval of schemes that do not name one: {guards}. The default is 0.8 µs, and that of older \
         formats without the given one."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_as_people_write_them() {
        assert_eq!(alternatives::<u32>([]), "");
        assert_eq!(alternatives([1]), "1");
        assert_eq!(alternatives([1, 2]), "1 or 2");
        assert_eq!(joined([1, 2, 3], "and"), "1, 2 and 3");
    }
}
