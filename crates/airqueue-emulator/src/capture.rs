//! Captures of what the devices of real nodes send and receive, with comments that say what the network did.
//!
//! A packet that a node sends is written when the network is done with the packet, since only then the comment is known,
//! and the packets after it wait: files are in order of time. What waits is bounded.

use crate::figures::Refusal;
use crate::pcapng::{self, Direction};
use crate::story::{End, Labels, Story};
use airqueue_core::{Span, Time};
use airqueue_network::network::{Step, Traced};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

/// Bytes that a file may hold back for packets whose fate is not known; then the oldest are written without their fate.
const MOST_PENDING_BYTES: usize = 64 << 20;
/// Bytes that are handed to the writer at once.
const CHUNK_BYTES: usize = 64 << 10;
/// What is complete is handed to the writer after this time at the latest, if anything happens.
const FLUSH_EVERY: Span = Span::from_secs(1);
/// What a packet takes beside its bytes, about.
const RECORD_BYTES: usize = 256;

const TOO_LONG: &str = "in the network for longer than the capture could wait";

/// Where a capture is written, in whole blocks; at the end the writer is flushed.
pub type Sink = Box<dyn Write + Send + Sync>;

/// All captures of an emulation.
#[derive(Debug)]
pub struct Captures {
    /// By node.
    files: Vec<Option<File>>,
    /// What has happened to each packet in the network, by its place there.
    stories: Vec<Story>,
    labels: Arc<Labels>,
    /// Time zero of the network, since 1970.
    zero: Span,
}

/// A capture of a node.
struct File {
    sink: Sink,
    failure: Option<io::Error>,
    packets: u64,
    /// Packets that are not written yet; the first of them may be waiting for its fate.
    pending: VecDeque<Record>,
    pending_bytes: usize,
    /// Number of the first pending packet, counted from the first of the file.
    first: u64,
    /// Whole blocks for the writer.
    out: Vec<u8>,
    flushed: Time,
}

/// A packet of a file.
struct Record {
    at: Time,
    direction: Direction,
    bytes: Vec<u8>,
    /// `None`: the packet is in the network.
    comment: Option<String>,
}

/// What became of a capture.
#[derive(Debug)]
pub struct CaptureState<'a> {
    /// The node, as an index of [`Emulation::nodes`](crate::Emulation::nodes).
    pub node: usize,
    /// Packets so far.
    pub packets: u64,
    /// Why the file ends early.
    pub failure: Option<&'a io::Error>,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("packets", &self.packets).finish_non_exhaustive()
    }
}

impl Captures {
    pub(crate) fn new(nodes: usize, labels: Arc<Labels>) -> Captures {
        let files = (0..nodes).map(|_| None).collect();
        Captures { files, stories: Vec::new(), labels, zero: Span::ZERO }
    }

    /// Begins the capture of a node, and writes the header.
    pub(crate) fn add(&mut self, node: usize, sink: Sink) {
        let name = &self.labels.places[node];
        let comment = format!(
            "What {name} sends and receives. Times are those of the simulated network; comments say what the network did \
             with each packet."
        );
        let mut file = File {
            sink,
            failure: None,
            packets: 0,
            pending: VecDeque::new(),
            pending_bytes: 0,
            first: 0,
            out: pcapng::header(&comment, "airqueue0", &format!("the device of {name}")),
            flushed: Time::ZERO,
        };
        file.flush(Time::ZERO);
        self.files[node] = Some(file);
    }

    pub(crate) fn set_zero(&mut self, zero: Span) {
        self.zero = zero;
    }

    /// A packet enters the network, at a place where packets are held.
    pub(crate) fn enters(&mut self, held: u32, ends: (usize, usize), now: Time) {
        let at = held as usize;
        if self.stories.len() <= at {
            self.stories.resize_with(at + 1, Story::default);
        }
        self.stories[at].begin(ends, now);
    }

    /// A node has sent the packet that has just entered.
    pub(crate) fn sent(&mut self, held: u32, node: usize, bytes: &[u8], now: Time) {
        if let Some(file) = &mut self.files[node] {
            let number = file.add(now + self.zero, Direction::Sent, bytes, None);
            self.stories[held as usize].record = Some((node, number));
        }
    }

    /// The network has refused a packet of a node; `router` stops the packet.
    pub(crate) fn refused(
        &mut self,
        node: usize,
        bytes: &[u8],
        (refusal, router): (Refusal, Option<usize>),
        now: Time,
    ) {
        if let Some(file) = &mut self.files[node] {
            let comment = self.labels.refused(node, refusal, router);
            file.add(now + self.zero, Direction::Sent, bytes, Some(comment));
        }
        self.write(now);
    }

