//! The two halves of a run's records as bytes, and their union.
//!
//! ```text
//! sender log:    varint n                 packets attempted
//!                zigzag * n               lateness (sent - scheduled, ns) minus the one before
//!                varint b, varint * b     refused by the socket: sequence numbers, each minus the one before
//!                varint s, s * (varint, zigzag)   kernel transmit stamps: sequence number minus the
//!                                         one before, stamp (ns since the start of the run) likewise
//! receiver log:  varint n                 rows: highest received sequence number + 1
//!                column                   arrival times (see `column`)
//!                column of bytes          traffic classes of the packets that arrived
//! ```

use crate::bytes::{Reader, Truncated, put_varint, put_zigzag};
use crate::column;
use crate::plan::{Plan, PlannedPacket};
use crate::records::{Classes, MISSING, Records};
use std::ops::Range;

/// A sender's record of its packets, a few bytes per packet.
#[derive(Clone, Debug, Default)]
pub struct SenderLog {
    attempted: u32,
    lateness: Vec<u8>,
    previous: i64,
    blocked: Vec<u32>,
    stamps: Vec<(u32, i64)>,
}

impl SenderLog {
    /// Room for `packets` packets, so that the data path does not allocate. Untouched room costs
    /// address space only.
    pub fn with_room_for(packets: u64) -> Self {
        let packets = usize::try_from(packets).unwrap_or(usize::MAX / 8);
        SenderLog { lateness: Vec::with_capacity(packets.saturating_mul(3)), ..Self::default() }
    }

    /// The next packet was handed over `lateness_ns` after its planned time.
    pub fn push(&mut self, lateness_ns: i64) {
        put_zigzag(&mut self.lateness, lateness_ns.wrapping_sub(self.previous));
        self.previous = lateness_ns;
        self.attempted += 1;
    }

    /// Packet `seq` never left.
    pub fn blocked(&mut self, seq: u32) {
        if seq < self.attempted && self.blocked.len() < self.attempted as usize {
            self.blocked.push(seq);
        }
    }

    /// The kernel sent packet `seq` at `at_ns` since the start of the run.
    pub fn stamped(&mut self, seq: u32, at_ns: i64) {
        if seq < self.attempted && self.stamps.len() < self.attempted as usize {
            self.stamps.push((seq, at_ns));
        }
    }

    /// Packets attempted.
    pub fn attempted(&self) -> u32 {
        self.attempted
    }

    /// Packets that never left.
    pub fn blocked_count(&self) -> u64 {
        self.blocked.len() as u64
    }

    /// The log as sent.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.lateness.len() + 64);
        put_varint(&mut out, u64::from(self.attempted));
        out.extend_from_slice(&self.lateness);
        let mut blocked = self.blocked.clone();
        blocked.sort_unstable();
        blocked.dedup();
        put_varint(&mut out, blocked.len() as u64);
        let mut previous = 0;
        for seq in blocked {
            put_varint(&mut out, u64::from(seq - previous));
            previous = seq;
        }
        let mut stamps = self.stamps.clone();
        stamps.sort_unstable();
        stamps.dedup_by_key(|&mut (seq, _)| seq);
        put_varint(&mut out, stamps.len() as u64);
        let mut previous = (0, 0i64);
        for (seq, at) in stamps {
            put_varint(&mut out, u64::from(seq - previous.0));
            put_zigzag(&mut out, at.wrapping_sub(previous.1));
            previous = (seq, at);
        }
        out
    }
}

/// Longest log of that many packets in bytes, for which a receiver of logs reserves memory.
pub fn longest_log(packets: u64) -> u64 {
    // Lateness and stamp 10 bytes each, two sequence numbers 5 each, three counts. A receiver's log is shorter: 10 bytes of
    // time, two of runs of rows, two of class.
    packets * 30 + 30
}

