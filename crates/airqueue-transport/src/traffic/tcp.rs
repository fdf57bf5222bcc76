//! One TCP connection.

use super::registry::{Asked, Carried, Kind, Load};
use airqueue_core::keys::Result;

pub(super) struct Tcp;

/// Why a flow over TCP has no rate of its own.
pub(super) const NO_RATE: &str = "TCP finds its rate; leave the key out";

impl Kind for Tcp {
    const ABOUT: &'static str = "A TCP connection, with data without end or `transfer_size`.";
    const OVER_TCP: bool = true;

    fn carried(asked: &Asked<'_>) -> Result<Carried> {
        asked.refuse(&["rate", "packet_rate"], NO_RATE)?;
        Ok(Carried::Tcp(Load::Transfer(asked.transfer_size.map(|size| size.value))))
    }
}
