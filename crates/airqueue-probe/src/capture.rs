//! The file that keeps records: pure bytes, appended frame by frame, readable after a torn write.
//!
//! ```text
//! file:   magic "AQCAPTUR" (8 bytes), format version (1 byte), frames
//! frame:  kind (1 byte), payload length (u32), CRC-32 of kind, length and payload (u32), payload
//! header: kind 1, the first frame: JSON text
//! run:    kind 2: varint length and JSON text; end (1 byte); varints send_blocked,
//!         receive_overflow, duplicates, clock_steps; flags (1 byte; 1: kernel receive timestamps,
//!         2: the server carried other clients' packets); varint rows; columns scheduled, sent minus
//!         scheduled, kernel transmit minus scheduled, received (see `column`); then flow and size: (varint rows, flow, varint size) repeated
//! classes: kind 3, before its run: varint rows; traffic classes as sent, of all rows; traffic classes as received, of the rows
//!         that arrived (columns of bytes, see `column`). A run without this frame has none
//! ```
//!
//! Integers are big-endian. Frames of other kinds are skipped, so that they can be added.

use crate::bytes::{Reader, Truncated, put_varint};
use crate::column;
use crate::records::{Classes, HostReport, MISSING, Records, Run};
use crate::wire::{end_code, end_from_code};
use thiserror::Error;

const MAGIC: [u8; 8] = *b"AQCAPTUR";
const VERSION: u8 = 1;
const HEADER: u8 = 1;
const RUN: u8 = 2;
const CLASSES: u8 = 3;

/// The content of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// JSON text about the whole capture.
    pub header: String,
    /// JSON text about each run, and the run.
    pub runs: Vec<(String, Run)>,
    /// Whether a torn or damaged tail was dropped.
    pub torn: bool,
}

/// Why bytes are not a capture.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CaptureError {
    /// Some other file.
    #[error("this is not an airqueue capture: it does not begin with the capture magic")]
    NotACapture,
    /// A newer format.
    #[error(
        "this capture has format version {found} and this program reads version {known}: use the \
         release that wrote it"
    )]
    Version {
        /// The file's version.
        found: u8,
        /// The version that this program reads.
        known: u8,
    },
    /// The header frame is torn or damaged.
    #[error("the capture's header is torn or damaged: nothing in it can be trusted")]
    BadHeader,
}

/// The beginning of a capture.
pub fn encode_header(json: &str) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.push(VERSION);
    put_frame(&mut out, HEADER, json.as_bytes());
    out
}

/// One run, to be appended to a capture.
pub fn encode_run(meta_json: &str, run: &Run) -> Vec<u8> {
    let mut payload = Vec::new();
    put_varint(&mut payload, meta_json.len() as u64);
    payload.extend_from_slice(meta_json.as_bytes());
    let host = &run.host;
    payload.push(end_code(run.end));
    for n in [host.send_blocked, host.receive_overflow, host.duplicates, host.clock_steps] {
        put_varint(&mut payload, n);
    }
    payload.push(u8::from(host.kernel_receive_timestamps) | u8::from(host.shared) << 1);
    put_records(&mut payload, &run.records);
    let mut out = Vec::new();
    // First, so that a capture that ends with a run has all of it.
    if let Some(classes) = &run.records.classes {
        put_frame(&mut out, CLASSES, &encode_classes(classes, &run.records.received_ns));
    }
    put_frame(&mut out, RUN, &payload);
    out
}

fn encode_classes(classes: &Classes, received_ns: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    let at = |column: &[u8], i: usize| column.get(i).copied().unwrap_or(0);
    put_varint(&mut out, received_ns.len() as u64);
    column::encode_bytes(&mut out, (0..received_ns.len()).map(|i| at(&classes.sent, i)));
    let arrived = (0..received_ns.len()).filter(|&i| received_ns[i] != MISSING);
    column::encode_bytes(&mut out, arrived.map(|i| at(&classes.received, i)));
    out
}

fn decode_classes(payload: &[u8], received_ns: &[i64]) -> Result<Classes, Truncated> {
    let mut r = Reader::new(payload);
    if r.varint()? != received_ns.len() as u64 {
        return Err(Truncated);
    }
    let sent = column::decode_bytes(&mut r, received_ns.iter().map(|_| true))?;
    let received = column::decode_bytes(&mut r, received_ns.iter().map(|&at| at != MISSING))?;
    if r.rest().is_empty() { Ok(Classes { sent, received }) } else { Err(Truncated) }
}

fn checksum(kind: u8, payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&[kind]);
    crc.update(&(payload.len() as u32).to_be_bytes());
    crc.update(payload);
    crc.finalize()
}

fn put_frame(out: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes());
    out.extend_from_slice(&checksum(kind, payload).to_be_bytes());
    out.extend_from_slice(payload);
}

