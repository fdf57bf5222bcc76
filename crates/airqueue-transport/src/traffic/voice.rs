//! One direction of a call: the packets that a codec makes of speech.

use super::registry::{Asked, Carried, Kind};
use super::{Arrivals, OnOff, SourceSpec};
use crate::voice::{Codec, G711_PLC, G729, G729A_VAD, HEADERS_BYTES};
use airqueue_core::Span;
use airqueue_core::keys::{Result, wrong};
use airqueue_core::quantity::{Duration, Quantity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most speech in a packet that every receiver takes (RFC 3551, section 4.2).
const MOST_SPEECH: Span = Span::from_millis(200);

/// One direction of a call.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VoiceTable {
    /// Which codec. The default is g711-plc.
    pub codec: CodecName,
    /// How much speech is in a packet: a multiple of the codec's frame of 10 ms. The default is `20 ms`.
    pub packet_time: Option<Quantity<Duration>>,
    /// For how long the receiver holds back the packets that have come fastest, so that slower ones are there in time. The
    /// default is the time with which the call is best.
    pub playout: Option<Quantity<Duration>>,
    /// Mean of the times of talk, which are exponentially distributed. The default is talk without pauses.
    pub talk: Option<Quantity<Duration>>,
    /// Mean of the pauses between them, which are, too, and have no packets.
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
    /// The codec of this name.
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
    /// What makes packets of speech.
    pub codec: &'static Codec,
    /// How many of the codec's frames a packet has.
    pub frames: u32,
    /// When there is talk; `None`: all the time.
    pub on_off: Option<OnOff>,
    /// For how long the receiver holds back what has come fastest; `None`: as is best.
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
    /// IP bytes of its packets.
    pub fn size_bytes(&self) -> u32 {
        HEADERS_BYTES + self.frames * self.codec.frame_bytes
    }

    /// When they come.
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
