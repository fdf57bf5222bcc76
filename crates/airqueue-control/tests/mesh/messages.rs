//! The format of messages: what was written is read, and nothing else is.

use crate::net::{SECRET, key};
use airqueue_control::mesh::wire::{
    List, MOST_LISTED, Malformed, Message, Told, decode, decode_body, encode,
};
use airqueue_control::mesh::{
    BusyClaim, FlowNumber, Hop, LinkFacts, MOST_BYTES, MeshKey, Neighbour, RouterId, Stamp,
    Statement, TAG_LEN,
};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

fn stamp() -> impl Strategy<Value = Stamp> {
    (any::<u32>(), any::<u32>()).prop_map(|(boot, version)| Stamp { boot, version })
}

fn facts() -> impl Strategy<Value = LinkFacts> {
    let numbers = (1..=LinkFacts::MOST_BPS, 1..=u32::MAX, any::<u8>());
    numbers.prop_map(|(rate_bps, round_trip_ns, channel)| LinkFacts {
        rate_bps,
        round_trip_ns,
        channel,
    })
}

/// Any statement that a router may make.
pub fn statement(most: usize) -> impl Strategy<Value = Statement> {
    let neighbours =
        btree_map(any::<u32>(), any::<bool>(), 1..=most.min(Statement::MOST_NEIGHBOURS));
    let links = vec((any::<prop::sample::Index>(), facts()), 0..=most.min(Statement::MOST_LINKS));
    let extras = (prop::option::of(1..=LinkFacts::MOST_BPS), 0..=Hop::MOST_DELAY_US);
    let ends = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    let flows = btree_map(any::<u32>(), (ends, extras), 0..=most.min(Statement::MOST_FLOWS));
    (0..=100u8, any::<bool>(), neighbours, links, flows).prop_map(
        |(percent, full, neighbours, links, flows)| {
            let neighbours: Vec<_> = neighbours
                .into_iter()
                .map(|(id, heard)| Neighbour { id: RouterId(id), heard })
                .collect();
            let at = |index: prop::sample::Index| neighbours[index.index(neighbours.len())].id;
            let links: std::collections::BTreeMap<_, _> =
                links.into_iter().map(|(to, facts)| (at(to), facts)).collect();
            let hop = |((previous, next), (demand_bps, other_delay_us))| {
                let (previous, next) = (at(previous), at(next));
                let previous = (previous != next).then_some(previous);
                Hop { previous, next: Some(next), demand_bps, other_delay_us }
            };
            let flows =
                flows.into_iter().map(|(number, of)| (FlowNumber(number), hop(of))).collect();
            let busy = BusyClaim { percent, full };
            Statement { busy, neighbours, links: links.into_iter().collect(), flows }
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    let statements = vec((any::<u32>(), stamp(), any::<u32>(), statement(6)), 0..4);
    let list = btree_set(any::<u32>(), 0..10).prop_flat_map(|routers| {
        let count = routers.len();
        (Just(routers), vec(stamp(), count)).prop_map(|(routers, stamps)| List {
            first: RouterId(routers.first().copied().unwrap_or(0)),
            last: RouterId(routers.last().copied().unwrap_or(0)),
            stamps: routers.into_iter().map(RouterId).zip(stamps).collect(),
        })
    });
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u64>());
    (numbers, statements, prop::option::of(list)).prop_map(
        |((sender, boot, sequence, digest), statements, list)| {
            let named = |(router, stamp, age_s, statement): (u32, Stamp, u32, Statement)| {
                // A router does not name itself; more than eight neighbours there are not.
                let free = (0..).map(|i| RouterId(router.wrapping_add(i)));
                let mut free = free.filter(|id| statement.neighbours.iter().all(|n| n.id != *id));
                Told { router: free.next().unwrap(), stamp, age_s, statement }
            };
            let statements = statements.into_iter().map(named).collect();
            Message { sender: RouterId(sender), boot, sequence, digest, statements, list }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(message in message()) {
        let bytes = encode(&message, &key());
        prop_assume!(bytes.len() <= MOST_BYTES);
        prop_assert_eq!(decode(&bytes, &key()), Ok(message));
    }

    #[test]
    fn a_changed_message_is_refused(message in message(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let mut bytes = encode(&message, &key());
        prop_assume!(bytes.len() <= MOST_BYTES);
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        let refused = decode(&bytes, &key());
        if at == 0 {
            prop_assert!(matches!(refused, Err(Malformed::Version(_))));
        } else {
            prop_assert_eq!(refused, Err(Malformed::Tag));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..300)) {
        let _ = decode(&bytes, &key());
        let mut versioned = bytes;
        versioned.insert(0, airqueue_control::mesh::wire::VERSION);
        if let Ok(message) = decode_body(&versioned) {
            prop_assert_eq!(decode(&encode(&message, &key()), &key()), Ok(message));
        }
    }

    #[test]
    fn a_shortened_message_is_refused(message in message(), at in any::<prop::sample::Index>()) {
        let bytes = encode(&message, &key());
        let body = &bytes[..bytes.len() - TAG_LEN];
        prop_assert!(decode_body(&body[..at.index(body.len())]).is_err());
    }

    /// A message of one statement holds any that a router may make, so that none waits for ever.
    #[test]
    fn the_longest_statement_fits(statement in statement(usize::MAX)) {
        let stamp = Stamp { boot: u32::MAX, version: u32::MAX };
        let statements = vec![Told { stamp, age_s: 300, statement, ..Told::default() }];
        let bytes = encode(&Message { statements, ..Message::default() }, &key());
        // The beginning of a list may follow.
        prop_assert!(bytes.len() + 9 <= MOST_BYTES);
    }
}

#[test]
fn the_longest_statement_of_all_fits() {
    let facts = LinkFacts { rate_bps: LinkFacts::MOST_BPS, round_trip_ns: u32::MAX, channel: 255 };
    let hop = Hop {
        previous: Some(RouterId(1)),
        next: Some(RouterId(2)),
        demand_bps: Some(LinkFacts::MOST_BPS),
        other_delay_us: Hop::MOST_DELAY_US,
    };
    let ids = |most: usize| (1..=most as u32).map(RouterId);
    let statement = Statement {
        busy: BusyClaim { percent: 100, full: true },
        neighbours: ids(Statement::MOST_NEIGHBOURS)
            .map(|id| Neighbour { id, heard: true })
            .collect(),
        links: ids(Statement::MOST_LINKS).map(|id| (id, facts)).collect(),
        flows: (0..Statement::MOST_FLOWS as u32).map(|i| (FlowNumber(i), hop)).collect(),
    };
    let stamp = Stamp { boot: u32::MAX, version: u32::MAX };
    let stamps = (0..MOST_LISTED as u32).map(|i| (RouterId(i), stamp)).collect();
    let list = List { first: RouterId(0), last: RouterId(u32::MAX), stamps };
    let sized = |statements, list| {
        encode(&Message { statements, list, ..Message::default() }, &key()).len()
    };
    assert!(
        sized(vec![Told { stamp, age_s: 300, statement, ..Told::default() }], None) + 9
            <= MOST_BYTES
    );
    assert!(sized(vec![], Some(list)) <= MOST_BYTES);
}

#[test]
fn keys_are_secrets() {
    assert!(MeshKey::new(b"too short").is_none());
    let bytes = encode(&Message::default(), &key());
    let other = MeshKey::new(b"the routers of another mesh").unwrap();
    assert_eq!(decode(&bytes, &other), Err(Malformed::Tag));
    assert!(!format!("{:?}", key()).contains(std::str::from_utf8(SECRET).unwrap()));
    assert_eq!(decode(&[0; 2_000], &key()), Err(Malformed::TooLong));
    assert_eq!(decode(&[], &key()), Err(Malformed::Truncated));
    assert_eq!(decode(&[9], &key()), Err(Malformed::Version(9)));
}
