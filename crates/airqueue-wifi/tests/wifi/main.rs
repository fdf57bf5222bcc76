//! 802.11: access, air time, rates and the medium.

mod contention;
#[path = "../../../airqueue-network/tests/network/counting/mod.rs"]
mod counting;
mod layers;
mod mac_access;
mod mac_airtime;
mod mac_exchange;
mod mac_medium;
mod mac_rates;
mod mac_txop;
mod medium_allocations;
mod medium_capture;
mod medium_deaf;
mod medium_frame_errors;
mod medium_pairs;
mod medium_reach;
mod minstrel_kernel;
mod phy_air_rate;
mod phy_ampdu;
mod phy_facts;
mod phy_mcs;
mod phy_tables;
mod phy_times;
mod rate_allocations;
mod rate_channels;
mod rate_control;
mod routing;
mod script;
mod slot_by_slot;
