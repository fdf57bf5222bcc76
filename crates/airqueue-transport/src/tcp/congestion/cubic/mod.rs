//! CUBIC: the window is a cubic function of the time since the last loss. Both as in RFC 9438 and as in Linux.

mod hystart;
mod linux;
mod rfc9438;

use super::Controller;
use super::registry::{Beginning, Kind};
use crate::tcp::pacing::Pacing;

pub use linux::LinuxCubic;
pub use rfc9438::Cubic;

/// The variant of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CubicBehaviour {
    /// RFC 9438, without HyStart.
    Rfc9438,
    /// Linux, with HyStart if the sender records the times of segments ([`LossDetection::Timing`]).
    ///
    /// [`LossDetection::Timing`]: crate::tcp::LossDetection::Timing
    Linux,
}

impl Kind for Cubic {
    const ABOUT: &'static str = "RFC 9438.";

    fn begin(with: Beginning<'_>) -> Box<dyn Controller> {
        let Beginning { mss_bytes, initial_bytes, sender, .. } = with;
        match sender.cubic {
            CubicBehaviour::Rfc9438 => {
                Box::new(Cubic::new(mss_bytes, initial_bytes, sender.growth))
            }
            CubicBehaviour::Linux => {
                let paced = sender.pacing != Pacing::Off;
                Box::new(LinuxCubic::new(mss_bytes, initial_bytes, paced))
            }
        }
    }
}