/// A decoded sender log: rows in the order of sequence numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentRows {
    /// Sent minus scheduled in nanoseconds; [`MISSING`] for packets that never left.
    pub lateness_ns: Vec<i64>,
    /// Kernel stamp in nanoseconds since the start of the run, or [`MISSING`].
    pub kernel_tx_ns: Vec<i64>,
}

/// Reads a sender log of at most `most` packets.
pub fn decode_sender(bytes: &[u8], most: u64) -> Result<SentRows, Truncated> {
    let mut r = Reader::new(bytes);
    let n = r.varint()?;
    // Each packet takes at least one byte: a claimed length must be backed by bytes.
    if n > most || n > r.rest().len() as u64 {
        return Err(Truncated);
    }
    let n = n as usize;
    let mut rows = SentRows { lateness_ns: Vec::with_capacity(n), kernel_tx_ns: vec![MISSING; n] };
    let mut lateness = 0i64;
    for _ in 0..n {
        lateness = lateness.wrapping_add(r.zigzag()?);
        rows.lateness_ns.push(lateness);
    }
    let mut seq = 0u64;
    for _ in 0..r.varint()? {
        seq = seq.checked_add(r.varint()?).ok_or(Truncated)?;
        *row(&mut rows.lateness_ns, seq)? = MISSING;
    }
    let (mut seq, mut stamp) = (0u64, 0i64);
    for _ in 0..r.varint()? {
        seq = seq.checked_add(r.varint()?).ok_or(Truncated)?;
        stamp = stamp.wrapping_add(r.zigzag()?);
        *row(&mut rows.kernel_tx_ns, seq)? = stamp;
    }
    if r.rest().is_empty() { Ok(rows) } else { Err(Truncated) }
}

fn row(rows: &mut [i64], seq: u64) -> Result<&mut i64, Truncated> {
    usize::try_from(seq).ok().and_then(|i| rows.get_mut(i)).ok_or(Truncated)
}

/// The rows of a whole plan, of which a host sent the packets of `flows`: packets of others count as sent when they were planned, and
/// those of the host that it did not come to as never sent.
pub fn spread(plan: &Plan, flows: &Range<u8>, part: &SentRows) -> SentRows {
    let mut rows = part.lateness_ns.iter().zip(&part.kernel_tx_ns);
    let of_packet = |packet: PlannedPacket| match flows.contains(&packet.flow) {
        true => rows.next().map_or((MISSING, MISSING), |(&lateness, &stamp)| (lateness, stamp)),
        false => (0, MISSING),
    };
    let (lateness_ns, kernel_tx_ns) = plan.packets().map(of_packet).unzip();
    SentRows { lateness_ns, kernel_tx_ns }
}

/// The arrival of a packet at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When; [`MISSING`] if the packet did not arrive.
    pub at_ns: i64,
    /// The traffic class in its IP header; 0 if the packet did not arrive.
    pub traffic_class: u8,
}

/// The receiver's arrivals by sequence number.
#[derive(Clone, Debug, Default)]
pub struct ArrivalLog {
    /// XORed with [`MISSING`], so that "not received" is zero: a fresh row is never touched and
    /// costs no memory until its packet arrives.
    rows: Vec<i64>,
    /// Traffic classes, 0 until a packet of another class arrives.
    classes: Vec<u8>,
    /// Highest received sequence number + 1.
    len: u32,
    count: u32,
}

impl ArrivalLog {
    /// Rows for `packets` packets, none received.
    pub fn new(packets: u32) -> Self {
        let packets = packets as usize;
        ArrivalLog { rows: vec![0; packets], classes: vec![0; packets], len: 0, count: 0 }
    }

    /// Packet `seq` arrived. `None`: the packet does not exist; `Some(false)`: it had arrived before.
    pub fn record(&mut self, seq: u32, arrival: Arrival) -> Option<bool> {
        let row = self.rows.get_mut(seq as usize)?;
        if *row != 0 {
            return Some(false);
        }
        *row = arrival.at_ns ^ MISSING;
        if arrival.traffic_class != 0 {
            self.classes[seq as usize] = arrival.traffic_class;
        }
        self.len = self.len.max(seq + 1);
        self.count += 1;
        Some(true)
    }

