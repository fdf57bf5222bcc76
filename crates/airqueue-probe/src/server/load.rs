//! Which run may have TCP connections as a load: that of the session whose turn it is, while it is in progress.

use super::Server;
use super::run::ServerRun;
use super::session::Session;
use crate::client::Direction;
use crate::load::LoadTurn;

impl Server {
    /// Session and run that may have a load now: cheap, to be compared after every step of the server.
    pub fn loaded_run(&self) -> Option<(u64, u32)> {
        self.loaded().map(|(session, run)| (session.id, run.number))
    }

    /// What is needed to admit connections to the run of [`Self::loaded_run`].
    pub fn load_turn(&self) -> Option<LoadTurn> {
        let (session, run) = self.loaded()?;
        // The run's own packets count too, in their direction.
        let cap = self.config.limits.max_bits_per_s;
        let rest = cap.saturating_sub(run.load.bits_per_s);
        let bits_per_s = match run.direction {
            Direction::Down => [rest, cap],
            Direction::Up => [cap, rest],
        };
        let mut addresses: Vec<_> =
            session.flows.iter().flatten().map(|a| a.ip().to_canonical()).collect();
        addresses.sort_unstable();
        addresses.dedup();
        Some(LoadTurn {
            session: session.id,
            run: run.number,
            key: session.key(),
            addresses,
            bits_per_s,
            until: run.planned_end?,
            used: 0,
        })
    }

    fn loaded(&self) -> Option<(&Session, &ServerRun)> {
        let holder = self.turns.holder()?;
        let session = self.sessions.iter().find(|s| s.id == holder)?;
        let run = session.run.as_ref()?;
        // After STOP the receiver still waits for packets that are under way; the load does not.
        (run.is_active() && !run.stop_received).then_some((session, run))
    }
}
