//! The browsers of flows of pages, and the connections that they have side by side.

use super::engine::{Event, Network, OUTSIDE};
use super::spec::{NetworkError, TcpFlowSpec, Work};
use crate::counters::Timings;
use crate::event::EventQueue;
use crate::timer::Timer;
use crate::{BrowserId, ConnectionId};
use airqueue_core::{Seed, Time};
use airqueue_transport::traffic::{Browser, PageProgress};

/// A browser, and its connections.
#[derive(Debug)]
pub(super) struct Loading {
    browser: Browser,
    /// The connections of the first lane. Those of the others follow.
    first: ConnectionId,
    lanes: u32,
    stop: Time,
    timer: Timer<Event>,
    counters: PageCounters,
}

/// What a browser loaded since counting began.
#[derive(Clone, Debug, Default)]
pub struct PageCounters {
    /// Pages that were loaded, each from the request of its document to the arrival of its last object. As request and
    /// acknowledgement are one, the time begins with the first SYN (without SYN: the first segment) and ends with the
    /// acknowledgement of the last segment.
    pub pages: Timings,
    /// The documents' part of that time.
    pub documents: Timings,
    /// Objects that arrived, documents excluded.
    pub objects: u64,
}

impl Loading {
    /// The browser of flow `name`, if the flow has one. Sizes and pauses come from the random stream `files/NUMBER` of its
    /// first connection.
    pub(super) fn new(
        name: &str,
        (id, first): (BrowserId, ConnectionId),
        spec: &TcpFlowSpec,
        seed: Seed,
    ) -> Result<Option<Loading>, NetworkError> {
        let Work::Pages(pages) = spec.work else { return Ok(None) };
        let rng = seed.stream(&format!("files/{}", first.0));
        let browser = Browser::new(pages, spec.start, rng);
        let wrong = |error| NetworkError::Pages { flow: name.to_owned(), error };
        Ok(Some(Loading {
            browser: browser.map_err(wrong)?,
            first,
            lanes: pages.connections,
            stop: spec.stop,
            timer: Timer::new(Event::Browser(id), OUTSIDE),
            counters: PageCounters::default(),
        }))
    }

    /// The connections of the first lane.
    pub(super) fn first_lane(&self) -> ConnectionId {
        self.first
    }

    pub(super) fn counters(&self) -> &PageCounters {
        &self.counters
    }

    pub(super) fn start_counting(&mut self) {
        let PageCounters { pages, documents, objects } = &mut self.counters;
        pages.clear();
        documents.clear();
        *objects = 0;
    }

    /// What was requested over a connection has arrived. Returns whether the page is loaded.
    fn on_complete(&mut self, id: ConnectionId, now: Time) -> bool {
        let Some(progress) = self.browser.on_complete(id.0 - self.first.0, now) else {
            return false;
        };
        let PageCounters { pages, documents, objects } = &mut self.counters;
        match progress {
            PageProgress::Document(took) => documents.add(took),
            PageProgress::Object => *objects += 1,
            PageProgress::DocumentAlone(took) => {
                documents.add(took);
                pages.add(took);
            }
            PageProgress::LastObject(took) => {
                *objects += 1;
                pages.add(took);
            }
        }
        matches!(progress, PageProgress::DocumentAlone(_) | PageProgress::LastObject(_))
    }
}

impl Network {
    /// Adds the browser of a flow that is added next, if the flow has one.
    pub(super) fn add_browser(
        &mut self,
        name: &str,
        spec: &TcpFlowSpec,
        seed: Seed,
        queue: &mut EventQueue<Event>,
    ) -> Result<(), NetworkError> {
        let ids = (BrowserId::at(self.browsers.len()), ConnectionId::at(self.connections.len()));
        if let Some(mut loading) = Loading::new(name, ids, spec, seed)? {
            loading.timer.set(loading.browser.next_timer(), queue);
            self.browsers.push(loading);
        }
        Ok(())
    }

    /// A pause of a browser may be over.
    pub(super) fn on_browser(&mut self, id: BrowserId, queue: &mut EventQueue<Event>) {
        self.browsers[id.index()].browser.on_timer(queue.now());
        self.request(id, queue);
    }

    /// What a browser requested over this connection has arrived.
    #[cold]
    #[inline(never)]
    pub(super) fn on_fetched(&mut self, id: ConnectionId, queue: &mut EventQueue<Event>) {
        self.connections[id.index()].fetched = false;
        let after = self.browsers.partition_point(|of| of.first <= id);
        let loading = &mut self.browsers[after - 1];
        if loading.on_complete(id, queue.now()) {
            let lanes = loading.first.index()..loading.first.index() + loading.lanes as usize;
            for connection in &mut self.connections[lanes] {
                connection.leave(queue.now());
                connection.arm(queue);
            }
        }
        self.request(BrowserId::at(after - 1), queue);
    }

    /// Sends the requests that a browser has now.
    fn request(&mut self, id: BrowserId, queue: &mut EventQueue<Event>) {
        let now = queue.now();
        while now < self.browsers[id.index()].stop
            && let Some(request) = self.browsers[id.index()].browser.poll_request()
        {
            let lane = ConnectionId(self.browsers[id.index()].first.0 + request.connection);
            self.connections[lane.index()].fetch(request.bytes, now);
            self.pump(lane, queue);
        }
        let Loading { browser, timer, .. } = &mut self.browsers[id.index()];
        timer.set(browser.next_timer(), queue);
    }
}
