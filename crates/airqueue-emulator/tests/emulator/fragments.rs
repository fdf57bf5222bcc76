//! Fragments of IPv4 packets: what RFC 791 says of them, and that receivers put the packet together again.

use airqueue_emulator::fragments::Fragments;
use proptest::prelude::*;

const DONT_FRAGMENT: u8 = 0x40;
const MORE: u8 = 0x20;
/// Loose source route (copied), record route and time stamp (not copied), router alert (copied; RFC 2113).
const OPTIONS: [&[u8]; 4] =
    [&[131, 7, 4, 9, 9, 9, 9], &[7, 7, 4, 0, 0, 0, 0], &[68, 8, 5, 0, 0, 0, 0, 0], &[148, 4, 0, 0]];

/// A packet of UDP, or part of one, with a right checksum.
fn packet(options: &[u8], flags: u8, offset: u16, data: &[u8]) -> Vec<u8> {
    let mut options = options.to_vec();
    options.resize(options.len().next_multiple_of(4), 0);
    let header = 20 + options.len();
    let size = ((header + data.len()) as u16).to_be_bytes();
    let at = offset.to_be_bytes();
    let mut packet = vec![0x40 | (header / 4) as u8, 0xb8, size[0], size[1], 0x12, 0x34];
    packet.extend([flags | at[0], at[1], 9, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(options);
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(data);
    packet
}

/// The checksum of a header in which the field of the checksum is zero (RFC 791, section 3.1); zero of one that is right.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

fn fragments(packet: &[u8], mtu: u32) -> Option<Vec<Vec<u8>>> {
    let mut fragments = Fragments::new(packet, mtu)?;
    let count = fragments.count();
    let (mut all, mut bytes) = (Vec::new(), Vec::new());
    while fragments.next_into(&mut bytes) {
        all.push(bytes.clone());
    }
    assert_eq!(count.packets, all.len() as u64);
    assert_eq!(count.bytes, all.iter().map(|of| of.len() as u64).sum::<u64>());
    Some(all)
}

fn header(packet: &[u8]) -> &[u8] {
    &packet[..usize::from(packet[0] & 0x0f) * 4]
}

fn place(packet: &[u8]) -> usize {
    8 * usize::from(u16::from_be_bytes([packet[6] & 0x1f, packet[7]]))
}

/// RFC 791, section 3.2: the header of the first fragment, and the data of all in their places. `None`: data are missing or
/// twice there.
fn reassembled(fragments: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut parts: Vec<&Vec<u8>> = fragments.iter().collect();
    parts.sort_by_key(|part| place(part));
    let mut whole = header(parts.first()?).to_vec();
    let mut end = place(parts[0]);
    for part in &parts {
        let data = &part[header(part).len()..];
        if place(part) != end {
            return None;
        }
        end += data.len();
        whole.extend_from_slice(data);
    }
    let last = parts.last()?[6] & MORE;
    whole[6] = whole[6] & !MORE | last;
    let size = (whole.len() as u16).to_be_bytes();
    whole[2..4].copy_from_slice(&size);
    whole[10..12].fill(0);
    let sum = checksum(header(&whole)).to_be_bytes();
    whole[10..12].copy_from_slice(&sum);
    Some(whole)
}

#[test]
fn the_example_of_the_rfc() {
    // RFC 791, appendix A, example 2: 452 bytes of data, for 280 bytes, become 256 and 196.
    let data: Vec<u8> = (0..452).map(|at| at as u8).collect();
    let whole = packet(&[], 0, 0, &data);
    let [first, second] = &fragments(&whole, 280).unwrap()[..] else { panic!("two fragments") };
    assert_eq!((first.len(), first[6], place(first)), (276, MORE, 0));
    assert_eq!((second.len(), second[6], place(second)), (216, 0, 256));
    assert_eq!((&first[20..], &second[20..]), (&data[..256], &data[256..]));
}

#[test]
fn only_options_with_the_flag_are_in_later_fragments() {
    let options = [&[1][..], OPTIONS[1], OPTIONS[3], OPTIONS[2], OPTIONS[0]].concat();
    let whole = packet(&options, 0, 0, &[7; 200]);
    let made = fragments(&whole, 100).unwrap();
    assert_eq!(header(&made[0])[20..], whole[20..header(&whole).len()]);
    for later in &made[1..] {
        assert_eq!(header(later)[20..], [OPTIONS[3], OPTIONS[0], &[0]].concat());
        assert!(later.len() <= 100);
    }
}

#[test]
fn what_routers_do_not_fragment() {
    assert!(fragments(&packet(&[], 0, 0, &[0; 100]), 68).is_some());
    assert!(fragments(&packet(&[], DONT_FRAGMENT, 0, &[0; 100]), 68).is_none());
    // Too narrow for a header and 8 bytes.
    assert!(fragments(&packet(&[], 0, 0, &[0; 100]), 28).is_some());
    assert!(fragments(&packet(&[], 0, 0, &[0; 100]), 27).is_none());
    // An option with a length of 1, of nothing, and beyond the header.
    for wrong in [&[131, 1, 0, 0][..], &[1, 1, 1, 131], &[131, 9, 0, 0]] {
        assert!(fragments(&packet(wrong, 0, 0, &[0; 100]), 68).is_none());
    }
    // What follows the end of the list is not an option.
    assert!(fragments(&packet(&[0, 131, 1, 0], 0, 0, &[0; 100]), 68).is_some());
    // Beyond the largest packet; and with more behind, but not a multiple of 8 bytes.
    assert!(fragments(&packet(&[], 0, 8180, &[0; 100]), 68).is_none());
    assert!(fragments(&packet(&[], MORE, 0, &[0; 100]), 68).is_none());
    let mut v6 = packet(&[], 0, 0, &[0; 100]);
    v6[0] = 0x60;
    assert!(fragments(&v6, 68).is_none());
}

fn options() -> impl Strategy<Value = Vec<u8>> {
    let some = prop::sample::subsequence(OPTIONS.to_vec(), 0..=OPTIONS.len());
    (some, 0..3usize).prop_map(|(some, nothing)| [vec![1; nothing], some.concat()].concat())
}

proptest! {
    #[test]
    fn fragments_fit_and_make_the_packet(
        options in options(),
        more: bool,
        offset in 0u16..500,
        data in prop::collection::vec(any::<u8>(), 1..1500),
        mtu in 68u32..1500,
        narrower in 68u32..1500,
    ) {
        let units = data.len() / 8 * 8;
        prop_assume!(!more || units > 0);
        let data = if more { &data[..units] } else { &data[..] };
        let whole = packet(&options, if more { MORE } else { 0 }, offset, data);
        let made = fragments(&whole, mtu).unwrap();
        // Fragments of fragments, in another order.
        let again = made.iter().rev().flat_map(|of| fragments(of, narrower).unwrap());
        let again: Vec<Vec<u8>> = again.collect();
        for (all, mtu) in [(&made, mtu), (&again, narrower)] {
            for one in all {
                prop_assert!(one.len() <= mtu as usize);
                prop_assert_eq!(one.len(), usize::from(u16::from_be_bytes([one[2], one[3]])));
                prop_assert_eq!(checksum(header(one)), 0);
                // Everything but length, flags, offset and checksum is that of the packet.
                for field in [1..2, 4..6, 8..10, 12..20] {
                    prop_assert_eq!(&one[field.clone()], &whole[field]);
                }
                let is_last = place(one) + one.len() - header(one).len()
                    == place(&whole) + data.len();
                prop_assert_eq!(one[6] & MORE != 0, more || !is_last);
            }
            prop_assert_eq!(reassembled(all), Some(whole.clone()));
        }
        // No fragment but the last one has room for 8 more bytes.
        for one in made.iter().rev().skip(1) {
            prop_assert!(one.len() + 8 > mtu as usize);
        }
    }

    #[test]
    fn any_bytes_are_fragmented_or_not(
        mut bytes in prop::collection::vec(any::<u8>(), 60..400),
        mtu in 0u32..500,
    ) {
        bytes[0] = 0x40 | bytes[0] & 0x0f;
        for one in fragments(&bytes, mtu).unwrap_or_default() {
            prop_assert!(one.len() <= mtu as usize);
            prop_assert_eq!(checksum(header(&one)), 0);
        }
    }
}
