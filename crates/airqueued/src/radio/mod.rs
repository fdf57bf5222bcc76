//! Control points of radios: what cfg80211, mac80211, drivers and hostapd let one read and set.
//!
//! Requests are bytes and answers are functions of bytes, so that recorded messages test them; the transport is the
//! daemon's. What can only be written says so.

pub mod aql;
pub mod edca;
pub mod error;
pub mod ethtool;
pub mod facts;
pub mod hostapd;
pub mod links;
pub mod mesh_path;
pub mod modulation;
pub mod nl80211;
pub mod own_edca;
pub mod points;
pub mod radar;
pub mod read;
pub mod station;
pub mod stations;
pub mod survey;
pub mod txq;
pub mod wiphy;
