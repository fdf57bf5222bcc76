//! Pacing by the capacity of a path over the air.

use super::error::{Result, error, wrong};
use super::file::{PacingName, PacingValue, TcpTable};
use airqueue_core::DataRate;
use airqueue_core::keys::Layers;
use airqueue_network::HopId;
use airqueue_network::network::Hop;
use airqueue_network::wlan::HopSpec;
use airqueue_transport::tcp::{Spread, TcpApSpec};
use airqueue_wifi::phy::Phy;

/// Overhead of a segment's data and of an acknowledgement on a link: the headers of TCP, IP and the MAC, and the time
/// of the PHY's header, as the authors of TCP-AP count them.
const OVERHEAD_BYTES: u32 = 112;

/// How a flow with TCP-AP measures the spread of delays; `None`: a flow without TCP-AP.
pub(super) fn adaptive_pacing(layers: &Layers<'_, TcpTable>) -> Option<Spread> {
    let given = layers.find("pacing", |table| table.pacing.as_ref())?;
    match given.value {
        PacingValue::Flag(_) => None,
        PacingValue::Named(PacingName::TcpAp) => Some(Spread::Deviation),
        PacingValue::Named(PacingName::TcpApCode) => Some(Spread::MeanAbsolute),
    }
}

/// The route's properties for TCP-AP, with hops over the air among `hops`: the number of hops, and the lowest rate.
pub(super) fn tcp_ap(
    key: &str,
    route: &[Hop],
    hops: &[HopSpec],
    phy: &Phy,
    spread: Spread,
) -> Result<TcpApSpec> {
    let mut rates: Vec<DataRate> = Vec::new();
    for at in route.iter().filter_map(|hop| hop.over_air()).map(HopId::index) {
        if hops[at].rate_control.is_some() {
            let problem = "TCP-AP has to know the rates of the links, and rate control looks for them; give the \
                           flow a phy_rate, or another pacing";
            return wrong(format_args!("{key}.tcp.pacing"), problem);
        }
        rates.push(phy.rate(hops[at].rate));
    }
    let rate = rates.iter().min().copied().ok_or_else(|| {
        let problem = "TCP-AP paces what goes over the air, and the flow takes wired links only; give it pacing = false";
        error(format_args!("{key}.tcp.pacing"), problem)
    })?;
    Ok(TcpApSpec { hops: rates.len() as u32, rate, overhead_bytes: OVERHEAD_BYTES, spread })
}
