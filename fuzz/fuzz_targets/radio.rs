//! Any answer of cfg80211, any configuration of hostapd and any that `uci` exports: read, or an error.
#![no_main]

use airqueue_control::plan::Category;
use airqueued::netlink::Message;
use airqueued::radio::hostapd::{About, configuration};
use airqueued::uci::export;
use airqueued::radio::{links, mesh_path, station, survey, wiphy};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = wiphy::read_all([data]);
    let _ = wiphy::read_interfaces([data]);
    let _ = station::read_all([data]);
    let _ = survey::read_all([data]);
    let _ = mesh_path::read_all([data]);
    let _ = links::read_all(&[Message { kind: 16, body: data.to_vec() }]);
    let text = String::from_utf8_lossy(data);
    configuration::announced_by(&text, Category::BestEffort);
    configuration::own_by(&text, Category::BestEffort);
    configuration::names(&text, "wlan0");
    let about = About::read(&text);
    assert!(about.heard_within().as_secs() < 1 && about.bss_names.len() <= data.len());
    let _ = export::read(&text);
});
