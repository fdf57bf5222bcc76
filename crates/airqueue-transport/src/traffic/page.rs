//! Web pages of several objects, as a browser loads them: a document, then its objects over connections side by side.

use super::registry::{Asked, Carried, Kind, Load};
use super::tcp::NO_RATE;
use super::web::{
    Files, FilesError, FilesSpec, SizeDistributionName, THINK, ThinkDistributionName, size_law,
    think_law,
};
use airqueue_core::keys::{self, wrong};
use airqueue_core::quantity::{Bytes, Duration, Quantity};
use airqueue_core::{RandomStream, Span, Time};
use schemars::JsonSchema;
use serde::Deserialize;
use thiserror::Error;

/// Default size of the document.
const DOCUMENT_BYTES: u64 = 30_000;
/// Default number of objects.
const OBJECTS: u32 = 20;
/// Default mean size of an object.
const OBJECT_BYTES: u64 = 20_000;
/// Connections of Chromium and Firefox to a host (`kDefaultMaxSocketsPerGroup`,
/// `network.http.max-persistent-connections-per-server`).
const CONNECTIONS: u32 = 6;
const MOST_CONNECTIONS: u32 = 32;
const MOST_OBJECTS: u32 = 100_000;

/// A user of the web whose browser loads pages: the document over one connection, then the page's objects over several.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PageTable {
    /// Size of the document. The default is `30 kB`.
    pub document_size: Option<Quantity<Bytes>>,
    /// Number of objects of a page, besides the document. The default is 20.
    #[schemars(range(max = 100000))]
    pub objects: Option<u32>,
    /// Mean size of an object. The default is `20 kB`.
    pub object_size: Option<Quantity<Bytes>>,
    /// Distribution of the objects' sizes. The default is constant.
    pub distribution: Option<SizeDistributionName>,
    /// The shape of the Pareto distribution: the smaller, the heavier the tail. The default is 1.5.
    #[schemars(range(min = 1.001, max = 50))]
    pub shape: Option<f64>,
    /// Most connections side by side. They persist for the page; the next page has new ones. The default is 6.
    #[schemars(range(min = 1, max = 32))]
    pub connections: Option<u32>,
    /// Time from the document's arrival to the requests of objects. The default is `0 s`.
    pub parse_time: Option<Quantity<Duration>>,
    /// Mean of the pauses before each page. The default is `10 s`.
    pub think_time: Option<Quantity<Duration>>,
    /// Distribution of the pauses. The default is exponential.
    pub think_distribution: Option<ThinkDistributionName>,
    /// The shape of pareto pauses: the smaller, the heavier the tail. The default is 1.5.
    #[schemars(range(min = 1.001, max = 50))]
    pub think_shape: Option<f64>,
    /// Standard deviation of the logarithm of lognormal pauses. The default is 1.
    #[schemars(range(min = 0, max = 5))]
    pub think_sigma: Option<f64>,
}

pub(super) struct Pages;

impl Kind for Pages {
    const ABOUT: &'static str = "A user whose browser loads pages: a document, then its objects over several TCP connections side by side; the time of a page is among the figures.";
    const OVER_TCP: bool = true;
    const TABLE_OF: &'static str = "pages";

    fn carried(asked: &Asked<'_>) -> keys::Result<Carried> {
        asked.refuse(&["rate", "packet_rate"], NO_RATE)?;
        let why = "the sizes are those of flows.page; leave the key out";
        asked.refuse(&["transfer_size"], why)?;
        let none = PageTable::default();
        let page = asked.tables.page.unwrap_or(&none).spec(&format!("{}.page", asked.key))?;
        Ok(Carried::Tcp(Load::Pages(page)))
    }
}

