//! Queues that do not drain, in the service: its table.

use super::config::{ConfigError, within};
use crate::watch::Watch;
use airqueue_core::quantity::{Duration, Quantity};
use serde::Deserialize;
use std::path::PathBuf;

/// The queues of all stations, looked at as `airqueued watch` does.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchConfig {
    /// Time between two looks at the queues.
    #[serde(default = "second")]
    pub interval: Quantity<Duration>,
    /// A queue that sends nothing for so long is stuck.
    #[serde(default = "five_seconds")]
    pub stuck_after: Quantity<Duration>,
    /// File of the figures as Prometheus reads them, written at each look, seen from the configuration's folder.
    pub prometheus: Option<PathBuf>,
}

fn second() -> Quantity<Duration> {
    Quantity::of("1 s")
}

fn five_seconds() -> Quantity<Duration> {
    Quantity::of("5 s")
}

impl WatchConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        within("watch.interval", &self.interval, 0.1, 3600.0)?;
        within("watch.stuck_after", &self.stuck_after, 1.0, 86_400.0)
    }

    /// What judges the looks.
    pub fn watch(&self) -> Watch {
        Watch::new(self.stuck_after.value)
    }
}

#[cfg(test)]
mod tests {
    use crate::steer::Config;
    use airqueue_core::Span;

    #[test]
    fn a_service_may_watch_alone_and_sets_nothing_then() {
        let config = Config::read("config = 1\n[watch]").unwrap();
        let watch = config.watch.as_ref().unwrap();
        let spans = [watch.interval.value, watch.stuck_after.value];
        assert_eq!(spans, [1, 5].map(Span::from_secs));
        assert!(watch.prometheus.is_none());
        assert_eq!(config.whole(None).unwrap().settings, []);
    }

    #[test]
    fn errors_name_the_key_and_what_is_possible() {
        for (rest, expected) in [
            ("interval = \"10 ms\"", "watch.interval: is 10 ms; give a time from 0.1 s"),
            ("stuck_after = \"100 ms\"", "watch.stuck_after: is 100 ms; give a time from 1 s"),
            ("every = \"1 s\"", "unknown key `every`"),
        ] {
            let error = Config::read(&format!("config = 1\n[watch]\n{rest}")).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
