//! A source with a packet always available.

use super::Arrivals;
use super::registry::{Asked, Carried, Kind};
use airqueue_core::keys::{Result, wrong};

pub(super) struct Saturated;

impl Kind for Saturated {
    const ABOUT: &'static str = "A packet is always available. One packet of the flow waits in the queue at a time: where several \
        such flows share a queue, the discipline has no backlog to choose from.";

    fn carried(asked: &Asked<'_>) -> Result<Carried> {
        if asked.mean_rate()?.is_some() {
            let problem = "a saturated source has no rate; leave the rate out, or give source \
                           = \"cbr\" or \"poisson\"";
            return wrong(format_args!("{}.source", asked.key), problem);
        }
        Ok(Carried::Packets { source: asked.packets(Arrivals::Saturated), call: None })
    }
}
