//! The list of traffic sources, one line each. Each source is defined in its own file.

use super::jitter::JitterName;
use super::page::PageSpec;
use super::video::VideoSpec;
use super::voice::Call;
use super::web::FilesSpec;
use super::{Arrivals, SourceSpec};
use airqueue_core::keys::{Result, Word, error, wrong};
use airqueue_core::quantity::{Bytes, PacketRate, Quantity, Rate, Size};
use airqueue_core::{DataRate, Span, Time};

/// The default length of IP packets in bytes.
pub const PACKET_BYTES: u32 = 1500;

/// Why a flow without TCP must not have the keys of TCP.
pub const NOT_TCP: &str =
    "TCP does not govern the flow; leave the key out, or give source = \"tcp\"";

/// A kind of source, implemented in its own file.
pub(super) trait Kind {
    /// The description for the schema of scenarios.
    const ABOUT: &'static str;
    /// Whether the source's packets are carried by TCP.
    const OVER_TCP: bool = false;
    /// Whether the source's packets may be late by a random time.
    const JITTERS: bool = false;
    /// Content of the source's table of keys, in the words of errors.
    const TABLE_OF: &'static str = "keys of its own";

    /// The traffic of a flow, from the keys of the flow. The error names the wrong key.
    fn carried(asked: &Asked<'_>) -> Result<Carried>;
}

/// Defines the names of sources, and dispatches each name to its [`Kind`], in the module of that name, and to the source's
/// table of keys, if the source has one.
macro_rules! sources {
    ($($word:ident: $Kind:ident $(, $Table:ty)?;)+) => {
        airqueue_core::words! {
            /// The source of a flow's packets.
            pub enum SourceName: "The source of packets" {
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

            /// The traffic of a flow, from its other keys.
            ///
            /// # Errors
            ///
            /// If the keys do not describe a valid source. The error names the wrong key.
            pub fn carried(self, asked: &Asked<'_>) -> Result<Carried> {
                asked.check_tables(self)?;
                if asked.jitter.is_some() && !self.jitters() {
                    let problem = "only source = \"cbr\" has jitter; leave the key out";
                    return wrong(format_args!("{}.jitter", asked.key), problem);
                }
                match self {
                    $(SourceName::$Kind => <super::$word::$Kind as Kind>::carried(asked),)+
                }
            }

            fn jitters(self) -> bool {
                match self {
                    $(SourceName::$Kind => <super::$word::$Kind as Kind>::JITTERS,)+
                }
            }

            fn table_of(self) -> &'static str {
                match self {
                    $(SourceName::$Kind => <super::$word::$Kind as Kind>::TABLE_OF,)+
                }
            }
        }

        /// The tables of keys in a flow, each named after its source.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct SourceTables<'a> {
            $($(
                #[doc = concat!("The keys of the source `", stringify!($word), "`.")]
                pub $word: Option<&'a $Table>,
            )?)+
        }

        impl SourceTables<'_> {
            /// The sources whose tables the flow has.
            fn given(&self) -> impl Iterator<Item = SourceName> {
                let given = [$((SourceName::$Kind, sources!(@given self, $word $(, $Table)?)),)+];
                given.into_iter().filter_map(|(name, given)| given.then_some(name))
            }
        }
    };
    (@given $tables:ident, $word:ident) => { false };
    (@given $tables:ident, $word:ident, $Table:ty) => { $tables.$word.is_some() };
}

sources! {
    saturated: Saturated;
    cbr: Cbr;
    poisson: Poisson;
    voice: Voice, super::voice::VoiceTable;
    frames: Pictures, super::frames::FramesTable;
    ping: Ping, super::ping::PingTable;
    tcp: Tcp;
    web: Web, super::web::WebTable;
    page: Pages, super::page::PageTable;
    video: Video, super::video::VideoTable;
    external: External;
}

#[expect(clippy::derivable_impls, reason = "the variants come from a macro")]
impl Default for SourceName {
    fn default() -> SourceName {
        SourceName::Saturated
    }
}

/// The traffic of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Carried {
    /// Packets of a source without TCP.
    Packets {
        /// Arrivals and sizes of the packets.
        source: SourceSpec,
        /// The voice call, if the packets belong to a call.
        call: Option<Call>,
    },
    /// Packets of a source without TCP, each a request that the receiver answers at once.
    Answered {
        /// Arrivals and sizes of the requests.
        source: SourceSpec,
        /// Size of an answer in bytes of IP packets.
        answer_bytes: u64,
    },
    /// Packets from outside, offered by the caller of the simulation.
    Offered {
        /// Length of the largest IP packets in bytes.
        size_bytes: u32,
    },
    /// The data that TCP transfers.
    Tcp(Load),
}

/// The data that TCP transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// This many bytes over one connection; `None`: data without end.
    Transfer(Option<u64>),
    /// Files, each over a connection of its own.
    Files {
        /// The files, of any length in bytes.
        files: FilesSpec,
        /// Whether files are whole segments; `None`: the default of the flow's TCP.
        whole_segments: Option<bool>,
    },
    /// Pages of several objects, over several connections side by side.
    Pages(PageSpec),
    /// A video, over one connection.
    Video(VideoSpec),
}

