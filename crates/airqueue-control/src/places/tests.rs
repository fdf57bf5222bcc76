use super::*;
use proptest::prelude::*;

fn wireless(driver: &str, has_txqs: bool, kernel: (u32, u32)) -> Facts {
    Facts {
        interface: "wlan0".to_owned(),
        driver: Some(driver.to_owned()),
        qdisc: Some(if has_txqs { "noqueue" } else { "mq" }.to_owned()),
        kernel,
        wireless: Some(Wireless { phy: "phy0".to_owned(), has_txqs, ..Wireless::default() }),
        ..Facts::default()
    }
}

fn wired(qdisc: &str) -> Facts {
    Facts { qdisc: Some(qdisc.to_owned()), kernel: (6, 1), ..Facts::default() }
}

#[test]
fn every_place_has_one_row() {
    let places = TABLE.map(|row| row.place);
    for (index, place) in places.iter().enumerate() {
        assert_eq!(place.row(), &TABLE[index]);
    }
    // A place that is added without a row does not compile here.
    for place in places {
        match place {
            Place::Txqs | Place::BeforeTxqs | Place::Firmware | Place::Unknown => {}
            Place::Shaper | Place::Wired | Place::Nowhere => {}
        }
    }
}

#[test]
fn what_mac80211_says_comes_before_names_and_versions() {
    for (driver, kernel) in [("mt76", (5, 15)), ("brcmfmac", (6, 12)), ("someone's", (6, 1))] {
        assert_eq!(place(&wireless(driver, true, kernel)).place, Place::Txqs, "{driver}");
    }
}

#[test]
fn without_txqs_it_depends_on_the_kernel_and_the_driver() {
    for (driver, kernel, expected) in [
        ("brcmfmac", (6, 1), Place::Firmware),
        ("brcmfmac", (6, 12), Place::Firmware),
        // All of mac80211 has TXQs there, so that this one is not of mac80211.
        ("someone's", (6, 12), Place::Firmware),
        ("mac80211_hwsim", (6, 1), Place::BeforeTxqs),
        ("someone's", (6, 1), Place::Unknown),
    ] {
        let placed = place(&wireless(driver, false, kernel));
        assert_eq!(placed.place, expected, "{driver} {kernel:?}");
        assert!(placed.because.contains(driver), "the driver is named: {}", placed.because);
    }
}

#[test]
fn a_shaper_has_the_queue_whatever_is_behind_it() {
    for (facts, expected) in [
        (
            Facts { qdisc: Some("htb".to_owned()), ..wireless("ath9k", true, (6, 12)) },
            Place::Shaper,
        ),
        (
            Facts { qdisc: Some("tbf".to_owned()), ..wireless("brcmfmac", false, (6, 1)) },
            Place::Shaper,
        ),
        (wired("cake"), Place::Wired),
        (Facts { shaped_bps: Some(1_000_000), ..wired("cake") }, Place::Shaper),
        (wired("fq_codel"), Place::Wired),
        (wired("noqueue"), Place::Nowhere),
        (wired("noop"), Place::Nowhere),
    ] {
        assert_eq!(place(&facts).place, expected, "{facts:?}");
    }
}

#[test]
fn a_mesh_says_which_frames_pass_no_qdisc() {
    let mut facts = wireless("ath9k", true, (6, 12));
    assert!(!place(&facts).notes.iter().any(|note| note.contains("mesh_fwding")));
    facts.wireless.as_mut().unwrap().is_mesh = true;
    assert!(place(&facts).notes.iter().any(|note| note.contains("mesh_fwding")));
}

#[test]
fn limits_are_refused_where_they_cannot_be_held() {
    for place in [Place::Firmware, Place::Unknown, Place::Nowhere] {
        for limit in [0, 1, 64, 10_000] {
            let refused = holds("wlan0", place, limit).unwrap_err();
            assert!(refused.to_string().starts_with("wlan0 cannot hold"), "{refused}");
        }
    }
    for place in [Place::BeforeTxqs, Place::Shaper, Place::Wired] {
        assert!(holds("wlan0", place, 0).is_err());
        let exact = Standing { fewest_packets: 3, most_packets: 3 };
        assert_eq!(holds("wlan0", place, 3), Ok(exact));
    }
    assert!(holds("phy0", Place::Txqs, FEWEST_IN_TXQS - 1).is_err());
    assert!(holds("phy0", Place::Txqs, FEWEST_IN_TXQS).is_ok());
}

#[test]
fn a_queue_that_would_stay_empty_is_refused() {
    let fifo = r#"{"fifo": {"limit_packets": 100}}"#;
    let cake = r#"{"cake": {}}"#;
    let shaping_cake = r#"{"cake": {"rate_bps": 8000000}}"#;
    let shaped = r#"{"shaped": {"rate_bps": 8000000, "below": {"fifo": {"limit_packets": 3}}}}"#;
    let txqs = wireless("ath9k", true, (6, 12));
    let firmware = wireless("brcmfmac", false, (6, 12));
    let before = wireless("mac80211_hwsim", false, (6, 1));
    for (facts, queue, is_held) in [
        (&txqs, fifo, false),
        (&txqs, cake, false),
        (&txqs, shaping_cake, true),
        (&txqs, shaped, true),
        (&firmware, fifo, false),
        (&firmware, shaped, true),
        (&before, fifo, true),
        (&wired("mq"), cake, true),
    ] {
        let read: crate::plan::Queue = serde_json::from_str(queue).unwrap();
        let held = holds_queue(facts, &read);
        assert_eq!(held.is_ok(), is_held, "{queue} at {facts:?}: {held:?}");
        if let Err(refused) = held {
            assert!(refused.to_string().contains("stay empty"), "{refused}");
        }
    }
}

