//! Every worked number of 802.11b, a and g in the tables of `tests/models/data`, and derived values.

use crate::layers::{NAMES, at, layer, mbps, standard, us};
use airqueue_core::Span;
use airqueue_wifi::phy::frames::{
    FCS_BYTES, HEADER_BYTES, LLC_SNAP_BYTES, NS2_OVERHEAD_BYTES, QOS_HEADER_BYTES,
};
use airqueue_wifi::phy::{
    AccessCategory, Conventions, EdcaEdition, EdcaRole, Phy, Protection, Response, edca_defaults,
};

const AIRTIME: &str = include_str!("../../../../tests/models/data/airtime.csv");
const CONSTANTS: &str = include_str!("../../../../tests/models/data/phy_constants.csv");
const RATES: &str = include_str!("../../../../tests/models/data/rates.csv");
const EDCA: &str = include_str!("../../../../tests/models/data/edca_defaults.csv");
const SINGLE: &str = include_str!("../../../../tests/models/data/single_station.csv");

/// Cells of each row below the head, checked against the expected head.
fn rows(table: &'static str, head: &str) -> Vec<Vec<&'static str>> {
    let (found, body) = table.split_once('\n').unwrap();
    assert_eq!(found, head);
    body.lines().map(|row| row.split(',').collect()).collect()
}

#[test]
fn durations() {
    let mut seen = 0;
    for row in rows(AIRTIME, "phy,frame,bytes,rate_mbps,airtime_us") {
        let Some(phy) = layer(row[0], Conventions::STANDARD) else { continue };
        let (index, bytes) = (at(&phy, row[3]), row[2].parse().unwrap());
        let expected = us(row[4].parse().unwrap());
        assert_eq!(phy.airtime(index, bytes), expected, "{row:?}");
        match bytes {
            14 => assert_eq!((phy.ack(index), phy.cts(index)), (expected, expected)),
            20 => assert_eq!(phy.rts(index), expected),
            _ => {}
        }
        seen += 1;
    }
    assert!(seen >= 14, "{seen} rows");
}

#[test]
fn constants() {
    let mut seen = 0;
    for row in rows(CONSTANTS, "phy,slot_us,sifs_us,difs_us,cw_min,cw_max,preamble_us") {
        let Some(phy) = layer(row[0], Conventions::STANDARD) else { continue };
        let cell = |at: usize| row[at].parse::<i64>().unwrap();
        assert_eq!((phy.slot(), phy.sifs(), phy.difs()), (us(cell(1)), us(cell(2)), us(cell(3))));
        assert_eq!((phy.w_min(), phy.w_max()), (cell(4) as u32, cell(5) as u32));
        let (last, _) = phy.rates().last().unwrap();
        assert_eq!(phy.preamble(last) + phy.signal_extension(last), us(cell(6)), "{row:?}");
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn rates() {
    let mut seen = 0;
    for row in rows(RATES, "phy,rates_mbps") {
        let Some(phy) = layer(row[0], Conventions::STANDARD) else { continue };
        let expected: Vec<_> = row[1].split(' ').map(mbps).collect();
        let mut found: Vec<_> = phy.rates().map(|(_, rate)| rate).collect();
        found.sort();
        assert_eq!(found, expected, "{row:?}");
        for (place, (index, rate)) in phy.rates().enumerate() {
            assert_eq!((index.as_usize(), phy.rate(index)), (place, rate));
            assert_eq!(phy.rate_index(rate), Ok(index));
        }
        seen += 1;
    }
    assert_eq!(seen, 4);
}

/// 802.11ax has the windows and the OFDM TXOP limits of 802.11a.
#[test]
fn edca() {
    let categories = ["BK", "BE", "VI", "VO"];
    for row in rows(EDCA, "phy,edition,category,aifsn,ap_aifsn,cw_min,cw_max,txop_ms") {
        let phy = standard(if row[0] == "ax" { "a" } else { row[0] });
        let edition = match row[1] {
            "2005" => EdcaEdition::Ieee2005,
            _ => EdcaEdition::Ieee2016,
        };
        let place = categories.iter().position(|name| *name == row[2]).unwrap();
        assert_eq!(AccessCategory::ALL[place].index(), place);
        let cell = |at: usize| row[at].parse::<u32>().unwrap();
        let found = edca_defaults(&phy, edition, EdcaRole::Station)[place];
        // The table has the largest backoff; a window is the number of its values.
        let windows = (found.w_min - 1, found.w_max - 1);
        assert_eq!((found.aifsn, windows), (cell(3), (cell(5), cell(6))), "{row:?}");
        let txop_us = (row[7].parse::<f64>().unwrap() * 1e3).round() as i64;
        assert_eq!(found.txop, us(txop_us), "{row:?}");
        let access_point = edca_defaults(&phy, edition, EdcaRole::AccessPoint)[place];
        assert_eq!(access_point.aifsn, cell(4), "{row:?}");
    }
    let defaults = |name| edca_defaults(&standard(name), EdcaEdition::Ieee2005, EdcaRole::Station);
    assert_eq!(defaults("g"), defaults("a"));
}

/// DIFS, mean backoff, protection, frame, SIFS, ACK: the rate of one station with 1500-byte packets.
#[test]
fn a_single_station() {
    let head = "phy,rate_mbps,control_mbps,protection,protection_mbps,mpdus,throughput_mbps";
    let mut seen = 0;
    for row in rows(SINGLE, head) {
        let Some(mut phy) = layer(row[0], Conventions::STANDARD) else { continue };
        if !row[2].is_empty() {
            phy = phy.with_basic_rates(&[mbps(row[2])]).unwrap();
        }
        let index = at(&phy, row[1]);
        let front = match row[3] {
            "none" => phy.protection(Protection::None, index),
            _ => phy.protection(Protection::CtsToSelf, at(&phy, row[4])),
        };
        let bytes = 1500 + LLC_SNAP_BYTES + HEADER_BYTES + FCS_BYTES;
        let backoff = Span::from_nanos(phy.slot().as_nanos() * i64::from(phy.w_min() - 1) / 2);
        let frame = front + phy.airtime(index, bytes);
        let total = phy.difs() + backoff + frame + phy.response_nav(index, Response::Ack);
        let throughput_mbps = 12_000.0 / (total.as_nanos() as f64 / 1e3);
        let expected: f64 = row[6].parse().unwrap();
        let half_a_digit = if expected < 10.0 { 0.005 } else { 0.05 };
        assert!((throughput_mbps - expected).abs() <= half_a_digit, "{row:?}: {throughput_mbps}");
        seen += 1;
    }
    assert_eq!(seen, 8);
}

#[test]
fn interframe_spaces() {
    let a = standard("a");
    let aifs: Vec<_> = [1, 2, 3, 7].into_iter().map(|aifsn| a.aifs(aifsn)).collect();
    assert_eq!(aifs, [us(25), us(34), us(43), us(79)]);
    assert_eq!(a.aifs(u32::MAX), Span::from_nanos(16_000 + 9_000 * i64::from(u32::MAX)));
    for (name, after_error) in [("b-long", 364), ("b-short", 364), ("a", 94), ("g", 88)] {
        assert_eq!(standard(name).eifs(), us(after_error), "{name}");
    }
}

/// EIFS with the lowest basic rate, or with the lowest of the layer.
#[test]
fn eifs_by_convention() {
    let with = |conventions| {
        let b = layer("b-long", conventions).unwrap();
        let fast = b.clone().with_basic_rates(&[mbps("2"), mbps("11")]).unwrap();
        let set = b.with_control_rate(mbps("11")).unwrap();
        [fast.eifs(), set.eifs(), layer("g", conventions).unwrap().eifs()]
    };
    assert_eq!(with(Conventions::STANDARD), [us(308), us(263), us(88)]);
    assert_eq!(with(Conventions::NS3), [us(364), us(364), us(342)]);
    // ns-2: 38 bytes at 1 Mb/s, SIFS, DIFS; the exact ACK is no shorter than the rounded one here.
    assert_eq!(with(Conventions::NS2)[..2], [us(364), us(364)]);
}

#[test]
fn response_timeouts() {
    let timeout = |phy: &Phy, rate| phy.response_timeout(at(phy, rate));
    assert_eq!(timeout(&standard("b-long"), "11"), us(10 + 20 + 192));
    assert_eq!(timeout(&standard("b-short"), "11"), us(10 + 20 + 96));
    assert_eq!(timeout(&standard("a"), "54"), us(16 + 9 + 20));
    // A response at 1 Mb/s has the long preamble even here, and is detected after it.
    assert_eq!(timeout(&standard("b-short"), "1"), us(10 + 20 + 192));
    let g = standard("g");
    assert_eq!((timeout(&g, "54"), timeout(&g, "11")), (us(10 + 9 + 20), us(10 + 9 + 96)));

    // ns-2 then waits DIFS: 312 µs in all with ACKs at 2 Mb/s, 368 with 1 Mb/s.
    let ns2 = layer("b-long", Conventions::NS2).unwrap();
    for (control, in_all) in [("2", 312), ("1", 368)] {
        let phy = ns2.clone().with_control_rate(mbps(control)).unwrap();
        assert_eq!(timeout(&phy, "11") + phy.difs(), us(in_all));
    }
}

#[test]
fn response_rates() {
    let cases = [
        ("b-long", "1 2 5.5 11", "1 2 2 2"),
        ("a", "6 9 12 18 24 36 48 54", "6 6 12 12 24 24 24 24"),
        // A frame of 802.11b is answered at a rate of 802.11b, although the basic rates have none.
        ("g", "1 2 5.5 11 6 54", "1 2 5.5 11 6 24"),
    ];
    for (name, rates, responses) in cases {
        let phy = standard(name);
        for (rate, response) in rates.split(' ').zip(responses.split(' ')) {
            let found = phy.response_rate(at(&phy, rate));
            assert_eq!(phy.rate(found), mbps(response), "{name} {rate}");
        }
    }
    let answers = |phy: Phy| {
        let rates = phy.rates().map(|(index, _)| phy.rate(phy.response_rate(index)).as_bps());
        rates.map(|bps| bps / 1_000_000).collect::<Vec<_>>()
    };
    // Where no basic rate is low enough, a mandatory rate is used.
    let a = standard("a").with_basic_rates(&[mbps("24")]).unwrap();
    assert_eq!(answers(a), [6, 6, 12, 12, 24, 24, 24, 24]);
    let a = standard("a").with_basic_rates(&[mbps("54"), mbps("9")]).unwrap();
    assert_eq!(answers(a), [6, 9, 9, 9, 9, 9, 9, 54]);
    // The configured control rate, even above the data rate.
    let b = standard("b-long").with_control_rate(mbps("11")).unwrap();
    assert_eq!(answers(b), [11; 4]);
    // Frames to all stations have the slowest rate of those that every station knows.
    let slowest = |phy: Phy| phy.rate(phy.slowest_basic());
    assert_eq!(
        slowest(standard("a").with_basic_rates(&[mbps("24"), mbps("12")]).unwrap()),
        mbps("12")
    );
    assert_eq!(slowest(standard("g")), mbps("6"));
    assert_eq!(slowest(standard("b-long")), mbps("1"));
    assert_eq!(slowest(standard("b-long").with_control_rate(mbps("2")).unwrap()), mbps("2"));
    // The last call takes effect.
    let b = standard("b-long").with_control_rate(mbps("11")).unwrap();
    assert_eq!(answers(b.with_basic_rates(&[mbps("1")]).unwrap()), [1; 4]);
}

#[test]
fn protection() {
    let b = standard("b-long");
    let slow = at(&b, "1");
    assert_eq!(b.protection(Protection::RtsCts, slow), us(192 + 160 + 10 + 304 + 10));
    let g = standard("g");
    assert_eq!(g.protection(Protection::CtsToSelf, at(&g, "11")), us(107 + 10));
    assert_eq!(g.protection(Protection::None, at(&g, "11")), Span::ZERO);
    // In ns-2 RTS has the given rate, and CTS the configured rate.
    let ns2 = b.with_control_rate(mbps("1")).unwrap();
    let fast = at(&ns2, "2");
    assert_eq!(ns2.protection(Protection::RtsCts, fast), us(192 + 80 + 10 + 304 + 10));
}

#[test]
fn sizes() {
    assert_eq!(1500 + HEADER_BYTES + LLC_SNAP_BYTES + FCS_BYTES, 1536);
    assert_eq!(1500 + QOS_HEADER_BYTES + LLC_SNAP_BYTES + FCS_BYTES, 1538);
    assert_eq!(NS2_OVERHEAD_BYTES, 34);
}

#[test]
fn rates_that_a_layer_has_not() {
    let b = standard("b-long");
    let error = b.rate_index(mbps("54")).unwrap_err().to_string();
    assert_eq!(error, "802.11b has no rate of 54 Mb/s; it must be one of 1, 2, 5.5, 11 Mb/s");
    let error = standard("g").rate_index(mbps("7.25")).unwrap_err().to_string();
    assert_eq!(
        error,
        "802.11g has no rate of 7.25 Mb/s; it must be one of 1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, \
         48, 54 Mb/s"
    );
    let error = b.clone().with_basic_rates(&[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no basic rate; name at least one of the rates of 802.11b: 1, 2, 5.5, 11 Mb/s"
    );
    for refused in
        [b.clone().with_basic_rates(&[mbps("1"), mbps("6")]), b.with_control_rate(mbps("6"))]
    {
        assert_eq!(
            refused.unwrap_err().to_string(),
            "802.11b sends no control frames at 6 Mb/s; it must be one of 1, 2, 5.5, 11 Mb/s"
        );
    }
}

/// Control rates change only the durations that depend on them.
#[test]
fn control_rates_leave_frames_alone() {
    for name in NAMES {
        let phy = standard(name);
        let (_, top) = phy.rates().last().unwrap();
        let other = phy.clone().with_basic_rates(&[top]).unwrap();
        for (index, _) in phy.rates() {
            for bytes in [0, 14, 1536] {
                assert_eq!(phy.airtime(index, bytes), other.airtime(index, bytes));
            }
            assert_eq!((phy.ack(index), phy.rts(index)), (other.ack(index), other.rts(index)));
        }
    }
}
