//! The client's thread.

use super::view::Shared;
use crate::clock;
use crate::driver::Driver;
use crate::wait::prefer_this_thread;
use airqueue_core::{Span, Time};
use airqueue_probe::ClientError;
use airqueue_probe::client::{Client, ClientState, Direction, Identity};
use airqueue_probe::load::LoadGrant;
use airqueue_probe::plan::Plan;
use airqueue_probe::wire::ForeignFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};

/// How often the handle's view of a run is updated.
const VIEW_EVERY: Span = Span::from_millis(20);

/// What the handle asks the thread to do.
pub(super) enum Command {
    Start(Plan, Direction, SyncSender<Result<(), ClientError>>),
    Load(SyncSender<Option<LoadGrant>>),
    Identity(SyncSender<Option<Identity>>),
    Attend(ForeignFlow, SyncSender<Result<(), ClientError>>),
    /// Record, or send, the packets of a run of another server.
    Watch(Plan, u32, SyncSender<Result<(), ClientError>>),
    Upload(Plan, u32, SyncSender<Result<(), ClientError>>),
    Conclude,
    Cancel,
    Close,
}

/// The thread's side.
pub(super) struct Session {
    driver: Driver<Client>,
    inbox: Receiver<Command>,
    shared: Arc<Shared>,
    shown: Time,
    shown_state: ClientState,
    /// Runs of other clients that come first, as shown.
    shown_ahead: Option<u16>,
    /// Whether the server has joined another's session, and whether it records a run, as shown: the thread may then sleep for long.
    shown_facts: [bool; 2],
}

impl Session {
    pub(super) fn new(
        driver: Driver<Client>,
        inbox: Receiver<Command>,
        shared: Arc<Shared>,
    ) -> Session {
        let shown_state = ClientState::Connecting;
        let (shown, shown_ahead, shown_facts) = (Time::ZERO, None, [false; 2]);
        Session { driver, inbox, shared, shown, shown_state, shown_ahead, shown_facts }
    }

    pub(super) fn run(mut self) {
        prefer_this_thread();
        let ended = loop {
            if let Err(error) = self.driver.turn() {
                break error.to_string();
            }
            match self.inbox.try_recv() {
                Ok(Command::Close) | Err(TryRecvError::Disconnected) => {
                    self.leave();
                    break String::new();
                }
                Ok(command) => {
                    self.obey(command);
                    // The command's effects are due now, and another command may wait.
                    self.driver.waker().wake();
                }
                Err(TryRecvError::Empty) => {}
            }
            self.show();
        };
        self.shared.lock().ended = Some(ended);
        self.shared.changed.notify_all();
    }

    fn obey(&mut self, command: Command) {
        let now = clock::monotonic();
        match command {
            Command::Start(plan, direction, reply) => {
                let result = self.driver.endpoint().start(now, &plan, direction);
                self.show();
                // A handle that no longer waits was dropped.
                let _ = reply.send(result);
            }
            Command::Load(reply) => {
                let grant = self.driver.endpoint().load_grant(now);
                // A load ends when the view no longer shows its run: it must not begin before the view does.
                self.shown = Time::ZERO;
                self.show();
                let _ = reply.send(grant);
            }
            Command::Identity(reply) => {
                let _ = reply.send(self.driver.endpoint().identity());
            }
            Command::Attend(of, reply) => {
                let result = self.driver.endpoint().attend(now, of);
                // The view must not show that an earlier one was joined.
                self.shown = Time::ZERO;
                self.show();
                let _ = reply.send(result);
            }
            Command::Watch(plan, number, reply) => {
                let result = self.driver.endpoint().watch(now, &plan, number);
                self.show();
                let _ = reply.send(result);
            }
            Command::Upload(plan, number, reply) => {
                let result = self.driver.endpoint().upload(now, &plan, number);
                self.show();
                let _ = reply.send(result);
            }
            Command::Conclude => self.driver.endpoint().conclude(now),
            Command::Cancel => self.driver.endpoint().cancel(now),
            Command::Close => {}
        }
    }

    /// Closes the session; one turn of the loop sends the CLOSE.
    fn leave(&mut self) {
        self.driver.endpoint().close(clock::monotonic());
        self.driver.waker().wake();
        let _ = self.driver.turn();
        self.shared.lock().state = ClientState::Closed;
    }

    /// Updates the handle's view when the state changed, or from time to time.
    fn show(&mut self) {
        let now = clock::monotonic();
        let transport = self.driver.stats();
        let endpoint = self.driver.endpoint();
        let run = endpoint.take_run();
        let progress = endpoint.progress(now);
        let times = endpoint.times();
        let attends = endpoint.attends();
        let facts = [attends, endpoint.is_watching()];
        // While a client waits for its turn its thread sleeps for seconds: the next look would be late.
        let ahead = progress.waiting.map(|w| w.ahead);
        let same = *endpoint.state() == self.shown_state
            && run.is_none()
            && ahead == self.shown_ahead
            && facts == self.shown_facts;
        let connecting = self.shown_state == ClientState::Connecting;
        if same && !connecting && now < self.shown + VIEW_EVERY {
            return;
        }
        self.shown = now;
        self.shown_state = endpoint.state().clone();
        self.shown_ahead = ahead;
        self.shown_facts = facts;
        let limits = endpoint.limits().copied();
        let mut view = self.shared.lock();
        view.progress = progress;
        view.times = times;
        view.state = self.shown_state.clone();
        view.transport = transport;
        view.limits = limits;
        view.attends = attends;
        if run.is_some() {
            view.run = run;
        }
        drop(view);
        self.shared.changed.notify_all();
    }
}
