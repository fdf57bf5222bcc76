//! Spellings, refused texts, and reading back what is written.

use super::*;
use crate::{DataRate, Limit, Span};
use proptest::prelude::*;

fn rate(text: &str) -> Result<u64, String> {
    parse::<Rate>(text).map(DataRate::as_bps)
}

#[test]
fn both_languages_are_one() {
    for text in ["54mbit", "54 Mb/s", "54e6 bit/s", "54Mbit/s", "0.054 Gb/s", " 54 MBIT ", "54mb"] {
        assert_eq!(rate(text), Ok(54_000_000), "{text}");
    }
    for text in ["100ms", "100 ms", "0.1s", "1e5 us", "100000 µs", "100000μs", "100 MS"] {
        assert_eq!(parse::<Duration>(text), Ok(Span::from_millis(100)), "{text}");
    }
    for (text, bytes) in
        [("1500 B", 1500), ("1500b", 1500), ("1.5kb", 1500), ("2KiB", 2048), ("1 mib", 1 << 20)]
    {
        assert_eq!(parse::<Size>(text), Ok(bytes), "{text}");
    }
    assert_eq!(parse::<QueueLimit>("64p"), Ok(Limit::Packets(64)));
    assert_eq!(parse::<QueueLimit>("64kB"), Ok(Limit::Bytes(64_000)));
    assert_eq!(parse::<Length>("7 cm"), Ok(0.07));
    assert_eq!(parse::<Power>("30 dBm"), Ok(1.0));
}

#[test]
fn units_that_can_be_mistaken_are_refused() {
    for text in ["54 MB/s", "54MB", "54mbps", "54 M", "54 B/s", "54 mbit/h", "54 Mb /s"] {
        let said = rate(text).unwrap_err();
        assert!(said.contains("has the unit") && said.contains("such as \"11 Mb/s\""), "{said}");
    }
    for text in ["1 MW", "1 mw", "1 DBM"] {
        assert!(parse::<Power>(text).is_err(), "{text}");
    }
    assert!(parse::<Frequency>("2437 mHz").is_err());
}

#[test]
fn a_number_alone_is_refused_with_examples() {
    let said = parse::<Duration>("20").unwrap_err();
    assert_eq!(
        said,
        "\"20\" has no unit; a length of time has the units ns, us, ms, s, min or h, such as \"30 s\" \
         or \"100ms\""
    );
    for kind in Kind::ALL {
        for bare in ["20", "0", "1e3", " 5 "] {
            assert!(kind.parse(bare).unwrap_err().contains("has no unit"), "{kind:?} {bare}");
        }
    }
    let long = rate(&"9".repeat(1000)).unwrap_err();
    assert!(long.len() < 200 && long.contains("has no unit"), "{long}");
}

#[test]
fn kinds_have_names_and_figures() {
    for kind in Kind::ALL {
        assert_eq!(Kind::named(kind.name()), Some(kind));
    }
    assert_eq!(Kind::named("colour"), None);
    let figure = |text| Measure::of_any_kind(text).map(|found| found.figure());
    assert_eq!(figure("5.5 Mb/s"), Some((5.5e6, "bps")));
    assert_eq!(figure("1 MB"), Some((1e6, "bytes")));
    assert_eq!(figure("-82 dBm"), Some((-82.0, "dbm")));
    assert_eq!(figure("3 m"), Some((3.0, "m")));
    // Bits or bytes?
    for text in ["64kb", "64 b", "5", "red", ""] {
        assert_eq!(figure(text), None, "{text}");
    }
    assert!(Kind::Size.parse("1.5 B").unwrap_err().contains("not a whole number"));
    assert!(Kind::Duration.parse("1e999 s").unwrap_err().contains("too large"));
}

#[test]
fn values_are_written_as_people_write_them() {
    for (kind, value, text) in [
        (Kind::Rate, 5.5e6, "5.5mbit"),
        (Kind::Rate, 1_234_567.0, "1234567bit"),
        (Kind::Rate, 0.0, "0bit"),
        (Kind::Duration, 0.0205, "20.5ms"),
        (Kind::Duration, 90.0, "90s"),
        (Kind::Size, 1500.0, "1500B"),
        (Kind::Size, 30_000.0, "30kB"),
        (Kind::Size, 1.0, "1B"),
        (Kind::Ratio, -3.0, "-3dB"),
    ] {
        assert_eq!(kind.written(value), text);
    }
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop::sample::select(&Kind::ALL[..])
}

proptest! {
    #[test]
    fn written_quantities_are_read_back(kind in kinds(), value in prop::num::f64::POSITIVE, whole in 0u64..1 << 53) {
        let value = if kind.whole() { whole as f64 } else { value };
        let text = kind.written(value);
        prop_assert_eq!(kind.parse(&text), Ok(value), "{}", text);
    }

    #[test]
    fn any_text_is_a_quantity_or_one_sentence(text in "\\PC{0,30}|[0-9.eE+-]{0,6} {0,2}[a-zA-Z/µ]{0,6}", kind in kinds()) {
        for said in [kind.parse(&text).err(), rate(&text).err()].into_iter().flatten() {
            prop_assert!(!said.contains('\n') && said.len() < 400, "{}", said);
        }
        let _ = Measure::of_any_kind(&text);
    }

    #[test]
    fn every_spelling_in_any_case_that_is_allowed_is_its_unit(kind in kinds(), upper in any::<bool>(), spaces in 0usize..3) {
        for unit in ["ms", "mbit", "kb/s", "kib", "packets", "p/s"] {
            let unit = if upper { unit.to_uppercase() } else { unit.to_owned() };
            let found = kind.measure(&format!("2.5{}{unit}", " ".repeat(spaces)));
            let same = kind.measure(&format!("2.5{unit}"));
            prop_assert_eq!(found.map(|m| m.base()), same.map(|m| m.base()).map_err(|e| e.replacen("2.5", &format!("2.5{}", " ".repeat(spaces)), 1)));
        }
    }
}