impl PageTable {
    /// `key`: that of the table.
    fn spec(&self, key: &str) -> keys::Result<PageSpec> {
        let bytes =
            |of: &Option<Quantity<Bytes>>, usual| of.as_ref().map_or(usual, |size| size.value);
        let connections = self.connections.unwrap_or(CONNECTIONS);
        if !(1..=MOST_CONNECTIONS).contains(&connections) {
            let problem = format_args!("found {connections}, expected 1 to {MOST_CONNECTIONS}");
            return wrong(format_args!("{key}.connections"), problem);
        }
        let objects = self.objects.unwrap_or(OBJECTS);
        if objects > MOST_OBJECTS {
            let problem = format_args!("found {objects}, expected at most {MOST_OBJECTS}");
            return wrong(format_args!("{key}.objects"), problem);
        }
        let think = (self.think_distribution, self.think_shape, self.think_sigma);
        Ok(PageSpec {
            document_bytes: bytes(&self.document_size, DOCUMENT_BYTES),
            objects,
            sizes: FilesSpec {
                mean_bytes: bytes(&self.object_size, OBJECT_BYTES),
                law: size_law(key, self.distribution.unwrap_or_default(), self.shape)?,
                unit_bytes: 1,
                think: self.think_time.as_ref().map_or(THINK, |think| think.value),
                think_law: think_law(key, think)?,
            },
            connections,
            parse: self.parse_time.as_ref().map_or(Span::ZERO, |parse| parse.value),
        })
    }
}

/// Pages and pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageSpec {
    /// Size of the document in bytes, before rounding up to the unit of `sizes`.
    pub document_bytes: u64,
    /// Number of objects of a page.
    pub objects: u32,
    /// Sizes of the objects, and pauses before pages.
    pub sizes: FilesSpec,
    /// Most connections side by side, at least 1.
    pub connections: u32,
    /// Time from the document's arrival to the first requests of objects.
    pub parse: Span,
}

/// Why pages were refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[expect(missing_docs)] // the messages say it
pub enum PageError {
    #[error("a document of {0} bytes; it has 1 to 10^15")]
    Document(u64),
    #[error("objects: {0}")]
    Objects(FilesError),
    #[error("pages over 0 connections")]
    Connections,
    #[error("a document that is parsed for {0}")]
    Parse(Span),
}

/// A request of a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// The connection that carries it, from 0; no other request is under way there.
    pub connection: u32,
    /// Bytes of the document or the object.
    pub bytes: u64,
}

/// What has arrived whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageProgress {
    /// The document, and more is to come; the time since its request.
    Document(Span),
    /// An object, and more is to come.
    Object,
    /// The document of a page without objects, and so the page: the time since its request.
    DocumentAlone(Span),
    /// The page's last object: the time since the document's request.
    LastObject(Span),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The next page is requested at this time.
    Thinks(Time),
    /// The document is under way, or will be with the next poll.
    Document,
    /// The document's objects are requested from this time on.
    Parses(Time),
    /// Objects are under way.
    Objects,
}

/// A browser: the state of the source. The caller carries [`PageRequest`]s over TCP connections, which persist until the
/// page is loaded.
///
/// A request's answer takes a round trip at least; the caller says with [`Browser::on_complete`] when it has taken place.
#[derive(Clone, Debug)]
pub struct Browser {
    spec: PageSpec,
    sizes: Files,
    phase: Phase,
    /// When the page was requested.
    began: Time,
    /// Which connections carry a request.
    busy: Vec<bool>,
    /// Objects of the page that have not been requested, and those that have not arrived.
    unrequested: u32,
    missing: u32,
}

impl Browser {
    /// A browser whose draws come from `rng`, and whose user thinks from `start` on before the first page.
    ///
    /// # Errors
    ///
    /// If a size, a number or a time of the pages is out of range.
    pub fn new(spec: PageSpec, start: Time, rng: RandomStream) -> Result<Browser, PageError> {
        if !(1..=Files::MOST_BYTES).contains(&spec.document_bytes) {
            return Err(PageError::Document(spec.document_bytes));
        }
        if spec.connections == 0 {
            return Err(PageError::Connections);
        }
        if spec.parse < Span::ZERO {
            return Err(PageError::Parse(spec.parse));
        }
        let mut sizes = Files::new(spec.sizes, rng).map_err(PageError::Objects)?;
        let phase = Phase::Thinks(start.saturating_add(sizes.next_pause()));
        let busy = vec![false; spec.connections as usize];
        Ok(Browser { spec, sizes, phase, began: start, busy, unrequested: 0, missing: 0 })
    }