#[test]
fn a_device_without_a_queue_of_its_own_gets_none_by_a_root_qdisc() {
    let virtual_device =
        |driver: &str, qdisc: &str| Facts { driver: Some(driver.to_owned()), ..wired(qdisc) };
    let unknown = |qdisc: &str| Facts { driver: None, ..wired(qdisc) };
    let fifo = r#"{"fifo": {"limit_packets": 100}}"#;
    let shaped = r#"{"shaped": {"rate_bps": 8000000, "below": {"fifo": {"limit_packets": 3}}}}"#;
    for (facts, queue, stays_empty) in [
        (virtual_device("bridge", "noqueue"), fifo, true),
        (virtual_device("bridge", "pfifo"), fifo, true),
        (virtual_device("802.1Q VLAN Support", "noqueue"), fifo, true),
        (virtual_device("bridge", "noqueue"), shaped, false),
        (unknown("noqueue"), fifo, true),
        (unknown("mq"), fifo, false),
        (wired("pfifo_fast"), fifo, false),
    ] {
        let read: crate::plan::Queue = serde_json::from_str(queue).unwrap();
        let why = holds_queue(&facts, &read).unwrap();
        assert_eq!(why.is_some(), stays_empty, "{queue} at {facts:?}: {why:?}");
    }
    assert_eq!(place(&virtual_device("veth", "pfifo")).place, Place::Nowhere);
}

/// `fq_tin_enqueue` with a single flow, of which looks are taken.
fn single_flow(limit: u32, steps: &[bool]) -> Vec<Sample> {
    let (mut backlog, mut overflows) = (0_u32, 0_u32);
    let mut seen = Vec::new();
    for (at, &arrives) in steps.iter().enumerate() {
        if arrives {
            backlog += 1;
            while backlog > limit {
                backlog -= dropped_at_once(backlog);
                overflows += 1;
            }
        } else {
            backlog = backlog.saturating_sub(1);
        }
        seen.push(Sample { at_ns: at as u64, backlog_packets: backlog, overflows });
    }
    seen
}

#[test]
fn the_standing_queue_is_that_of_the_kernels_loop() {
    for limit in [FEWEST_IN_TXQS, 100, 250, 1000] {
        let standing = holds("phy0", Place::Txqs, limit).unwrap();
        let seen = single_flow(limit, &vec![true; 3 * limit as usize]);
        let full = &seen[limit as usize..];
        let backlogs = full.iter().map(|sample| sample.backlog_packets);
        assert_eq!(backlogs.clone().max(), Some(standing.most_packets), "{limit}");
        assert_eq!(backlogs.min(), Some(standing.fewest_packets), "{limit}");
        assert!(standing.most_packets - standing.fewest_packets < MOST_DROPPED_AT_ONCE);
    }
}

fn sample(at_ns: u64, backlog_packets: u32, overflows: u32) -> Sample {
    Sample { at_ns, backlog_packets, overflows }
}

#[test]
fn what_waited_before_the_limit_was_set_may_leave_first() {
    let falls = [sample(0, 300, 7), sample(1, 250, 7), sample(2, 90, 8), sample(3, 100, 8)];
    assert_eq!(judge(100, &falls), Obeyed::Yes { most_packets: 100, overflows: 1 });
    let grows = [sample(0, 300, 7), sample(1, 301, 7)];
    assert_eq!(judge(100, &grows), Obeyed::No { backlog_packets: 301, at_ns: 1 });
    let again = [sample(0, 300, 7), sample(1, 90, 8), sample(2, 101, 8)];
    assert_eq!(judge(100, &again), Obeyed::No { backlog_packets: 101, at_ns: 2 });
}

#[test]
fn a_queue_that_did_not_overflow_says_nothing() {
    assert_eq!(judge(100, &[]), Obeyed::NotFilled { most_packets: 0 });
    let low = [sample(0, 0, 5), sample(1, 99, 5)];
    assert_eq!(judge(100, &low), Obeyed::NotFilled { most_packets: 99 });
    let wraps = [sample(0, 0, u32::MAX), sample(1, 99, 1)];
    assert_eq!(judge(100, &wraps), Obeyed::Yes { most_packets: 99, overflows: 2 });
}

proptest! {
    #[test]
    fn the_kernels_queue_obeys(
        limit in 1..200_u32,
        steps in prop::collection::vec(prop::bool::weighted(0.7), 0..600),
    ) {
        let seen = single_flow(limit, &steps);
        let verdict = judge(limit, &seen);
        prop_assert!(!matches!(verdict, Obeyed::No { .. }), "{verdict:?}");
        let overflowed = seen.last().is_some_and(|last| last.overflows > seen[0].overflows);
        prop_assert_eq!(matches!(verdict, Obeyed::Yes { .. }), overflowed);
    }

    #[test]
    fn a_queue_with_another_limit_is_caught(limit in 1..200_u32, more in 1..200_u32) {
        let steps = vec![true; (limit + more) as usize];
        let verdict = judge(limit, &single_flow(limit + more, &steps));
        let is_caught = matches!(verdict, Obeyed::No { backlog_packets, .. } if backlog_packets > limit);
        prop_assert!(is_caught, "{:?}", verdict);
    }

    #[test]
    fn no_samples_panic(
        limit in any::<u32>(),
        samples in prop::collection::vec((any::<u64>(), any::<u32>(), any::<u32>()), 0..20),
    ) {
        let samples: Vec<_> = samples.into_iter().map(|each| sample(each.0, each.1, each.2)).collect();
        judge(limit, &samples);
        for place in TABLE.map(|row| row.place) {
            let _ = holds("x", place, limit);
        }
    }
}
