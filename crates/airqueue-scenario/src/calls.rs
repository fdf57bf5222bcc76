//! Calls: the packets of a codec, and how good a conversation over them is.

use super::error::{Result, wrong};
use super::file::{CodecName, FlowTable, SourceName, VoiceTable};
use super::reported::CallFigures;
use airqueue_core::Span;
use airqueue_network::counters::HopCounters;
use airqueue_transport::traffic::{Arrivals, Spurts};
use airqueue_transport::voice::{self, Codec, G711_PLC, G729, G729A_VAD, HEADERS_BYTES};

/// The most speech in a packet that every receiver takes (RFC 3551, section 4.2).
const MOST_SPEECH: Span = Span::from_millis(200);

/// One direction of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    codec: &'static Codec,
    /// Of a packet.
    frames: u32,
    spurts: Option<Spurts>,
    /// For how long the receiver holds back what has come fastest; `None`: as is best.
    playout: Option<Span>,
}

/// What is heard with a fixed time from a packet's origin to its playing.
struct Heard {
    mouth_to_ear_s: f64,
    late_packets: u64,
    r_factor: f64,
}

impl Call {
    /// The call that a flow is, if it is one.
    pub(super) fn new(key: &str, table: &FlowTable) -> Result<Option<Call>> {
        let voice = table.voice.as_deref();
        if table.source != SourceName::Voice {
            let problem = "only source = \"voice\" has a codec; leave the key out";
            return voice.map_or(Ok(None), |_| wrong(format_args!("{key}.voice"), problem));
        }
        let default = VoiceTable::default();
        let voice = voice.unwrap_or(&default);
        let codec = match voice.codec {
            CodecName::G711Plc => &G711_PLC,
            CodecName::G729 => &G729,
            CodecName::G729aVad => &G729A_VAD,
        };
        let frames = frames(key, voice, codec)?;
        let spurts = spurts(key, voice)?;
        let playout = voice.playout.as_ref().map(|playout| playout.value);
        Ok(Some(Call { codec, frames, spurts, playout }))
    }

    /// IP bytes of its packets.
    pub(super) fn size_bytes(&self) -> u32 {
        HEADERS_BYTES + self.frames * self.codec.frame_bytes
    }

    /// When they come.
    pub(super) fn arrivals(&self) -> Arrivals {
        let every = Span::from_nanos(i64::from(self.frames) * self.codec.frame.as_nanos());
        Arrivals::Periodic { every, spurts: self.spurts }
    }

    /// How good it is with what became of its packets.
    pub(super) fn figures(&self, tally: &HopCounters) -> CallFigures {
        let lost = tally.dropped.packets + tally.given_up.packets;
        let met = lost + tally.delivered.packets;
        let heard = self.heard(tally, lost);
        CallFigures {
            r_factor: heard.as_ref().map(|heard| heard.r_factor),
            mos: heard.as_ref().map(|heard| voice::mos(heard.r_factor)),
            mouth_to_ear_s: heard.as_ref().map(|heard| heard.mouth_to_ear_s),
            late_ratio: heard.map(|heard| heard.late_packets as f64 / met as f64),
        }
    }

    /// Delays are known by their buckets: where one ends is a time at which packets may be played.
    fn heard(&self, tally: &HopCounters, lost: u64) -> Option<Heard> {
        let longest_s = tally.delay.greatest.as_secs_f64();
        let mut in_time = 0;
        let steps: Vec<(f64, u64)> = (tally.delays.steps())
            .map(|(end_s, count)| {
                in_time += count;
                (end_s.min(longest_s), in_time)
            })
            .collect();
        let heard = |network_s: f64, in_time: u64| {
            let late_packets = tally.delivered.packets - in_time;
            let met = (lost + tally.delivered.packets) as f64;
            let coding_s = voice::coding_delay_s(self.codec, f64::from(self.frames));
            let mouth_to_ear_s = coding_s + network_s;
            let missing = (lost + late_packets) as f64 / met;
            let r_factor = self.codec.r_factor(mouth_to_ear_s, missing, 1.0);
            Heard { mouth_to_ear_s, late_packets, r_factor }
        };
        let &(fastest_s, _) = steps.first()?;
        if let Some(playout) = self.playout {
            let network_s = fastest_s + playout.as_secs_f64();
            let (_, in_time) = *steps.iter().rfind(|&&(end_s, _)| end_s <= network_s)?;
            return Some(heard(network_s, in_time));
        }
        let each = steps.iter().map(|&(end_s, in_time)| heard(end_s, in_time));
        // Of two that are as good the one with the shorter delay.
        each.reduce(|best, next| if next.r_factor > best.r_factor { next } else { best })
    }
}

/// How many frames a packet has.
fn frames(key: &str, voice: &VoiceTable, codec: &Codec) -> Result<u32> {
    let Some(given) = &voice.packet_time else { return Ok(codec.frames_per_packet) };
    let (time, frame) = (given.value.as_nanos(), codec.frame.as_nanos());
    if time < frame || given.value > MOST_SPEECH || time % frame != 0 {
        let problem = format_args!(
            "found {}, expected a multiple of the codec's frame, {}, up to {MOST_SPEECH}",
            given.text, codec.frame
        );
        return wrong(format_args!("{key}.voice.packet_time"), problem);
    }
    Ok((time / frame) as u32)
}

/// Whether it pauses.
fn spurts(key: &str, voice: &VoiceTable) -> Result<Option<Spurts>> {
    let (name, other) = match (&voice.talk, &voice.silence) {
        (None, None) => return Ok(None),
        (Some(talk), Some(silence)) => {
            let given = [("talk", talk), ("silence", silence)];
            if let Some((name, _)) = given.iter().find(|(_, time)| time.value <= Span::ZERO) {
                let problem = "there is none; leave talk and silence out for speech without pauses";
                return wrong(format_args!("{key}.voice.{name}"), problem);
            }
            return Ok(Some(Spurts { talk: talk.value, silence: silence.value }));
        }
        (Some(_), None) => ("talk", "silence"),
        (None, Some(_)) => ("silence", "talk"),
    };
    wrong(
        format_args!("{key}.voice.{name}"),
        format_args!("{other} is missing; give both, or neither"),
    )
}
