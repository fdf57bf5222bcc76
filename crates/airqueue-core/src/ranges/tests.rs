//! Lists and ranges, refused texts, and invariants of ranges.

use super::*;
use proptest::prelude::*;

const MOST: usize = 100_000;

fn several(text: &str, element: Element) -> Result<Vec<Value>, String> {
    values(text, element, None, MOST).map(|found| found.values)
}

fn numbers(text: &str) -> Vec<f64> {
    let of = |value| match value {
        Value::Number(number) => number,
        other => panic!("{other:?}"),
    };
    several(text, Element::Number).unwrap().into_iter().map(of).collect()
}

fn shown_any(text: &str) -> Vec<String> {
    let show = |value| match value {
        Value::Number(number) => format!("{number:?}"),
        Value::Whole(number) => number.to_string(),
        Value::Text(text) => text,
        Value::Absent => "-".to_owned(),
    };
    several(text, Element::Any).unwrap().into_iter().map(show).collect()
}

#[test]
fn both_languages_are_one() {
    assert_eq!(numbers("1..4"), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(numbers("10..100 step 30"), [10.0, 40.0, 70.0, 100.0]);
    assert_eq!(numbers("0..1:0.3"), [0.0, 0.3, 0.6, 0.9]);
    assert_eq!(numbers("1..0:-0.5"), [1.0, 0.5, 0.0]);
    assert_eq!(numbers("2..16*2"), numbers("2..16 factor 2"));
    assert_eq!(numbers("81..1*3"), [81.0, 27.0, 9.0, 3.0, 1.0]);
    assert_eq!(numbers("1e-300..1e300*1e300"), [1e-300, 1.0, 1e300]);
    assert_eq!(numbers("1,10..30:10,5"), [1.0, 10.0, 20.0, 30.0, 5.0]);
    assert_eq!(numbers("0..1 points 5"), [0.0, 0.25, 0.5, 0.75, 1.0]);
    assert_eq!(numbers("1..1000 points 4 log"), [1.0, 10.0, 100.0, 1000.0]);
    let rates = several("1mbit..2 Mb/s step 500kbit", Element::Of(Kind::Rate)).unwrap();
    assert_eq!(rates, [1e6, 1.5e6, 2e6].map(Value::Number));
    let sizes = several("1kB..2KiB:1kB", Element::Of(Kind::Size)).unwrap();
    assert_eq!(sizes, [1000, 2000].map(Value::Whole));
}

#[test]
fn values_of_scenarios_keep_their_units() {
    assert_eq!(shown_any("1 kB..3 kB points 4"), ["1 kB", "1.667 kB", "2.333 kB", "3 kB"]);
    assert_eq!(shown_any("1..3"), ["1", "2", "3"]);
    assert_eq!(shown_any("1.0..2"), ["1.0", "2.0"]);
    assert_eq!(shown_any("10 ms..1 s points 3 log"), ["10 ms", "100 ms", "1000 ms"]);
    assert_eq!(
        shown_any("1 packets..100 packets points 4 log"),
        ["1 packets", "5 packets", "22 packets", "100 packets"]
    );
    assert_eq!(shown_any("-80 dBm..-60 dBm step 10 dB"), ["-80 dBm", "-70 dBm", "-60 dBm"]);
    assert_eq!(
        shown_any("10 packets, codel,1.5e3,5.5Mb/s"),
        ["10 packets", "codel", "1500.0", "5.5 Mb/s"]
    );
}

#[test]
fn texts_without_a_range_are_refused() {
    for (text, element, says) in [
        ("1..5:0", Element::Number, "the step is zero"),
        ("1..5 step -1", Element::Number, "goes down and the range up"),
        ("1..5:1:1", Element::Number, "\"1:1\" is not a number"),
        ("1..5 step 2 points 3", Element::Number, "\"2 points 3\" is not a number"),
        ("1..5 points 1", Element::Number, "found 1 points, expected 2 to 100,000"),
        ("0..5*2", Element::Number, "above zero"),
        ("1..5*0.5", Element::Number, "use one above 1"),
        ("0..5 points 3 log", Element::Number, "no zero"),
        ("0..1e300", Element::Number, "far too many"),
        ("1..4*1.5", Element::Whole, "1.5 is not a whole number"),
        ("1mbit..2mbit", Element::Of(Kind::Rate), "needs a step"),
        ("1..2mbit:1mbit", Element::Of(Kind::Rate), "\"1\" has no unit"),
        ("1..2 Mb/s step 1", Element::Any, "write both with units of one kind"),
        ("1 ms..2 ms step 1 B", Element::Any, "the step 1 B is of another kind than 1 ms"),
        ("1 dBm..2 dBm step 1 dBm", Element::Any, "has the unit \"dBm\""),
        ("1 dBm..2 dBm*2", Element::Any, "1 dBm is a level"),
        ("64kb..65kb", Element::Any, "no quantity"),
        ("1/2/3", Element::Any, "no quantity"),
        ("", Element::Any, "no word"),
    ] {
        let said = several(text, element).unwrap_err();
        assert!(said.contains(says), "{text}: {said}");
    }
    let few = values("1..60,1..60", Element::Number, None, 100);
    assert_eq!(few, Err("more than 100 values".to_owned()));
}

#[test]
fn slashes_of_units_separate_nothing() {
    let read = |text| lists(text, Element::Of(Kind::Rate), Some("none")).unwrap();
    let found = read("54mbit/s,1mbit/s/11mbit/s/none");
    let list = |rates: &[f64]| Some(rates.iter().copied().map(Value::Number).collect::<Vec<_>>());
    assert_eq!(found, [list(&[54e6, 1e6]), list(&[11e6]), None]);
    assert!(lists("1,2//3", Element::Number, None).is_err());
}

#[test]
fn drawn_whole_numbers_are_equally_likely() {
    let range = Range::between(Term::of(1.0, true), Term::of(4.0, true)).unwrap();
    let drawn = |share| range.drawn(share, false).unwrap();
    let counts = [1, 2, 3, 4]
        .map(|n| (0..400).filter(|&i| drawn(f64::from(i) / 400.0) == Value::Whole(n)).count());
    assert_eq!(counts, [100; 4]);
    assert_eq!(drawn(1.0), Value::Whole(4));
}

proptest! {
    #[test]
    fn steps_do_not_add_up_errors(first in -1000i64..1000, step in 1i64..1000, count in 0i64..300, down in any::<bool>()) {
        let thousandth = |n: i64| Decimal::of(n as f64).shifted(-3);
        let end = if down { first - step * count } else { first + step * count };
        let text = format!("{}..{}:{}", thousandth(first), thousandth(end), thousandth(step));
        let nth = |k: i64| thousandth(if down { first - step * k } else { first + step * k }).to_f64();
        prop_assert_eq!(numbers(&text), (0..=count).map(nth).collect::<Vec<_>>(), "{}", text);
    }

    #[test]
    fn factors_do_not_either(first in 1u64..1000, factor in 2u64..50, count in 0u32..12) {
        let nth = |k: u32| (u128::from(first) * u128::from(factor).pow(k)) as f64;
        let up = numbers(&format!("{first}..{}*{factor}", nth(count)));
        let expected: Vec<f64> = (0..=count).map(nth).collect();
        prop_assert_eq!(&up, &expected);
        let down = numbers(&format!("{}..{first} factor {factor}", u128::from(first) * u128::from(factor).pow(count)));
        prop_assert_eq!(down, expected.into_iter().rev().collect::<Vec<_>>());
    }

    #[test]
    fn points_go_from_one_end_to_the_other(a in 1e-6f64..1e9, b in 1e-6f64..1e9, count in 2usize..40, log in any::<bool>()) {
        prop_assume!(a != b);
        let range = Range::between(Term::of(a, false), Term::of(b, false)).unwrap();
        let found = range.points(count, log).unwrap();
        prop_assert_eq!(found.first(), Some(&Value::Number(a)));
        prop_assert_eq!(found.last(), Some(&Value::Number(b)));
        for i in 0..count {
            let Value::Number(x) = range.at(Decimal::of(i as f64 / (count - 1) as f64), log).unwrap() else { panic!() };
            let share = i as f64 / (count - 1) as f64;
            let expected = if log { a * (b / a).powf(share) } else { a + (b - a) * share };
            prop_assert!((x - expected).abs() <= 1e-5 * expected, "{} {}", x, expected);
        }
    }

    #[test]
    fn any_text_is_values_or_one_sentence(text in "\\PC{0,20}|([0-9.:*,/ -]|\\.\\.|mbit|ms| step | points |log|e9){0,12}") {
        for element in [Element::Number, Element::Whole, Element::Of(Kind::Rate), Element::Any] {
            for said in [values(&text, element, Some("none"), 1000).err(), lists(&text, element, None).err()].into_iter().flatten() {
                prop_assert!(!said.contains('\n') && said.len() < 400, "{}", said);
            }
        }
    }
}
