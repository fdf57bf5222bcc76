//! What `airqueued` keeps right while a network changes: a plan, and loops that change values of its settings.
//!
//! A plan is applied first. Each loop then has one setting of the plan, and says what its value is to be now; nothing
//! else of the plan changes. When `airqueued` ends, the whole plan goes back.

mod access;
mod adaptive;
mod config;
mod division;
mod knob;
mod mesh;
mod rdqm;
mod txop;
mod watch;

pub use access::{Access, AccessLoop, AccessRow};
pub use adaptive::{AdaptiveLoop, AdaptivePolicy};
pub use config::{AdaptiveConfig, Config, ConfigError, EdcaConfig, RdqmConfig, StationRate};
pub use knob::Knob;
pub use mesh::{MeshConfig, MeshLimit, MeshLink};
pub use rdqm::{Change, FlowSeen, OTHER, RdqmLoop, RdqmPolicy};
pub use txop::{TXOP_UNIT_US, TxopPolicy};
pub use watch::WatchConfig;
