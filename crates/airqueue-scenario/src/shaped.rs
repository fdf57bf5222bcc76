//! A stand-alone queue of a scenario, with a token bucket in place of the MAC.

use super::error::{Result, error, unreadable};
use super::renamed::{RenamedKey, rename};
use airqueue_core::keys::Layers;
use airqueue_core::{DataRate, Seed};
use airqueue_network::bottleneck::{Bottleneck, DeviceSpec, Framing, ServerSpec};
use airqueue_qdisc::queue::check_used;
use airqueue_qdisc::{DisciplineName, DropFrom, Link, QueueGiven, QueueSpec};

/// A stand-alone queue that can be simulated.
#[derive(Debug)]
pub struct ShapedQueue {
    /// The queue behind its token bucket.
    pub device: Bottleneck,
    /// The keys that the table calls by their old names.
    renamed: Vec<RenamedKey>,
}

impl ShapedQueue {
    /// Warnings on a queue that can be simulated, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        self.renamed.iter().map(RenamedKey::to_string).collect()
    }
}

/// The device for the JSON of a scenario's `queue`, a table or a text. The head of the queue waits for tokens as under
/// Linux's tbf. The rate and the bucket's depth include the bytes that the table's `link_layer` adds to each packet.
/// The seed determines every random draw in the queue. Old names of keys are read with a warning.
///
/// # Errors
///
/// An error names the wrong key of the table and the problem.
pub fn shaped_queue(
    text: &str,
    rate: DataRate,
    burst_bytes: u32,
    seed: Seed,
) -> Result<ShapedQueue> {
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|problem| error("", problem))?;
    let mut tree = serde_json::json!({ "queue": value });
    let renamed = rename(&mut tree)?;
    let table: QueueGiven =
        serde_path_to_error::deserialize(tree["queue"].take()).map_err(unreadable)?;
    let layers = Layers::new(vec![("queue".to_owned(), &*table)]);
    let queue = QueueSpec::check(&layers, Link::TokenBucket)?;
    check_used("queue", &table, &[DisciplineName::of(&layers)])?;
    let spec = DeviceSpec {
        limit: queue.limit,
        drop_from: DropFrom::Tail,
        isolate_flows: false,
        ring: queue.ring_packets,
        server: ServerSpec::Shaper { burst_bytes },
        rate,
        framing: Framing { link_layer: queue.link_layer_bytes, mpu: 0 },
        loss: 0.0,
        changes: Vec::new(),
        period: None,
    };
    let device = Bottleneck::with_queue(spec, queue.make(seed.stream("queue")), seed);
    Ok(ShapedQueue { device, renamed })
}
