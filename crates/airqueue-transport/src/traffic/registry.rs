//! Which sources there are, one line each. What a source is stands in its own file.

use super::voice::{Call, VoiceTable};
use super::web::{FilesSpec, WebTable};
use super::{Arrivals, SourceSpec};
use airqueue_core::keys::{Result, Word, error, wrong};
use airqueue_core::quantity::{Bytes, PacketRate, Quantity, Rate, Size};
use airqueue_core::{DataRate, Span, Time};

/// IP bytes of packets, if nothing says otherwise.
pub const PACKET_BYTES: u32 = 1500;

/// Why a flow has no use for what only TCP knows.
pub const NOT_TCP: &str =
    "TCP does not govern the flow; leave the key out, or give source = \"tcp\"";

/// A kind of source, as its file describes it.
pub(super) trait Kind {
    /// What it is, as the schema of scenarios says it.
    const ABOUT: &'static str;
    /// Whether its packets are TCP's.
    const OVER_TCP: bool = false;
    /// What no other source has, if a flow has a table of keys called as the source is.
    const TABLE_OF: Option<&'static str> = None;

    /// What a flow carries, with the keys that it has besides the source's word. The error names the key that is wrong.
    fn carried(asked: &Asked<'_>) -> Result<Carried>;
}

/// Makes the words of the registry, and leads from each to its [`Kind`], which is in the module with the word's name.
macro_rules! sources {
    ($($word:ident: $Kind:ident;)+) => {
        airqueue_core::words! {
            /// How the packets of a flow are made.
            pub enum SourceName: "How packets are made" {
                $($word: $Kind, <super::$word::$Kind as Kind>::ABOUT;)+
            }
        }

        impl SourceName {
            /// Whether the packets are TCP's.
            pub fn is_over_tcp(self) -> bool {
                match self {
                    $(SourceName::$Kind => <super::$word::$Kind as Kind>::OVER_TCP,)+
                }
            }

            /// What a flow carries, with the keys that it has besides this word.
            ///
            /// # Errors
            ///
            /// When there is no such source: which key is wrong.
            pub fn carried(self, asked: &Asked<'_>) -> Result<Carried> {
                asked.check_tables(self, &[
                    $((SourceName::$Kind, <super::$word::$Kind as Kind>::TABLE_OF),)+
                ])?;
                match self {
                    $(SourceName::$Kind => <super::$word::$Kind as Kind>::carried(asked),)+
                }
            }
        }
    };
}

sources! {
    saturated: Saturated;
    cbr: Cbr;
    poisson: Poisson;
    voice: Voice;
    tcp: Tcp;
    web: Web;
    external: External;
}

#[expect(clippy::derivable_impls, reason = "the variants come from a macro")]
impl Default for SourceName {
    fn default() -> SourceName {
        SourceName::Saturated
    }
}

/// What a flow carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Carried {
    /// Packets of a source that TCP does not govern.
    Packets {
        /// When they come.
        source: SourceSpec,
        /// The call that they are, if they are one.
        call: Option<Call>,
    },
    /// What whoever runs the network offers.
    Offered {
        /// IP bytes of the largest packets.
        size_bytes: u32,
    },
    /// What TCP transfers.
    Tcp(Load),
}

/// What TCP has to transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// So many bytes of data over one connection; `None`: data without end.
    Transfer(Option<u64>),
    /// Files, each over a connection of its own.
    Files {
        /// The files, of any number of bytes.
        files: FilesSpec,
        /// Whether they are whole segments; `None`: as it is usual with their TCP.
        whole_segments: Option<bool>,
    },
}

/// What the keys of a flow say of the flow's packets.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The key of the flow, such as `flows[2]`, with which the keys in errors begin.
    pub key: &'a str,
    /// Mean rate in bits of IP packets.
    pub rate: Option<&'a Quantity<Rate>>,
    /// Mean rate in packets.
    pub packet_rate: Option<&'a Quantity<PacketRate>>,
    /// Size of the IP packets.
    pub size: Option<&'a Quantity<Size>>,
    /// How much is transferred.
    pub volume: Option<&'a Quantity<Bytes>>,
    /// What a user of the web asks for.
    pub web: Option<&'a WebTable>,
    /// What a call sends.
    pub voice: Option<&'a VoiceTable>,
    /// When the first packet comes.
    pub start: Time,
    /// By how much later it may come.
    pub start_spread: Option<Span>,
    /// From when on no packet comes.
    pub stop: Option<Time>,
}

