//! Packets offered from outside the network.

use super::registry::{Asked, Carried, Kind};
use airqueue_core::keys::{Result, wrong};

pub(super) struct External;

impl Kind for External {
    const ABOUT: &'static str =
        "Packets from outside the network: a measurement sends them through the network.";

    /// Arrival times are not known in advance.
    fn carried(asked: &Asked<'_>) -> Result<Carried> {
        if asked.mean_rate()?.is_some() {
            let problem = "packets from outside come when they come; leave the rate out";
            return wrong(asked.key, problem);
        }
        let why = "packets from outside come when they come; leave the key out";
        asked.refuse(&["start", "start_spread", "stop"], why)?;
        Ok(Carried::Offered { size_bytes: asked.size_bytes() })
    }
}