    /// When [`Browser::on_timer`] is to be called; `None`: not before an answer is complete.
    pub fn next_timer(&self) -> Option<Time> {
        match self.phase {
            Phase::Thinks(at) | Phase::Parses(at) => Some(at),
            Phase::Document | Phase::Objects => None,
        }
    }

    /// A pause may be over; does nothing if called early.
    pub fn on_timer(&mut self, now: Time) {
        match self.phase {
            Phase::Thinks(at) if at <= now => {
                self.began = now;
                self.phase = Phase::Document;
            }
            Phase::Parses(at) if at <= now => self.phase = Phase::Objects,
            _ => {}
        }
    }

    /// The next request to send now: the document over the first connection, an object over the first free one. A
    /// connection that has been used in this page is therefore preferred to a new one.
    pub fn poll_request(&mut self) -> Option<PageRequest> {
        match self.phase {
            Phase::Document if !self.busy[0] => {
                self.busy[0] = true;
                (self.unrequested, self.missing) = (self.spec.objects, self.spec.objects);
                let unit = u64::from(self.spec.sizes.unit_bytes);
                let bytes = self.spec.document_bytes.next_multiple_of(unit);
                Some(PageRequest { connection: 0, bytes })
            }
            Phase::Objects if self.unrequested > 0 => {
                let free = self.busy.iter().position(|busy| !busy)?;
                self.busy[free] = true;
                self.unrequested -= 1;
                Some(PageRequest { connection: free as u32, bytes: self.sizes.next_bytes() })
            }
            _ => None,
        }
    }