fn put_records(out: &mut Vec<u8>, r: &Records) {
    let rows = r.scheduled_ns.len();
    put_varint(out, rows as u64);
    let at = |column: &[i64], i: usize| column.get(i).copied().unwrap_or(MISSING);
    let late = |column: &[i64], i: usize| match at(column, i) {
        MISSING => MISSING,
        t => t.wrapping_sub(r.scheduled_ns[i]),
    };
    column::encode(out, rows, |i| r.scheduled_ns[i]);
    column::encode(out, rows, |i| late(&r.sent_ns, i));
    column::encode(out, rows, |i| late(&r.kernel_tx_ns, i));
    column::encode(out, rows, |i| at(&r.received_ns, i));
    let kinds: Vec<(u8, u16)> = (0..rows)
        .map(|i| {
            let flow = r.flow.get(i).copied().unwrap_or(0);
            (flow, r.size_bytes.get(i).copied().unwrap_or(0))
        })
        .collect();
    for same in kinds.chunk_by(|a, b| a == b) {
        put_varint(out, same.len() as u64);
        out.push(same[0].0);
        put_varint(out, u64::from(same[0].1));
    }
}

/// Reads a capture. A torn or damaged tail is dropped and reported; all frames before it are whole.
pub fn decode(bytes: &[u8]) -> Result<Capture, CaptureError> {
    let mut r = Reader::new(bytes);
    if r.array() != Ok(MAGIC) {
        return Err(CaptureError::NotACapture);
    }
    match r.u8() {
        Ok(VERSION) => {}
        Ok(found) => return Err(CaptureError::Version { found, known: VERSION }),
        Err(Truncated) => return Err(CaptureError::BadHeader),
    }
    let header = match frame(&mut r) {
        Ok((HEADER, payload)) => text(payload).map_err(|_| CaptureError::BadHeader)?,
        _ => return Err(CaptureError::BadHeader),
    };
    let mut capture = Capture { header, runs: Vec::new(), torn: false };
    capture.torn = runs(&mut r, &mut capture.runs).is_err();
    Ok(capture)
}

/// Reads the frames after the header, up to one that is torn or damaged.
fn runs(r: &mut Reader<'_>, runs: &mut Vec<(String, Run)>) -> Result<(), Truncated> {
    let mut classes = None;
    while !r.rest().is_empty() {
        match frame(r)? {
            (CLASSES, payload) => classes = Some(payload),
            (RUN, payload) => {
                let (meta, mut run) = run(payload)?;
                let received_ns = &run.records.received_ns;
                run.records.classes =
                    classes.take().map(|c| decode_classes(c, received_ns)).transpose()?;
                runs.push((meta, run));
            }
            _ => {}
        }
    }
    // Classes without their run are the beginning of one that was not written whole.
    if classes.is_none() { Ok(()) } else { Err(Truncated) }
}

fn frame<'a>(r: &mut Reader<'a>) -> Result<(u8, &'a [u8]), Truncated> {
    let (kind, len, crc) = (r.u8()?, r.u32()?, r.u32()?);
    let payload = r.take(usize::try_from(len).map_err(|_| Truncated)?)?;
    if checksum(kind, payload) == crc { Ok((kind, payload)) } else { Err(Truncated) }
}

fn text(bytes: &[u8]) -> Result<String, Truncated> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Truncated)
}

fn run(payload: &[u8]) -> Result<(String, Run), Truncated> {
    let mut r = Reader::new(payload);
    let meta_len = usize::try_from(r.varint()?).map_err(|_| Truncated)?;
    let meta = text(r.take(meta_len)?)?;
    let end = end_from_code(r.u8()?).ok_or(Truncated)?;
    let mut host = HostReport {
        send_blocked: r.varint()?,
        receive_overflow: r.varint()?,
        duplicates: r.varint()?,
        clock_steps: r.varint()?,
        ..HostReport::default()
    };
    let flags = r.u8()?;
    if flags > 3 {
        return Err(Truncated);
    }
    (host.kernel_receive_timestamps, host.shared) = (flags & 1 != 0, flags & 2 != 0);
    let records = records(&mut r)?;
    if r.rest().is_empty() { Ok((meta, Run { records, host, end })) } else { Err(Truncated) }
}

fn records(r: &mut Reader<'_>) -> Result<Records, Truncated> {
    let rows = usize::try_from(r.varint()?).map_err(|_| Truncated)?;
    // Every row has a scheduled time, of a byte at least: a claimed length must be backed by bytes.
    if rows > r.rest().len() {
        return Err(Truncated);
    }
    let scheduled_ns = column::decode(r, rows)?;
    let mut relative = || -> Result<Vec<i64>, Truncated> {
        let mut column = column::decode(r, rows)?;
        for (t, s) in column.iter_mut().zip(&scheduled_ns).filter(|(t, _)| **t != MISSING) {
            *t = t.wrapping_add(*s);
        }
        Ok(column)
    };
    let (sent_ns, kernel_tx_ns) = (relative()?, relative()?);
    let received_ns = column::decode(r, rows)?;
    let (mut flow, mut size_bytes) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    while flow.len() < rows {
        let same = usize::try_from(r.varint()?).map_err(|_| Truncated)?;
        let (of_flow, size) = (r.u8()?, u16::try_from(r.varint()?).map_err(|_| Truncated)?);
        if same == 0 || same > rows - flow.len() {
            return Err(Truncated);
        }
        flow.resize(flow.len() + same, of_flow);
        size_bytes.resize(size_bytes.len() + same, size);
    }
    let classes = None;
    Ok(Records { scheduled_ns, sent_ns, kernel_tx_ns, received_ns, flow, size_bytes, classes })
}