/// The keys of a flow that describe its packets.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The key of the flow, such as `flows[2]`: the prefix of the keys in errors.
    pub key: &'a str,
    /// Mean rate in bits per second of IP packets.
    pub rate: Option<&'a Quantity<Rate>>,
    /// Mean rate in packets per second.
    pub packet_rate: Option<&'a Quantity<PacketRate>>,
    /// Length of the IP packets.
    pub size: Option<&'a Quantity<Size>>,
    /// Amount of data to transfer.
    pub transfer_size: Option<&'a Quantity<Bytes>>,
    /// The random delay of each packet.
    pub jitter: Option<&'a JitterName>,
    /// The tables of single sources.
    pub tables: SourceTables<'a>,
    /// Earliest time of the first packet.
    pub start: Time,
    /// Range of the random delay of the first packet.
    pub start_spread: Option<Span>,
    /// No packet arrives from this time on.
    pub stop: Option<Time>,
}

impl Asked<'_> {
    fn given(&self) -> [(&'static str, bool); 7] {
        [
            ("rate", self.rate.is_some()),
            ("packet_rate", self.packet_rate.is_some()),
            ("size", self.size.is_some()),
            ("transfer_size", self.transfer_size.is_some()),
            ("start", self.start > Time::ZERO),
            ("start_spread", self.start_spread.is_some()),
            ("stop", self.stop.is_some()),
        ]
    }

    /// Refuses the first of these keys that is present, for the given reason.
    pub(super) fn refuse(&self, names: &[&str], why: &str) -> Result<()> {
        match self.given().into_iter().find(|(name, given)| *given && names.contains(name)) {
            Some((name, _)) => wrong(format_args!("{}.{name}", self.key), why),
            None => Ok(()),
        }
    }

    /// Refuses tables of other sources than `own`.
    fn check_tables(&self, own: SourceName) -> Result<()> {
        let Some(other) = self.tables.given().find(|&other| other != own) else { return Ok(()) };
        let word = other.word();
        let key = format_args!("{}.{word}", self.key);
        if other.is_over_tcp() && !own.is_over_tcp() {
            return wrong(key, NOT_TCP);
        }
        let has = other.table_of();
        wrong(key, format_args!("only source = {word:?} has {has}; leave the key out"))
    }

    /// Length of the IP packets in bytes.
    pub(super) fn size_bytes(&self) -> u32 {
        self.size.map_or(PACKET_BYTES, |size| size.value)
    }

    /// The mean rate in bits per second, if given.
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

    /// The mean rate of a source that requires one.
    pub(super) fn needed_rate(&self) -> Result<DataRate> {
        self.mean_rate()?.ok_or_else(|| error(self.key, "missing key `rate`, or `packet_rate`"))
    }

    /// Packets with these arrivals, for the duration of the flow.
    pub(super) fn packets(&self, arrivals: Arrivals) -> SourceSpec {
        let (start, stop) = (self.start, self.stop.unwrap_or(Time::MAX));
        SourceSpec { arrivals, size_bytes: self.size_bytes(), start, stop }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{
        FramesTable, PageTable, PingTable, Source, VideoTable, VoiceTable, WebTable,
    };
    use airqueue_core::Seed;

    fn asked() -> Asked<'static> {
        Asked {
            key: "flows[3]",
            rate: None,
            packet_rate: None,
            size: None,
            transfer_size: None,
            jitter: None,
            tables: SourceTables::default(),
            start: Time::ZERO,
            start_spread: None,
            stop: None,
        }
    }

    /// With only the required keys every source is valid, and over TCP if its file says so.
    #[test]
    fn sources_are_valid_with_their_required_keys() {
        let rate = Quantity::of("1 Mb/s");
        for &name in SourceName::ALL {
            let bare = name.carried(&asked());
            let rated = name.carried(&Asked { rate: Some(&rate), ..asked() });
            let carried = bare.or(rated).unwrap();
            assert_eq!(matches!(carried, Carried::Tcp(_)), name.is_over_tcp(), "{name:?}");
            if let Carried::Answered { source, .. } = carried {
                assert!(Source::new(source, Seed(1).stream("source")).is_ok(), "{name:?}");
            }
            if let Carried::Packets { source, call } = carried {
                assert!(Source::new(source, Seed(1).stream("source")).is_ok(), "{name:?}");
                assert!(call.is_none_or(|call| call.size_bytes() == source.size_bytes));
            }
        }
    }

    /// A table of keys is only for the source of the table's name.
    #[test]
    fn tables_are_for_their_own_sources() {
        let (web, voice) = (WebTable::default(), VoiceTable::default());
        let (frames, ping) = (FramesTable::default(), PingTable::default());
        let (none, video) = (SourceTables::default(), VideoTable::default());
        let page = PageTable::default();
        let given = [
            ("video", SourceTables { video: Some(&video), ..none }),
            ("web", SourceTables { web: Some(&web), ..none }),
            ("page", SourceTables { page: Some(&page), ..none }),
            ("voice", SourceTables { voice: Some(&voice), ..none }),
            ("frames", SourceTables { frames: Some(&frames), ..none }),
            ("ping", SourceTables { ping: Some(&ping), ..none }),
        ];
        for (word, tables) in given {
            let asked = Asked { tables, ..asked() };
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