    /// The answer to the request on this connection has arrived whole; `None`: there was no request.
    pub fn on_complete(&mut self, connection: u32, now: Time) -> Option<PageProgress> {
        if !std::mem::take(self.busy.get_mut(connection as usize)?) {
            return None;
        }
        let took = now - self.began;
        let progress = match self.phase {
            Phase::Document if self.missing == 0 => PageProgress::DocumentAlone(took),
            Phase::Document => {
                self.phase = Phase::Parses(now.saturating_add(self.spec.parse));
                self.on_timer(now);
                return Some(PageProgress::Document(took));
            }
            _ => {
                self.missing -= 1;
                if self.missing > 0 {
                    return Some(PageProgress::Object);
                }
                PageProgress::LastObject(took)
            }
        };
        self.phase = Phase::Thinks(now.saturating_add(self.sizes.next_pause()));
        Some(progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{Law, SizeDistribution};
    use airqueue_core::Seed;
    use proptest::prelude::*;

    fn at(ms: i64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn browser(objects: u32, connections: u32, parse_ms: i64) -> Browser {
        let sizes = FilesSpec {
            mean_bytes: 500,
            law: SizeDistribution::Constant,
            unit_bytes: 1,
            think: Span::from_millis(1000),
            think_law: Law::Constant,
        };
        let parse = Span::from_millis(parse_ms);
        let spec = PageSpec { document_bytes: 700, objects, sizes, connections, parse };
        Browser::new(spec, Time::ZERO, Seed(1).stream("page")).unwrap()
    }

    fn polled(browser: &mut Browser) -> Vec<(u32, u64)> {
        std::iter::from_fn(|| browser.poll_request()).map(|of| (of.connection, of.bytes)).collect()
    }

    /// The document alone, then the objects over the first free connections, then a pause.
    #[test]
    fn objects_follow_the_document_over_free_connections() {
        let mut browser = browser(3, 2, 40);
        assert_eq!((browser.next_timer(), browser.poll_request()), (Some(at(1000)), None));
        browser.on_timer(at(999));
        assert_eq!(browser.poll_request(), None);
        browser.on_timer(at(1000));
        assert_eq!((polled(&mut browser), browser.next_timer()), (vec![(0, 700)], None));
        let document = browser.on_complete(0, at(1010));
        assert_eq!(document, Some(PageProgress::Document(Span::from_millis(10))));
        assert_eq!((polled(&mut browser), browser.next_timer()), (vec![], Some(at(1050))));
        browser.on_timer(at(1050));
        assert_eq!(polled(&mut browser), [(0, 500), (1, 500)]);
        assert_eq!(browser.on_complete(1, at(1060)), Some(PageProgress::Object));
        assert_eq!(polled(&mut browser), [(1, 500)]);
        assert_eq!(browser.on_complete(1, at(1070)), Some(PageProgress::Object));
        assert_eq!((polled(&mut browser), browser.on_complete(1, at(1071))), (vec![], None));
        let page = browser.on_complete(0, at(1080));
        assert_eq!(page, Some(PageProgress::LastObject(Span::from_millis(80))));
        assert_eq!((browser.poll_request(), browser.next_timer()), (None, Some(at(2080))));
    }

    #[test]
    fn a_page_without_objects_is_its_document() {
        let mut browser = browser(0, 6, 40);
        browser.on_timer(at(1000));
        assert_eq!(polled(&mut browser), [(0, 700)]);
        let page = browser.on_complete(0, at(1007));
        assert_eq!(page, Some(PageProgress::DocumentAlone(Span::from_millis(7))));
        assert_eq!(browser.next_timer(), Some(at(2007)));
    }

    #[test]
    fn impossible_pages_are_refused() {
        let spec = browser(1, 1, 0).spec;
        let new = |spec| Browser::new(spec, Time::ZERO, Seed(1).stream("page")).unwrap_err();
        assert_eq!(new(PageSpec { document_bytes: 0, ..spec }), PageError::Document(0));
        assert_eq!(new(PageSpec { connections: 0, ..spec }), PageError::Connections);
        let early = Span::from_nanos(-1);
        assert_eq!(new(PageSpec { parse: early, ..spec }), PageError::Parse(early));
        let empty = FilesSpec { mean_bytes: 0, ..spec.sizes };
        let error = PageError::Objects(FilesError::Mean(0));
        assert_eq!(new(PageSpec { sizes: empty, ..spec }), error);
    }

    proptest! {
        /// Each page has one document and each of its objects once, whatever the order of answers; no connection carries two
        /// requests at once, and none is free while an object waits.
        #[test]
        fn every_object_is_requested_once(
            objects in 0u32..40, connections in 1u32..9, order in prop::collection::vec(any::<u32>(), 200)
        ) {
            let mut browser = browser(objects, connections, 0);
            let (mut under_way, mut requests, mut pages) = (Vec::new(), 0u32, 0u32);
            let mut now = Time::ZERO;
            for pick in order {
                if let Some(next) = browser.next_timer() {
                    prop_assert!(under_way.is_empty());
                    prop_assert_eq!(requests, pages * (objects + 1));
                    now = next;
                    browser.on_timer(now);
                }
                while let Some(PageRequest { connection, .. }) = browser.poll_request() {
                    prop_assert!(!under_way.contains(&connection) && connection < connections);
                    under_way.push(connection);
                    requests += 1;
                }
                let of_page = requests - pages * (objects + 1);
                let expected = if of_page == 1 { 1 } else { connections.min(objects) };
                let all_requested = of_page == objects + 1;
                prop_assert!(all_requested || under_way.len() == expected as usize);
                let done = under_way.swap_remove(pick as usize % under_way.len());
                now += Span::from_nanos(1);
                match browser.on_complete(done, now).expect("a request was under way") {
                    PageProgress::DocumentAlone(_) | PageProgress::LastObject(_) => pages += 1,
                    PageProgress::Document(_) | PageProgress::Object => {}
                }
            }
        }
    }
}
