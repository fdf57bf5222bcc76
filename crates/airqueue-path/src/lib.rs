//! A simulated path: the real endpoints of `airqueue-probe` on a virtual clock, with a bottleneck or the cell of a scenario
//! between them.

mod cell;
mod check;
mod clock;
mod config;
mod device;
mod host;
mod model;
mod store;
mod truth;

#[cfg(test)]
mod tests;

pub use cell::{CellSpec, StationSpec};
pub use config::{CellConfig, ConfigError, PathConfig, StationFlows};
pub use truth::{QueueSample, Truth};

use airqueue_core::{Seed, Span, Time};
use airqueue_network::bottleneck::Bottleneck;
use airqueue_network::event::EventQueue;
use airqueue_network::run_loop::Simulation;
use airqueue_probe::ClientError;
use airqueue_probe::client::{Client, ClientConfig, ClientState, Direction};
use airqueue_probe::limits::Limits;
use airqueue_probe::plan::Plan;
use airqueue_probe::records::Run;
use airqueue_probe::server::{Server, ServerConfig};
use cell::Cell;
use check::CheckedPath;
use device::{Device, OneWay};
use model::{PathModel, SERVER};
use thiserror::Error;

/// How long after the end of its plan a run counts as stuck: far longer than the endpoints' own time-outs.
const PATIENCE: Span = Span::from_secs(3600);

/// The latest time for `wait`: whole runs still fit before the end of the clock.
const END: Time = Time::from_nanos(i64::MAX / 4);

/// The limits of the simulated server: all plans that a simulation can carry out.
const LIMITS: Limits = Limits {
    max_bits_per_s: 100_000_000_000,
    max_packets_per_s: 10_000_000,
    max_run: Span::from_secs(3600),
    max_packets: 20_000_000,
    max_sessions: 1,
    max_sessions_per_address: 1,
};

/// Why a run over a simulated path failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// The client gave up.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The run has not ended long after its plan was over.
    #[error(
        "by {at} the endpoints had not finished the run: this is a defect of airqueue, please report it"
    )]
    Stuck {
        /// The path's time of the failure.
        at: Time,
    },
}

/// A path between a client and a server, on a virtual clock of its own.
#[derive(Debug)]
pub struct SimulatedPath {
    path: CheckedPath,
    seed: Seed,
    sim: Simulation<PathModel<Client, Server>>,
    /// Number of sessions that the endpoints have begun.
    sessions: u64,
}

/// The real endpoints of a session, created from the time on the client's clock.
fn endpoints(flows: u8, seed: Seed, session: u64) -> impl FnOnce(Time) -> (Client, Server) {
    move |now| {
        let entropy = seed.bytes(&format!("client {session}"));
        let max_wait = Span::ZERO; // nobody else measures here
        let client =
            ClientConfig { server: SERVER, key: None, flows, others: 0, entropy, max_wait };
        let server = ServerConfig {
            key: None,
            limits: LIMITS,
            secret: seed.bytes(&format!("server {session}")),
            attends: Vec::new(),
        };
        (Client::new(client, now), Server::new(server))
    }
}

impl SimulatedPath {
    /// A path at time zero. Equal configuration, seed and calls give equal records, byte for byte.
    pub fn new(config: &PathConfig, seed: u64) -> Result<SimulatedPath, ConfigError> {
        if let Some(cell) = &config.cell {
            return SimulatedPath::through(check::cell(cell)?, config, seed);
        }
        let seed = Seed(seed);
        let bottleneck = Bottleneck::new(check::bottleneck(config)?, seed);
        SimulatedPath::over(Box::new(OneWay::new(bottleneck)), config, seed)
    }

    /// A path through a Wi-Fi cell, which replaces any cell of `config`.
    pub fn through(
        cell: CellSpec,
        config: &PathConfig,
        seed: u64,
    ) -> Result<SimulatedPath, ConfigError> {
        check::no_bottleneck(config)?;
        let seed = Seed(seed);
        SimulatedPath::over(Box::new(Cell::new(cell, config.flows, seed)?), config, seed)
    }

    fn over(
        device: Box<dyn Device>,
        config: &PathConfig,
        seed: Seed,
    ) -> Result<SimulatedPath, ConfigError> {
        let path = CheckedPath::new(config)?;
        let endpoints = endpoints(path.flows, seed, 0);
        let mut model = PathModel::new(&path, device, Direction::Down, endpoints);
        let mut queue = EventQueue::new();
        model.power_on(&mut queue);
        Ok(SimulatedPath { path, seed, sim: Simulation::new(model, queue), sessions: 0 })
    }

    /// Carries out a plan and returns its records. A bottleneck lies in the plan's direction.
    ///
    /// The first run, and a run after a failure, also opens a session between the endpoints. All their messages in that
    /// direction pass through the device.
    pub fn run(&mut self, plan: &Plan, direction: Direction) -> Result<Run, PathError> {
        self.begin(direction);
        self.until(self.now() + PATIENCE, |client| client.state() == &ClientState::Ready)?;
        let now = self.now();
        let model = &mut self.sim.model;
        model.restart_truth(now);
        let local = model.client.clock.read(now);
        model.client.endpoint.start(local, plan, direction)?;
        model.poll_all(&mut self.sim.queue);
        // The client has checked the plan, whose end is within range.
        let mut run = None;
        self.until(now + plan.end() + PATIENCE, |client| {
            run = client.take_run();
            run.is_some()
        })?;
        run.ok_or(PathError::Stuck { at: self.now() })
    }

    /// The path's time.
    pub fn now(&self) -> Time {
        self.sim.now()
    }

    /// Lets time pass without a run; a negative span counts as zero, and the clock stops after seventy years.
    pub fn wait(&mut self, span: Span) {
        let until = self.now().as_nanos().saturating_add(span.as_nanos()).min(END.as_nanos());
        self.sim.run_until(Time::from_nanos(until).max(self.now()));
    }

    /// The limits of the simulated server.
    pub fn limits(&self) -> &Limits {
        &LIMITS
    }

    /// What happened in the device since the last run began.
    pub fn truth(&self) -> &Truth {
        &self.sim.model.truth
    }

    /// Number of events since time zero.
    pub fn events(&self) -> u64 {
        self.sim.events()
    }

    /// Makes `direction` the loaded direction. At first, and after the client has given up, new endpoints are created.
    fn begin(&mut self, direction: Direction) {
        let now = self.now();
        let model = &mut self.sim.model;
        if self.sessions > 0 && !matches!(model.client.endpoint.state(), ClientState::Failed(_)) {
            model.load(direction, now);
        } else {
            let make = endpoints(self.path.flows, self.seed, self.sessions);
            model.connect(&self.path, direction, now, make);
            self.sessions += 1;
        }
        model.poll_all(&mut self.sim.queue);
    }

    /// Handles events until the client reaches the wanted state.
    fn until(
        &mut self,
        deadline: Time,
        mut there: impl FnMut(&mut Client) -> bool,
    ) -> Result<(), PathError> {
        loop {
            let client = &mut self.sim.model.client.endpoint;
            if there(client) {
                return Ok(());
            }
            if let ClientState::Failed(error) = client.state() {
                return Err(error.clone().into());
            }
            if !self.sim.step(deadline) {
                return Err(PathError::Stuck { at: self.now() });
            }
        }
    }
}
