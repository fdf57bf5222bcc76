//! One direction of a call: the packets of a voice codec.

use super::registry::{Asked, Carried, Kind};
use super::{Arrivals, OnOff, SourceSpec};
use crate::voice::{Codec, G711_PLC, G729, G729A_VAD, HEADERS_BYTES};
use airqueue_core::Span;
use airqueue_core::keys::{Result, wrong};
use airqueue_core::quantity::{Duration, Quantity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest speech in a packet that every receiver accepts (RFC 3551, section 4.2).
const MOST_SPEECH: Span = Span::from_millis(200);

/// One direction of a call.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VoiceTable {
    /// The codec. The default is g711-plc.
    pub codec: CodecName,
    /// Duration of speech in a packet: a multiple of the codec's frame of 10 ms. The default is `20 ms`.
    pub packet_time: Option<Quantity<Duration>>,
    /// Playout delay that the receiver adds to the fastest packets, so that slower packets are in time. The default is
    /// the delay with the best quality of the call.
    pub playout: Option<Quantity<Duration>>,
    /// Mean duration of talk spurts, exponentially distributed. The default is talk without pauses.
    pub talk: Option<Quantity<Duration>>,
    /// Mean duration of the pauses between talk spurts, exponentially distributed; no packets are sent in pauses.
    pub silence: Option<Quantity<Duration>>,
}

/// A codec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum CodecName {
    /// G.711, 64 kb/s, with the loss concealment of its appendix I.
    #[default]
    #[serde(rename = "g711-plc")]
    G711Plc,
    /// G.729, 8 kb/s.
    #[serde(rename = "g729")]
    G729,
    /// G.729A, 8 kb/s, with voice activity detection.
    #[serde(rename = "g729a-vad")]
    G729aVad,
}

impl CodecName {
    /// The codec with this name.
    pub fn codec(self) -> &'static Codec {
        match self {
            CodecName::G711Plc => &G711_PLC,
            CodecName::G729 => &G729,
            CodecName::G729aVad => &G729A_VAD,
        }
    }
}

/// One direction of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// The codec.
    pub codec: &'static Codec,
    /// Number of the codec's frames per packet.
    pub frames: u32,
    /// Talk spurts and pauses; `None`: continuous talk.
    pub on_off: Option<OnOff>,
    /// Playout delay added to the fastest packets; `None`: the delay with the best quality.
    pub playout: Option<Span>,
}

pub(super) struct Voice;

impl Kind for Voice {
    const ABOUT: &'static str = "One direction of a call: a packet of speech every 20 ms, with the headers of RTP, UDP and IP.";
    const TABLE_OF: &'static str = "a codec";

    fn carried(asked: &Asked<'_>) -> Result<Carried> {
        let why = "the packets of a call are what its codec makes of it; leave the key out, or give source = \"cbr\"";
        asked.refuse(&["rate", "packet_rate", "size"], why)?;
        let none = VoiceTable::default();
        let call = asked.tables.voice.unwrap_or(&none).call(asked.key)?;
        let source = SourceSpec { size_bytes: call.size_bytes(), ..asked.packets(call.arrivals()) };
        Ok(Carried::Packets { source, call: Some(call) })
    }
}

impl Call {
    /// Length of the call's IP packets in bytes.
    pub fn size_bytes(&self) -> u32 {
        HEADERS_BYTES + self.frames * self.codec.frame_bytes
    }

    /// Arrivals of the packets.
    pub fn arrivals(&self) -> Arrivals {
        let every = Span::from_nanos(i64::from(self.frames) * self.codec.frame.as_nanos());
        Arrivals::Periodic { every, on_off: self.on_off }
    }
}

impl VoiceTable {
    fn call(&self, key: &str) -> Result<Call> {
        let codec = self.codec.codec();
        let frames = frames(key, self, codec)?;
        let on_off = on_off(key, self)?;
        let playout = self.playout.as_ref().map(|playout| playout.value);
        Ok(Call { codec, frames, on_off, playout })
    }
}

/// Number of frames per packet.
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

/// Talk spurts and pauses, if the call has any.
fn on_off(key: &str, voice: &VoiceTable) -> Result<Option<OnOff>> {
    let (name, other) = match (&voice.talk, &voice.silence) {
        (None, None) => return Ok(None),
        (Some(talk), Some(silence)) => {
            let given = [("talk", talk), ("silence", silence)];
            if let Some((name, _)) = given.iter().find(|(_, time)| time.value <= Span::ZERO) {
                let problem = "there is none; leave talk and silence out for speech without pauses";
                return wrong(format_args!("{key}.voice.{name}"), problem);
            }
            return Ok(Some(OnOff { talk: talk.value, silence: silence.value }));
        }
        (Some(_), None) => ("talk", "silence"),
        (None, Some(_)) => ("silence", "talk"),
    };
    wrong(
        format_args!("{key}.voice.{name}"),
        format_args!("{other} is missing; give both, or neither"),
    )
}
