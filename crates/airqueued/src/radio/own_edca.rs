//! Parameters of an access point's own queues: written, never read.
//!
//! The kernel has no command that reads what `NL80211_ATTR_WIPHY_TXQ_PARAMS` wrote. hostapd writes these parameters
//! from `tx_queue_*` of its configuration whenever it starts or reloads.

use crate::netlink::attributes::Writer;
use crate::radio::edca::Parameters;
use crate::radio::nl80211::{Request, attribute, command};
use airqueue_control::plan::Category;

/// Number of a category (`enum nl80211_ac`), which hostapd's `tx_queue_data` and the files of debugfs have too.
pub fn number(category: Category) -> u8 {
    match category {
        Category::Voice => 0,
        Category::Video => 1,
        Category::BestEffort => 2,
        Category::Background => 3,
    }
}

/// The request that sets the parameters of one category (`nl80211_parse_tx_queue_params`); the interface is an access
/// point's and is up.
pub fn request(interface: u32, category: Category, parameters: &Parameters) -> Request {
    let queue = Writer::default()
        .bytes(1, &[number(category)])
        .bytes(2, &parameters.txop_32us.to_ne_bytes())
        .bytes(3, &parameters.cw_min().to_ne_bytes())
        .bytes(4, &parameters.cw_max().to_ne_bytes())
        .bytes(5, &[parameters.aifsn]);
    let attributes = Writer::default()
        .u32(attribute::IFINDEX, interface)
        .nested(attribute::WIPHY_TXQ_PARAMS, Writer::default().nested(1, queue))
        .finish();
    Request { command: command::SET_WIPHY, attributes }
}
