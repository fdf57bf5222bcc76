//! A simulated path: the real endpoints of `airqueue-probe` on a virtual clock, with a bottleneck
//! between them.

mod config;

pub use config::{ConfigError, PathConfig};

use airqueue_core::{Span, Time};
use airqueue_probe::ClientError;
use airqueue_probe::client::Direction;
use airqueue_probe::limits::Limits;
use airqueue_probe::plan::Plan;
use airqueue_probe::records::Run;
use thiserror::Error;

/// Why a run over a simulated path failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// The client gave up.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Nothing is under way any more and the run has not ended: the endpoints wait for each other.
    #[error(
        "the endpoints stopped at {at} without finishing the run: this is a defect of airqueue"
    )]
    Stuck {
        /// The path's time.
        at: Time,
    },
}

/// A path between a client and a server, on a virtual clock of its own.
#[derive(Debug)]
pub struct SimulatedPath {
    now: Time,
    truth: Truth,
    limits: Limits,
}

/// What really happened in the device during the last run; no endpoint can see this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Most packets that waited at once, in all stages; the packet in service is not among them.
    pub max_waiting_packets: u64,
    /// Most bytes that waited at once, link-layer bytes included.
    pub max_waiting_bytes: u64,
    /// The queue length after each of its changes; empty unless `record_queue_series` is set.
    pub series: Vec<QueueSample>,
}

/// The length of all stages together from `at` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSample {
    /// The path's time.
    pub at: Time,
    /// Packets waiting.
    pub packets: u64,
    /// Bytes waiting.
    pub bytes: u64,
}

impl SimulatedPath {
    /// A path at time zero. The same configuration and seed give the same records, byte for byte.
    pub fn new(_config: &PathConfig, _seed: u64) -> Result<SimulatedPath, ConfigError> {
        Ok(SimulatedPath { now: Time::ZERO, truth: Truth::default(), limits: Limits::default() })
    }

    /// Carries out a plan and returns its records. The device stands in the plan's direction.
    pub fn run(&mut self, _plan: &Plan, _direction: Direction) -> Result<Run, PathError> {
        Err(PathError::Stuck { at: self.now })
    }

    /// The path's time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Lets time pass with no run under way.
    pub fn wait(&mut self, span: Span) {
        self.now += span;
    }

    /// What the simulated server agrees to.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What really happened in the device during the last run.
    pub fn truth(&self) -> &Truth {
        &self.truth
    }
}
