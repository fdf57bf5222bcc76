use super::attributes::{Attribute, Writer, read, text};
use super::*;
use proptest::prelude::*;

/// A message as the kernel writes it.
fn message(kind: u16, flags: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.length = (HEADER + payload.len()) as u32;
    header.message_type = kind;
    header.flags = flags;
    header.sequence_number = sequence;
    let mut bytes = vec![0; HEADER];
    header.emit(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// An NLMSG_ERROR with the request's header capped, and a sentence.
fn refused(code: i32, sequence: u32, sentence: &str) -> Vec<u8> {
    let request = message(36, 0, sequence, &[]);
    let told = Writer::default().text(EXTENDED_SENTENCE, sentence).finish();
    let payload = [&code.to_ne_bytes()[..], &request, &told].concat();
    message(NLMSG_ERROR, NLM_F_CAPPED | NLM_F_ACK_TLVS, sequence, &payload)
}

#[test]
fn each_refusal_of_a_batch_is_told_by_its_number() {
    let mut answers = Answers::of(u32::MAX, 1);
    let datagrams = [
        refused(-2, u32::MAX, "Specified qdisc kind is unknown"),
        refused(-22, 0, ""),
        message(NLMSG_ERROR, 0, 1, &0i32.to_ne_bytes()),
    ];
    answers.read(&datagrams.concat()).unwrap();
    assert!(answers.complete);
    let words: Vec<_> =
        answers.refusals.iter().map(|(index, why)| (*index, why.to_string())).collect();
    assert_eq!(
        words,
        [
            (0, "no such file or directory (Specified qdisc kind is unknown)".to_owned()),
            (1, "invalid argument".to_owned())
        ]
    );
}

#[test]
fn answers_to_other_requests_are_passed_over() {
    let mut answers = Answers::of(5, 5);
    answers.read(&[refused(-2, 4, ""), message(36, 0, 5, b"abcd")].concat()).unwrap();
    assert!(!answers.complete && answers.refusals.is_empty());
    answers.read(&message(NLMSG_DONE, 0, 5, &0i32.to_ne_bytes())).unwrap();
    assert_eq!(answers.finished().unwrap(), [Message { kind: 36, body: b"abcd".to_vec() }]);
}

#[test]
fn a_dump_that_failed_or_changed_is_no_result() {
    let mut failed = Answers::of(1, 1);
    failed.read(&message(NLMSG_DONE, 0, 1, &(-1i32).to_ne_bytes())).unwrap();
    assert!(
        matches!(failed.finished(), Err(NetlinkError::Refused(why)) if why.errno == Errno::EPERM)
    );
    let mut changed = Answers::of(1, 1);
    changed.read(&message(36, NLM_F_DUMP_INTR, 1, &[])).unwrap();
    assert!(changed.interrupted);
}

#[test]
fn the_kernel_answers() {
    // RTM_GETLINK of `struct ifinfomsg`: every network namespace has a loopback interface.
    let mut netlink = Netlink::open(ROUTE).unwrap();
    let links = netlink.dump(&Request { kind: 18, flags: 0, body: vec![0; 16] }).unwrap();
    let named = links.iter().any(|link| {
        read(&link.body[16..]).unwrap().text(3).as_deref() == Some("lo") // IFLA_IFNAME
    });
    assert!(named, "{links:?}");
}

#[test]
fn the_kernels_refusal_has_its_reason() {
    // RTM_GETLINK of an interface that does not exist.
    let mut netlink = Netlink::open(ROUTE).unwrap();
    let mut body = vec![0; 16];
    body[4..8].copy_from_slice(&i32::MAX.to_ne_bytes());
    let error = netlink.ask(&Request { kind: 18, flags: 0, body: body.clone() }).unwrap_err();
    assert_eq!(error.errno(), Some(Errno::ENODEV), "{error}");
    let wrong = Request { kind: 18, flags: 0, body };
    let refusals = netlink.batch(&[wrong.clone(), wrong.clone(), wrong]).unwrap();
    assert_eq!(refusals.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn a_batch_longer_than_a_system_call_takes_is_refused() {
    let mut netlink = Netlink::open(ROUTE).unwrap();
    let long = Request { kind: 18, flags: 0, body: vec![0; LONGEST_BATCH] };
    assert!(matches!(netlink.batch(&[long]), Err(NetlinkError::TooLong(_))));
}

#[test]
fn a_sentence_does_not_act_on_a_terminal() {
    assert_eq!(text(b"a\x1b[2Jb\0hidden"), "a\u{fffd}[2Jb");
}

proptest! {
    #[test]
    fn hostile_answers_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Answers::of(0, 7).read(&bytes);
        let _ = read(&bytes);
    }

    /// Right headers around wrong payloads reach the parsers inside.
    #[test]
    fn hostile_payloads_do_not_panic(
        kind in 0u16..40, flags: u16, payload in prop::collection::vec(any::<u8>(), 0..80)
    ) {
        let _ = Answers::of(3, 3).read(&message(kind, flags, 3, &payload));
    }

    #[test]
    fn attributes_that_were_written_are_read(
        all in prop::collection::vec((1u16..100, prop::collection::vec(any::<u8>(), 0..20)), 0..8)
    ) {
        let written = all.iter().fold(Writer::default(), |to, (kind, value)| to.bytes(*kind, value));
        let bytes = written.finish();
        let found = read(&bytes).unwrap();
        let expected: Vec<_> =
            all.iter().map(|(kind, value)| Attribute { kind: *kind, value }).collect();
        prop_assert_eq!(found.0, expected);
    }
}
