//! The list of all queue disciplines, one line each, and the types generated from the list.

use crate::discipline::{Around, Facts, Parameters, Place, Short};
use crate::droptail::DropFrom;
use crate::queue::{drop_from_words, limit_words, ring_words};
use airqueue_core::BoxedQueue;
use airqueue_core::keys::{Layers, Result, Table, Word};
use airqueue_core::quantity::{Packets, Quantity, QueueLimit, Size};
use schemars::JsonSchema;
use serde::Deserialize;

/// Generates the types from the list: for each discipline its word, its variant with its parameters, and the keys of
/// its table if any.
macro_rules! disciplines {
    ($( $word:ident: $Variant:ident($Params:ty) $(, $Table:ty)?; )+) => {
        airqueue_core::words! {
            /// The name of a queue discipline.
            pub enum DisciplineName: "A queue discipline" {
                $( $word: $Variant, <$Params as Parameters>::ABOUT; )+
            }
        }

        /// A queue discipline with its parameters.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Discipline {
            $(
                #[doc = concat!("That with the word `", stringify!($word), "`.")]
                $Variant($Params),
            )+
        }

        $(
            impl From<$Params> for Discipline {
                fn from(params: $Params) -> Discipline {
                    Discipline::$Variant(params)
                }
            }
        )+

        impl Discipline {
            /// The discipline's name.
            pub fn name(&self) -> DisciplineName {
                match self {
                    $( Discipline::$Variant(_) => DisciplineName::$Variant, )+
                }
            }

            /// What other code may rely on.
            pub fn facts(&self) -> Facts {
                match self {
                    $( Discipline::$Variant(params) => params.facts(), )+
                }
            }

            /// An empty queue.
            pub fn make(&self, place: Place) -> BoxedQueue {
                match self {
                    $( Discipline::$Variant(params) => params.make(place), )+
                }
            }
        }

        impl DisciplineName {
            /// The discipline with its default parameters.
            pub fn by_itself(self) -> Discipline {
                match self {
                    $( DisciplineName::$Variant => <$Params>::default().into(), )+
                }
            }

            /// The discipline's name in a sentence.
            pub fn spoken(self) -> &'static str {
                match self {
                    $( DisciplineName::$Variant => <$Params as Parameters>::NAME, )+
                }
            }

            /// Names for some variants of the discipline in the short text form.
            pub fn short(self) -> &'static [Short] {
                match self {
                    $( DisciplineName::$Variant => <$Params as Parameters>::SHORT, )+
                }
            }

            /// The discipline that the tables of queues describe.
            ///
            /// # Errors
            ///
            /// The key that is wrong, and why.
            pub fn check(
                self,
                tables: &Layers<'_, QueueTable>,
                around: &Around,
            ) -> Result<Discipline> {
                match self {
                    $( DisciplineName::$Variant => {
                        let own = disciplines!(@own tables, $word $(, $Table)?);
                        <$Params as Parameters>::check(&own, around).map(Discipline::from)
                    } )+
                }
            }
        }

        /// A queue of packets before the MAC, which holds one more packet. A key left out of a station's table is taken
        /// from the table of all stations.
        #[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct QueueTable {
            /// The queue discipline. The default is droptail. The table with the discipline's name has its parameters.
            pub discipline: Option<DisciplineName>,
            /// Limit of the queue.
            #[schemars(description = limit_words())]
            pub limit: Option<Quantity<QueueLimit>>,
            /// The packet that a full queue drops, with the disciplines that leave this choice.
            #[schemars(description = drop_from_words())]
            pub drop_from: Option<DropFrom>,
            /// Packets of a driver ring between the queue and the MAC.
            #[schemars(description = ring_words())]
            pub ring: Option<Quantity<Packets>>,
            /// Bytes added to each IP packet wherever the queue counts bytes. The default is `0 B`; Linux counts the 14
            /// B of an Ethernet header.
            pub link_layer: Option<Quantity<Size>>,
            $( $(
                #[doc = concat!("The parameters of `", stringify!($word), "`.")]
                #[schemars(description = format!("The parameters of {}.", <$Params as Parameters>::NAME))]
                pub $word: Option<Table<$Table>>,
            )? )+
        }

        impl QueueTable {
            /// The disciplines for which the table contains a table.
            pub fn tables(&self) -> impl Iterator<Item = DisciplineName> {
                let given = [
                    $( (DisciplineName::$Variant, disciplines!(@given self, $word $(, $Table)?)), )+
                ];
                given.into_iter().filter_map(|(name, given)| given.then_some(name))
            }
        }
    };
    (@own $tables:ident, $word:ident) => { Layers::new(Vec::new()) };
    (@own $tables:ident, $word:ident, $Table:ty) => {
        $tables.within(stringify!($word), |queue: &QueueTable| queue.$word.as_ref())
    };
    (@given $queue:ident, $word:ident) => { false };
    (@given $queue:ident, $word:ident, $Table:ty) => { $queue.$word.is_some() };
}

disciplines! {
    droptail: DropTail(crate::droptail::DropTailParams);
    codel: Codel(crate::codel::CodelParams), crate::codel::CodelTable;
    fq_codel: FqCodel(crate::fq_codel::FqCodelParams), crate::fq_codel::FqCodelTable;
    red: Red(crate::red::RedParams), crate::red::RedTable;
    pie: Pie(crate::pie::PieParams), crate::pie::PieTable;
    sfq: Sfq(crate::sfq::SfqParams), crate::sfq::SfqTable;
    cake: Cake(crate::cake::CakeParams), crate::cake::CakeTable;
    drr: Drr(crate::per_flow::DrrParams), crate::per_flow::DrrTable;
    adaptive: Adaptive(crate::adaptive::AdaptiveParams), crate::adaptive::AdaptiveTable;
    rdqm: Rdqm(crate::rdqm::RdqmParams), crate::rdqm::RdqmTable;
    mac80211: Mac80211(crate::mac80211::Mac80211Params), crate::mac80211::Mac80211Table;
}

impl DisciplineName {
    /// The name as written in scenarios.
    pub fn word(self) -> &'static str {
        Word::word(self)
    }

    /// Every discipline.
    pub fn all() -> impl Iterator<Item = DisciplineName> {
        <DisciplineName as Word>::ALL.iter().copied()
    }

    /// The discipline that the tables of queues name; if they name none, the first of the list.
    pub fn of(tables: &Layers<'_, QueueTable>) -> DisciplineName {
        let given = tables.find("discipline", |queue| queue.discipline.as_ref());
        given.map_or(<DisciplineName as Word>::ALL[0], |name| *name.value)
    }
}