    /// Whether packet `seq` arrived.
    pub fn has(&self, seq: u32) -> bool {
        self.rows.get(seq as usize).is_some_and(|&r| r != 0)
    }

    /// Packets received.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Packets missing below the highest received one.
    pub fn overtaken(&self) -> u32 {
        self.len - self.count
    }

    /// Arrivals up to the highest received sequence number.
    pub fn arrivals(&self) -> impl Iterator<Item = Arrival> + '_ {
        let rows = self.rows[..self.len as usize].iter().zip(&self.classes);
        rows.map(|(row, &traffic_class)| Arrival { at_ns: row ^ MISSING, traffic_class })
    }

    /// The log as sent.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, u64::from(self.len));
        column::encode(&mut out, self.len as usize, |i| self.rows[i] ^ MISSING);
        let arrived = self.arrivals().filter(|arrival| arrival.at_ns != MISSING);
        column::encode_bytes(&mut out, arrived.map(|arrival| arrival.traffic_class));
        out
    }
}

/// A decoded receiver log: rows in the order of sequence numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrivalRows {
    /// Arrival times, or [`MISSING`].
    pub times_ns: Vec<i64>,
    /// Traffic classes; 0 for packets that did not arrive.
    pub classes: Vec<u8>,
}

impl ArrivalRows {
    /// The rows one by one.
    pub fn arrivals(&self) -> impl Iterator<Item = Arrival> + '_ {
        let rows = self.times_ns.iter().zip(&self.classes);
        rows.map(|(&at_ns, &traffic_class)| Arrival { at_ns, traffic_class })
    }
}

/// Reads a receiver log of at most `most` rows.
pub fn decode_receiver(bytes: &[u8], most: u64) -> Result<ArrivalRows, Truncated> {
    let mut r = Reader::new(bytes);
    let n = r.varint()?;
    if n > most {
        return Err(Truncated);
    }
    let times_ns = column::decode(&mut r, usize::try_from(n).map_err(|_| Truncated)?)?;
    let classes = column::decode_bytes(&mut r, times_ns.iter().map(|&at| at != MISSING))?;
    if r.rest().is_empty() { Ok(ArrivalRows { times_ns, classes }) } else { Err(Truncated) }
}

/// Joins plan, sender's rows and arrivals: one row for each packet that was attempted.
pub fn join(plan: &Plan, sent: &SentRows, mut received: impl Iterator<Item = Arrival>) -> Records {
    const LOST: Arrival = Arrival { at_ns: MISSING, traffic_class: 0 };
    let n = sent.lateness_ns.len();
    let (mut sent_class, mut received_class) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let mut records = Records {
        scheduled_ns: Vec::with_capacity(n),
        sent_ns: Vec::with_capacity(n),
        kernel_tx_ns: sent.kernel_tx_ns.clone(),
        received_ns: Vec::with_capacity(n),
        flow: Vec::with_capacity(n),
        size_bytes: Vec::with_capacity(n),
        classes: None,
    };
    for (packet, &lateness) in plan.packets().zip(&sent.lateness_ns) {
        let scheduled = packet.at.as_nanos();
        records.scheduled_ns.push(scheduled);
        records.sent_ns.push(if lateness == MISSING {
            MISSING
        } else {
            scheduled.saturating_add(lateness)
        });
        let arrival = received.next().unwrap_or(LOST);
        records.received_ns.push(arrival.at_ns);
        sent_class.push(packet.traffic_class);
        received_class.push(arrival.traffic_class);
        records.flow.push(packet.flow);
        records.size_bytes.push(packet.size);
    }
    records.classes = Some(Classes { sent: sent_class, received: received_class });
    records
}
