//! Any record of a device with segmentation offload: refused, or cut into packets that have no more bytes than the record.
//! What is merged of these packets, and cut again, are the same packets in the same order.
#![no_main]

use airqueue_emulator::offload::{Merger, NOTES_BYTES, split};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(packets) = cut(data) else { return };
    assert!(packets.len() <= data.len());
    assert!(packets.iter().all(|packet| packet.len() <= data.len()));
    let (mut merger, mut records) = (Merger::default(), Vec::new());
    for packet in &packets {
        merger.add(packet, &mut |record, count| records.push((record.to_vec(), count)));
    }
    merger.flush(&mut |record, count| records.push((record.to_vec(), count)));

    let mut again = Vec::new();
    for (record, count) in records {
        if count == 1 {
            again.push(record[NOTES_BYTES..].to_vec());
            continue;
        }
        let pieces = cut(&record).expect("what was merged can be cut");
        assert_eq!(pieces.len(), count);
        again.extend(pieces);
    }
    assert_eq!(again, packets);
});

/// The packets of a record; `None`: it is refused.
fn cut(record: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut record = record.to_vec();
    let mut segments = split(&mut record)?;
    let mut packets = Vec::new();
    while let Some(packet) = segments.next_packet() {
        packets.push(packet.to_vec());
    }
    Some(packets)
}