    /// A step of a packet in the network.
    pub(crate) fn trace(&mut self, traced: &Traced) {
        let packet = &traced.packet;
        let story = self.stories.get_mut(packet.payload.0 as usize);
        // The last frames of a packet may follow its arrival: another packet may have its place.
        let Some(story) = story.filter(|story| story.since == packet.created) else { return };
        match traced.step {
            Step::Taken { waited } => story.leg(traced.over).waited = Some(waited),
            Step::Sent => story.leg(traced.over).attempts += 1,
            Step::Dropped(reason) => story.dropped = Some((traced.over, reason)),
            Step::GivenUp => story.given_up = Some(traced.over),
            Step::LostInWire => {}
        }
    }

    /// The network is done with a packet.
    pub(crate) fn ends(&mut self, held: u32, end: End<'_>, marked: bool, now: Time) {
        let story = &mut self.stories[held as usize];
        let record = story.record.take();
        let file =
            |files: &Vec<Option<File>>, node: usize| files.get(node).is_some_and(Option::is_some);
        let received = end.received().filter(|(node, _)| file(&self.files, *node));
        if record.is_none() && received.is_none() {
            return;
        }
        let comment = self.labels.ended(story, end, marked, now);
        if let Some((node, number)) = record
            && let Some(file) = &mut self.files[node]
        {
            file.complete(number, comment.clone());
        }
        if let Some((node, bytes)) = received
            && let Some(file) = &mut self.files[node]
        {
            file.add(now + self.zero, Direction::Received, bytes, Some(comment));
        }
        self.write(now);
    }

    /// Hands on what is complete, if it has waited for long.
    pub(crate) fn write(&mut self, now: Time) {
        for file in self.files.iter_mut().flatten() {
            file.write(now);
        }
    }

    /// Writes everything; packets in the network are written as such.
    pub(crate) fn finish(&mut self, now: Time) {
        let Captures { files, stories, labels, .. } = self;
        for story in stories {
            if let Some((node, number)) = story.record.take()
                && let Some(file) = &mut files[node]
            {
                file.complete(number, labels.still(story));
            }
        }
        for file in files.iter_mut().flatten() {
            file.settle_all();
            file.flush(now);
            if file.failure.is_none() {
                file.failure = file.sink.flush().err();
            }
        }
    }

    pub(crate) fn states(&self) -> impl Iterator<Item = CaptureState<'_>> {
        let files = self.files.iter().enumerate();
        files.filter_map(|(node, file)| {
            let File { packets, failure, .. } = file.as_ref()?;
            Some(CaptureState { node, packets: *packets, failure: failure.as_ref() })
        })
    }
}

impl File {
    /// Adds a packet, and returns its number.
    fn add(
        &mut self,
        at: Time,
        direction: Direction,
        bytes: &[u8],
        comment: Option<String>,
    ) -> u64 {
        self.packets += 1;
        self.pending_bytes += bytes.len() + RECORD_BYTES;
        self.pending.push_back(Record { at, direction, bytes: bytes.to_vec(), comment });
        self.first + self.pending.len() as u64 - 1
    }

    /// The fate of a packet is known.
    fn complete(&mut self, number: u64, comment: String) {
        let pending = number.checked_sub(self.first).map(|at| at as usize);
        if let Some(record) = pending.and_then(|at| self.pending.get_mut(at)) {
            record.comment = Some(comment);
        }
    }

    fn write(&mut self, now: Time) {
        self.settle_all();
        while self.pending_bytes > MOST_PENDING_BYTES {
            if let Some(first) = self.pending.front_mut() {
                first.comment = Some(TOO_LONG.to_owned());
            }
            self.settle_all();
        }
        if self.out.len() >= CHUNK_BYTES || now - self.flushed >= FLUSH_EVERY {
            self.flush(now);
        }
    }

    /// Makes blocks of the packets before the first one that is in the network.
    fn settle_all(&mut self) {
        while let Some(Record { comment: Some(comment), at, direction, bytes }) =
            self.pending.front()
        {
            pcapng::packet(&mut self.out, *at, *direction, bytes, comment);
            self.pending_bytes -= bytes.len() + RECORD_BYTES;
            self.pending.pop_front();
            self.first += 1;
        }
    }

    fn flush(&mut self, now: Time) {
        self.flushed = now;
        if !self.out.is_empty() && self.failure.is_none() {
            self.failure = self.sink.write_all(&self.out).err();
        }
        self.out.clear();
    }
}
