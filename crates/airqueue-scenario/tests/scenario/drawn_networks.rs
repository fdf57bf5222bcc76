//! The words that `benches/drawn` finds for random networks: the engine gets the network that was drawn.

use crate::cells::{CellSpec, Flow};
use crate::random_networks::{cases, networks};
use crate::words::{Words, in_words};
use airqueue_network::wlan::{HopSpec, StationSpec};
use airqueue_qdisc::Discipline;
use airqueue_scenario::Scenario;
use airqueue_wifi::mac::CategoryConfig;
use proptest::prelude::*;
use std::fmt::Debug;

fn text(of: &impl Debug) -> String {
    format!("{of:?}")
}

/// The categories that were drawn; those of EDCA that were not have defaults.
fn categories(drawn: &[CategoryConfig], built: &[CategoryConfig]) -> Result<(), TestCaseError> {
    prop_assert!([1, 4].contains(&built.len()));
    prop_assert_eq!(text(&drawn), text(&&built[..drawn.len()]));
    Ok(())
}

fn station(drawn: &StationSpec, built: &StationSpec, newer: bool) -> Result<(), TestCaseError> {
    let ([drawn_mac, built_mac], [drawn_queue, built_queue]) =
        ([&drawn.mac, &built.mac], [&drawn.queues[0], &built.queues[0]]);
    categories(&drawn_mac.categories, &built_mac.categories)?;
    prop_assert_eq!(drawn_mac.rts_threshold_bytes, built_mac.rts_threshold_bytes);
    prop_assert_eq!(drawn_mac.protection, built_mac.protection);
    prop_assert_eq!(drawn_mac.short_retry_limit, built_mac.short_retry_limit);
    prop_assert_eq!(drawn_mac.long_retry_limit, built_mac.long_retry_limit);
    if newer {
        prop_assert_eq!(drawn_mac.lifetime, built_mac.lifetime);
        prop_assert_eq!(drawn_mac.aggregation.is_some(), built_mac.aggregation.is_some());
    }
    // The parameters of these have the queue's limit in them.
    let limited = matches!(
        drawn_queue.discipline,
        Discipline::Cake(_) | Discipline::FqCodel(_) | Discipline::Mac80211(_)
    );
    if limited {
        prop_assert_eq!(drawn_queue.discipline.name(), built_queue.discipline.name());
    } else {
        prop_assert_eq!(in_words(drawn_queue.discipline), in_words(built_queue.discipline));
    }
    prop_assert_eq!(drawn_queue.ring_packets, built_queue.ring_packets);
    Ok(())
}

fn hop(drawn: &Flow, built: &HopSpec) -> Result<(), TestCaseError> {
    prop_assert_eq!((drawn.from, drawn.to, drawn.ac), (built.from, built.to, built.ac));
    prop_assert_eq!(drawn.source.size_bytes, built.size_bytes);
    prop_assert_eq!(drawn.report, built.report);
    let drawn_control = drawn.rate_control.as_ref().filter(|of| of.algorithm.looks());
    match (drawn_control, &built.rate_control) {
        (None, None) => prop_assert_eq!(drawn.rate, built.rate),
        (drawn, built) => {
            prop_assert_eq!(drawn.map(|of| of.algorithm), built.as_ref().map(|of| of.algorithm))
        }
    }
    Ok(())
}

fn alike(drawn: &CellSpec, scenario: &Scenario) -> Result<(), TestCaseError> {
    let built = scenario.wlan();
    prop_assert_eq!(text(&drawn.radio), text(&built.radio));
    prop_assert_eq!(text(&drawn.reach), text(&built.reach));
    prop_assert_eq!(text(&drawn.errors), text(&built.errors));
    // Without a rule of its own a network has the behaviour's, which scenarios write out.
    if drawn.capture.is_some() {
        prop_assert_eq!(text(&drawn.capture), text(&built.capture));
    }
    prop_assert_eq!(drawn.stations.len(), built.stations.len());
    prop_assert_eq!(drawn.flows.len(), built.hops.len());
    let newer = drawn.radio.phy.newest_format().is_some();
    for (drawn, built) in drawn.stations.iter().zip(&built.stations) {
        station(drawn, built, newer)?;
    }
    drawn.flows.iter().zip(&built.hops).try_for_each(|(drawn, built)| hop(drawn, built))
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_scenario_in_words_is_the_network_that_was_drawn(drawn in networks()) {
        let built = Words::new().scenario(&drawn).ok();
        let built = built.and_then(|file| Scenario::from_json(&file.to_string()).ok());
        // Some networks have no words: ns-2's rules for other layers than 802.11b, or queues without room.
        prop_assume!(built.is_some());
        alike(&drawn, &built.expect("words"))?;
    }
}