impl Asked<'_> {
    fn given(&self) -> [(&'static str, bool); 9] {
        [
            ("rate", self.rate.is_some()),
            ("packet_rate", self.packet_rate.is_some()),
            ("size", self.size.is_some()),
            ("volume", self.volume.is_some()),
            ("web", self.web.is_some()),
            ("voice", self.voice.is_some()),
            ("start", self.start > Time::ZERO),
            ("start_spread", self.start_spread.is_some()),
            ("stop", self.stop.is_some()),
        ]
    }

    /// Refuses the first of these keys that is given: the kind has no use for them, for this reason.
    pub(super) fn refuse(&self, names: &[&str], why: &str) -> Result<()> {
        match self.given().into_iter().find(|(name, given)| *given && names.contains(name)) {
            Some((name, _)) => wrong(format_args!("{}.{name}", self.key), why),
            None => Ok(()),
        }
    }

    /// Nobody but `own` has a table, as far as others have one.
    fn check_tables(&self, own: SourceName, all: &[(SourceName, Option<&str>)]) -> Result<()> {
        all.iter().filter(|(other, _)| *other != own).try_for_each(|(other, has)| {
            let word = other.word();
            let Some(has) = has else { return Ok(()) };
            if other.is_over_tcp() && !own.is_over_tcp() {
                return self.refuse(&[word], NOT_TCP);
            }
            let why = format!("only source = {word:?} has {has}; leave the key out");
            self.refuse(&[word], &why)
        })
    }

    /// IP bytes of the packets.
    pub(super) fn size_bytes(&self) -> u32 {
        self.size.map_or(PACKET_BYTES, |size| size.value)
    }

    /// The mean rate in bits, if one is given.
    pub(super) fn mean_rate(&self) -> Result<Option<DataRate>> {
        match (self.rate, self.packet_rate) {
            (Some(_), Some(_)) => {
                let problem = "rate is given too; leave one of them out";
                wrong(format_args!("{}.packet_rate", self.key), problem)
            }
            (Some(rate), None) => Ok(Some(rate.value)),
            (None, Some(packets)) => {
                let bps = packets.value * 8.0 * f64::from(self.size_bytes());
                let rate = DataRate::from_bps(bps.round() as u64);
                let least = "with that size it is less than 1 b/s";
                let low = || error(format_args!("{}.packet_rate", self.key), least);
                rate.map(Some).ok_or_else(low)
            }
            (None, None) => Ok(None),
        }
    }

    /// The mean rate of a source that has to have one.
    pub(super) fn needed_rate(&self) -> Result<DataRate> {
        self.mean_rate()?.ok_or_else(|| error(self.key, "missing key `rate`, or `packet_rate`"))
    }

    /// Packets that come so, for as long as the flow lasts.
    pub(super) fn packets(&self, arrivals: Arrivals) -> SourceSpec {
        let (start, stop) = (self.start, self.stop.unwrap_or(Time::MAX));
        SourceSpec { arrivals, size_bytes: self.size_bytes(), start, stop }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Source;
    use airqueue_core::Seed;

    fn asked() -> Asked<'static> {
        Asked {
            key: "flows[3]",
            rate: None,
            packet_rate: None,
            size: None,
            volume: None,
            web: None,
            voice: None,
            start: Time::ZERO,
            start_spread: None,
            stop: None,
        }
    }

    /// With no more keys than are needed every source carries what its file says of TCP, and packets of a source that can be.
    #[test]
    fn sources_can_be() {
        let rate = Quantity::of("1 Mb/s");
        for &name in SourceName::ALL {
            let bare = name.carried(&asked());
            let rated = name.carried(&Asked { rate: Some(&rate), ..asked() });
            let carried = bare.or(rated).unwrap();
            assert_eq!(matches!(carried, Carried::Tcp(_)), name.is_over_tcp(), "{name:?}");
            if let Carried::Packets { source, call } = carried {
                assert!(Source::new(source, Seed(1).stream("source")).is_ok(), "{name:?}");
                assert!(call.is_none_or(|call| call.size_bytes() == source.size_bytes));
            }
        }
    }

    /// A table of keys is for the source that is called as the table is.
    #[test]
    fn tables_are_for_their_own_sources() {
        let (web, voice) = (WebTable::default(), VoiceTable::default());
        let tables = [
            ("web", Asked { web: Some(&web), ..asked() }),
            ("voice", Asked { voice: Some(&voice), ..asked() }),
        ];
        for (word, asked) in tables {
            for &name in SourceName::ALL {
                let found = name.carried(&asked);
                if name.word() == word {
                    assert!(found.is_ok(), "{name:?}: {found:?}");
                } else {
                    assert_eq!(found.unwrap_err().key, format!("flows[3].{word}"), "{name:?}");
                }
            }
        }
    }
}
