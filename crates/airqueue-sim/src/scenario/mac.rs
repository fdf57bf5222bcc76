//! Channel access and queues of a station.

use super::error::Result;
use super::file::{MacTable, QueueTable};
use super::layers::Layers;
use super::phy::rate_index;
use crate::wlan::QueueSpec;
use airqueue_core::Limit;
use airqueue_qdisc::DropFrom;
use airqueue_wifi::mac::{CategoryConfig, MacConfig};
use airqueue_wifi::phy::{Phy, Protection};

/// A station's MAC.
pub(super) fn mac(layers: &Layers<'_, MacTable>, phy: &Phy) -> Result<MacConfig> {
    let mut mac = MacConfig::new(vec![CategoryConfig::dcf(phy)]);
    if let Some(threshold) = layers.find("rts_threshold", |m| m.rts_threshold.as_ref()) {
        mac.rts_threshold_bytes = threshold.value.value;
    }
    let positive = |&limit: &u32| match limit {
        0 => Err("found 0, expected at least 1: a frame must be sent once"),
        limit => Ok(limit),
    };
    if let Some(limit) = layers.find("short_retry_limit", |m| m.short_retry_limit.as_ref()) {
        mac.short_retry_limit = limit.check(positive)?;
    }
    if let Some(limit) = layers.find("long_retry_limit", |m| m.long_retry_limit.as_ref()) {
        mac.long_retry_limit = limit.check(positive)?;
    }
    if let Some(protection) = layers.find("protection", |m| m.protection.as_ref()) {
        mac.protection = Protection::from(*protection.value);
    }
    if let Some(rate) = layers.find("protection_rate", |m| m.protection_rate.as_ref()) {
        mac.protection_rate = Some(rate_index(phy, &rate.key, rate.value)?);
    }
    Ok(mac)
}

/// Each of a station's queues.
pub(super) fn queue(layers: &Layers<'_, QueueTable>) -> QueueSpec {
    let limit = layers.find("limit", |q| q.limit.as_ref());
    let drop_from = layers.find("drop_from", |q| q.drop_from.as_ref());
    let ring = layers.find("ring", |q| q.ring.as_ref());
    QueueSpec {
        drop_from: drop_from.map_or(DropFrom::Tail, |from| DropFrom::from(*from.value)),
        ring_packets: ring.map_or(0, |ring| ring.value.value as usize),
        ..QueueSpec::new(limit.map_or(Limit::Packets(50), |limit| limit.value.value))
    }
}
