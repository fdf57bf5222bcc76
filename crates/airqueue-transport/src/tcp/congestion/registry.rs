//! The list of congestion controllers, one line each. Each controller is defined in its own file.

use super::Controller;
use crate::tcp::pacing::Pacing;
use crate::tcp::recovery::LossDetection;
use crate::tcp::spec::{SenderSpec, TcpSpec};
use airqueue_core::RandomStream;
use std::fmt;

/// A kind of controller, implemented in its own file.
pub(super) trait Kind {
    /// The description for the schema of scenarios.
    const ABOUT: &'static str;
    /// The connections that it can control; any connection by default.
    const REQUIREMENTS: Requirements = Requirements::NONE;

    /// The controller of a new connection.
    fn begin(with: Beginning<'_>) -> Box<dyn Controller>;
}

/// The parameters of a new controller.
pub(in crate::tcp) struct Beginning<'a> {
    /// Bytes of data in a full segment.
    pub(in crate::tcp) mss_bytes: u32,
    /// The first congestion window.
    pub(in crate::tcp) initial_bytes: u64,
    /// The behaviour of the sending end.
    pub(in crate::tcp) sender: &'a SenderSpec,
    /// The random stream of the controller.
    pub(in crate::tcp) draws: &'a mut RandomStream,
}

/// Defines the names of controllers, and dispatches each name to its [`Kind`], in the module of that name.
macro_rules! controllers {
    ($($word:ident: $Kind:ident;)+) => {
        airqueue_core::words! {
            /// The congestion controller.
            pub enum CongestionName: "The congestion controller" {
                $($word: $Kind, <super::$word::$Kind as Kind>::ABOUT;)+
            }
        }

        impl CongestionName {
            /// The controller's requirements on a connection.
            pub fn requirements(self) -> Requirements {
                match self {
                    $(CongestionName::$Kind => <super::$word::$Kind as Kind>::REQUIREMENTS,)+
                }
            }

            pub(in crate::tcp) fn begin(self, with: Beginning<'_>) -> Box<dyn Controller> {
                match self {
                    $(CongestionName::$Kind => <super::$word::$Kind as Kind>::begin(with),)+
                }
            }
        }
    };
}

controllers! {
    newreno: NewReno;
    cubic: Cubic;
    bbr: Bbr;
}

/// The requirements of a controller on its connection. A reason is a sentence without its full stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirements {
    /// Why selective acknowledgements are required.
    pub sack: Option<&'static str>,
    /// Why loss detection by time is required ([`LossDetection::Timing`]).
    pub loss_by_time: Option<&'static str>,
    /// Why pacing by knowledge of the path is excluded ([`Pacing::TcpAp`]).
    pub own_pacing: Option<&'static str>,
}

/// A requirement that a connection violates, with the controller's reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmet {
    /// The connection has no selective acknowledgements.
    Sack(&'static str),
    /// Losses are detected by counting.
    LossByTime(&'static str),
    /// Another mechanism paces the segments.
    OwnPacing(&'static str),
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmet::Sack(why) => write!(f, "{why}, and this TCP has none"),
            Unmet::LossByTime(why) => write!(f, "{why}, and this TCP notices losses by counting"),
            Unmet::OwnPacing(why) => write!(f, "{why}, and this TCP has adaptive pacing"),
        }
    }
}

impl Requirements {
    /// No requirements: any connection will do.
    pub const NONE: Requirements =
        Requirements { sack: None, loss_by_time: None, own_pacing: None };

    /// The first requirement that a connection violates, if any.
    pub fn unmet(&self, tcp: &TcpSpec) -> Option<Unmet> {
        let by_time = tcp.sender.loss_detection == LossDetection::Timing;
        let adaptive = matches!(tcp.sender.pacing, Pacing::TcpAp(_));
        let sack = self.sack.filter(|_| !tcp.sack).map(Unmet::Sack);
        sack.or_else(|| self.loss_by_time.filter(|_| !by_time).map(Unmet::LossByTime))
            .or_else(|| self.own_pacing.filter(|_| adaptive).map(Unmet::OwnPacing))
    }

    /// Changes a connection as little as necessary to meet the requirements.
    pub fn meet(&self, tcp: &mut TcpSpec) {
        tcp.sack |= self.sack.is_some();
        if self.loss_by_time.is_some() {
            tcp.sender.loss_detection = LossDetection::Timing;
        }
        if self.own_pacing.is_some() && matches!(tcp.sender.pacing, Pacing::TcpAp(_)) {
            tcp.sender.pacing = Pacing::Off;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::keys::Word;
    use airqueue_core::{Seed, Span};

    fn governed(name: CongestionName, change: impl Fn(&mut TcpSpec)) -> TcpSpec {
        let mut tcp = TcpSpec::linux(1000);
        change(&mut tcp);
        tcp.sender.congestion = name;
        tcp
    }

    /// Delivery rates need the times of segments and selective acknowledgements, and a controller with its own pacing
    /// excludes other pacing.
    #[test]
    fn requirements_of_controllers_are_reported() {
        for &name in CongestionName::ALL {
            let tcp = governed(name, |_| {});
            let controller = name.begin(Beginning {
                mss_bytes: tcp.mss_bytes,
                initial_bytes: 10_000,
                sender: &tcp.sender,
                draws: &mut Seed(1).stream("tcp"),
            });
            let Requirements { sack, loss_by_time, own_pacing } = name.requirements();
            if controller.steers_by_rate() {
                assert!(sack.is_some() && loss_by_time.is_some(), "{name:?}");
            }
            assert_eq!(controller.own_pacing_rate().is_some(), own_pacing.is_some(), "{name:?}");
            assert_eq!(controller.cwnd_bytes(), 10_000, "{name:?}");
        }
    }

    /// [`Requirements::meet`] adds whatever a connection lacks, and changes nothing else.
    #[test]
    fn requirements_can_be_met() {
        let rate = airqueue_core::DataRate::from_bps(1_000_000).unwrap();
        let spread = crate::tcp::Spread::Deviation;
        let adaptive = crate::tcp::TcpApSpec { hops: 4, rate, overhead_bytes: 112, spread };
        let poor = |tcp: &mut TcpSpec| {
            tcp.sack = false;
            tcp.timestamps = Some(Span::from_micros(1));
            tcp.sender.loss_detection = LossDetection::Counting;
            tcp.sender.pacing = Pacing::TcpAp(adaptive);
        };
        for &name in CongestionName::ALL {
            let needs = name.requirements();
            let before = governed(name, poor);
            let mut after = before;
            needs.meet(&mut after);
            assert_eq!(needs.unmet(&after), None, "{name:?}");
            assert_eq!(after == before, needs == Requirements::NONE, "{name:?}");
            assert_eq!(after.check(), Ok(()), "{name:?}");
        }
    }
}
