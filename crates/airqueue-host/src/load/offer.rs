//! The server, and the news of whose run may have a load.

use crate::wait::Waker;
use airqueue_core::Time;
use airqueue_probe::endpoint::{Endpoint, Received, SendOutcome, Ticket, Transmit};
use airqueue_probe::load::LoadTurn;
use airqueue_probe::server::Server;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The server as an endpoint that tells the thread of the load, at once, when a run begins or ends.
///
/// The news leaves before the server's answer does: whoever is told that a run has begun finds its load admitted.
/// A channel, not a lock: the thread of measured packets must never wait for the one of the load.
#[derive(Debug)]
pub(crate) struct Offering {
    server: Server,
    news: Option<(Sender<Option<LoadTurn>>, Arc<Waker>)>,
    told: Option<(u64, u32)>,
}

impl Offering {
    /// Without `news` nobody is told.
    pub(crate) fn new(
        server: Server,
        news: Option<(Sender<Option<LoadTurn>>, Arc<Waker>)>,
    ) -> Offering {
        Offering { server, news, told: None }
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    fn tell(&mut self) {
        let Some((sender, waker)) = &self.news else { return };
        let present = self.server.loaded_run();
        if present != self.told {
            self.told = present;
            // If nobody listens the thread of the load has ended, and its connections with it.
            let _ = sender.send(self.server.load_turn());
            waker.wake();
        }
    }
}

impl Drop for Offering {
    fn drop(&mut self) {
        if let Some((sender, waker)) = self.news.take() {
            drop(sender);
            waker.wake();
        }
    }
}

impl Endpoint for Offering {
    fn on_datagram(&mut self, now: Time, rx: Received<'_>) {
        self.server.on_datagram(now, rx);
        self.tell();
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let transmit = self.server.poll_transmit(now, buf);
        self.tell();
        transmit
    }

    fn next_deadline(&self) -> Option<Time> {
        self.server.next_deadline()
    }

    fn on_send_outcome(&mut self, ticket: Ticket, outcome: SendOutcome) {
        self.server.on_send_outcome(ticket, outcome);
    }

    fn on_receive_overflow(&mut self, count: u64) {
        self.server.on_receive_overflow(count);
    }

    fn on_clock_step(&mut self) {
        self.server.on_clock_step();
    }

    fn on_unreachable(&mut self) {
        self.server.on_unreachable();
    }

    fn on_program_timestamps(&mut self) {
        self.server.on_program_timestamps();
    }
}
