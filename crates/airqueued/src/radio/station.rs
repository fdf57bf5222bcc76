//! Stations of an interface: rates, counters, airtime, and the queue of each TID.

use crate::netlink::NetlinkError;
use crate::netlink::attributes::{self, Attributes, Writer};
use crate::radio::modulation::Modulation;
use crate::radio::nl80211::{MacAddress, Numbers, Request, attribute, command, messages, needed};
use crate::radio::txq::TxqStatistics;
use serde::Serialize;

/// `IEEE80211_NUM_TIDS`; cfg80211 adds one for frames that are not QoS data.
const TIDS: u16 = 16;

// `enum nl80211_sta_info`.
const INACTIVE_TIME: u16 = 1;
const SIGNAL: u16 = 7;
const TX_BITRATE: u16 = 8;
const RX_PACKETS: u16 = 9;
const TX_PACKETS: u16 = 10;
const TX_RETRIES: u16 = 11;
const TX_FAILED: u16 = 12;
const SIGNAL_AVERAGE: u16 = 13;
const RX_BITRATE: u16 = 14;
const PLINK_STATE: u16 = 6;
const BSS_PARAM: u16 = 15;
const RX_BYTES64: u16 = 23;
const TX_BYTES64: u16 = 24;
const EXPECTED_THROUGHPUT: u16 = 27;
const TID_STATS: u16 = 31;
const RX_DURATION: u16 = 32;
const TX_DURATION: u16 = 39;
const AIRTIME_WEIGHT: u16 = 40;

/// A station, as an interface knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Station {
    /// Its address.
    pub address: MacAddress,
    /// Time since its last frame, in milliseconds.
    pub inactive_ms: Option<u32>,
    /// Signal of its last frame, in dBm.
    pub signal_dbm: Option<i8>,
    /// Mean of its signal, in dBm.
    pub signal_average_dbm: Option<i8>,
    /// Rate of the last frame to it, in bits per second.
    pub tx_rate_bps: Option<u64>,
    /// How the last frame to it was sent.
    pub tx_modulation: Option<Modulation>,
    /// Whether its cell has short preambles of 802.11b.
    pub short_preamble: bool,
    /// Whether its cell has short slots.
    pub short_slot: bool,
    /// Rate of the last frame from it, in bits per second.
    pub rx_rate_bps: Option<u64>,
    /// Throughput that rate control expects, in bits per second.
    pub expected_throughput_bps: Option<u64>,
    /// Bytes to it.
    pub tx_bytes: Option<u64>,
    /// Bytes from it.
    pub rx_bytes: Option<u64>,
    /// Frames to it.
    pub tx_packets: Option<u32>,
    /// Frames from it.
    pub rx_packets: Option<u32>,
    /// Retries of frames to it.
    pub tx_retries: Option<u32>,
    /// Frames to it that were given up.
    pub tx_failed: Option<u32>,
    /// Airtime of frames to it, in microseconds.
    pub tx_duration_us: Option<u64>,
    /// Airtime of frames from it, in microseconds.
    pub rx_duration_us: Option<u64>,
    /// Its weight when airtime is shared.
    pub airtime_weight: Option<u16>,
    /// State of the link of a mesh (`enum nl80211_plink_state`); 4 is established.
    pub plink_state: Option<u8>,
    /// Counters of its TIDs.
    pub tids: Vec<Tid>,
}

/// Counters of a station's TID (802.11-2016, 9.2.4.5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tid {
    /// 0 to 15; absent for frames that are not QoS data.
    pub tid: Option<u8>,
    /// MSDUs to the station.
    pub tx_msdu: Option<u64>,
    /// Retries of these MSDUs.
    pub tx_msdu_retries: Option<u64>,
    /// Those that were given up.
    pub tx_msdu_failed: Option<u64>,
    /// Counters of the TXQ.
    pub txq: Option<TxqStatistics>,
}

/// The request that lists the stations of an interface.
pub fn list(interface: u32) -> Request {
    Request::of_interface(command::GET_STATION, interface)
}

/// The request that gives a station a weight.
pub fn set_airtime_weight(interface: u32, station: MacAddress, weight: u16) -> Request {
    let attributes = Writer::default()
        .u32(attribute::IFINDEX, interface)
        .bytes(attribute::MAC, &station.0)
        .bytes(attribute::AIRTIME_WEIGHT, &weight.to_ne_bytes())
        .finish();
    Request { command: command::SET_STATION, attributes }
}

/// The stations of a list.
pub fn read_all<'a>(
    bodies: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<Station>, NetlinkError> {
    let read = |from: Attributes<'a>| {
        let address = needed(from.mac(attribute::MAC), "the address of a station")?;
        Station::read(address, &from.inside(attribute::STA_INFO)?)
    };
    messages(command::NEW_STATION, bodies)?.into_iter().map(read).collect()
}

impl Station {
    fn read(address: MacAddress, info: &Attributes<'_>) -> Result<Self, NetlinkError> {
        let throughput_kbps = info.number(EXPECTED_THROUGHPUT);
        let tx_rate = info.inside(TX_BITRATE)?;
        // Flags of `enum nl80211_sta_bss_param`.
        let cell = info.inside(BSS_PARAM)?;
        Ok(Self {
            address,
            inactive_ms: info.u32(INACTIVE_TIME),
            signal_dbm: info.i8(SIGNAL),
            signal_average_dbm: info.i8(SIGNAL_AVERAGE),
            tx_rate_bps: rate(&tx_rate),
            tx_modulation: Modulation::read(&tx_rate),
            short_preamble: cell.find(2).is_some(),
            short_slot: cell.find(3).is_some(),
            rx_rate_bps: rate(&info.inside(RX_BITRATE)?),
            expected_throughput_bps: throughput_kbps.map(|kbps| kbps.saturating_mul(1000)),
            tx_bytes: info.number(TX_BYTES64),
            rx_bytes: info.number(RX_BYTES64),
            tx_packets: info.u32(TX_PACKETS),
            rx_packets: info.u32(RX_PACKETS),
            tx_retries: info.u32(TX_RETRIES),
            tx_failed: info.u32(TX_FAILED),
            tx_duration_us: info.number(TX_DURATION),
            rx_duration_us: info.number(RX_DURATION),
            airtime_weight: info.number(AIRTIME_WEIGHT).and_then(|weight| weight.try_into().ok()),
            plink_state: info.number(PLINK_STATE).and_then(|state| state.try_into().ok()),
            tids: tids(&info.inside(TID_STATS)?)?,
        })
    }
}

/// The rate of a frame; attribute 5 has it in 100 kb/s, 1 the same in 16 bits, as far as they suffice
/// (`nl80211_put_sta_rate`).
fn rate(of: &Attributes<'_>) -> Option<u64> {
    of.number(5).or(of.number(1)).map(|rate| rate.saturating_mul(100_000))
}

/// Each TID is an attribute whose number is one above the TID's; the last is no TID (`nl80211_send_station`).
fn tids(of: &Attributes<'_>) -> Result<Vec<Tid>, NetlinkError> {
    let mut found = Vec::new();
    for each in of.0.iter().filter(|each| (1..=TIDS + 1).contains(&each.kind)) {
        let counters = attributes::read(each.value)?;
        found.push(Tid {
            tid: u8::try_from(each.kind - 1).ok().filter(|&tid| u16::from(tid) < TIDS),
            tx_msdu: counters.number(2),
            tx_msdu_retries: counters.number(3),
            tx_msdu_failed: counters.number(4),
            txq: TxqStatistics::inside(&counters, 6)?,
        });
    }
    Ok(found)
}
