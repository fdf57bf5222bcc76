//! The random delay of each packet of a source.

use super::law::Law;
use airqueue_core::Span;
use airqueue_core::keys::{Result, wrong};
use airqueue_core::quantity::{Duration, Quantity};
use schemars::JsonSchema;
use serde::Deserialize;

/// The law by which each packet of a source is late.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JitterName {
    /// Evenly between nothing and this.
    Uniform(Quantity<Duration>),
    /// Exponentially distributed with this mean.
    Exponential(Quantity<Duration>),
}

/// The delay of each packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// Its law.
    pub law: Law,
    /// Its mean.
    pub mean: Span,
}

impl JitterName {
    /// The delay; `flow` is the key of the flow.
    pub(super) fn check(&self, flow: &str) -> Result<Jitter> {
        let (word, given, jitter) = match self {
            JitterName::Uniform(most) => {
                let mean = Span::from_nanos(most.value.as_nanos() / 2);
                ("uniform", most, Jitter { law: Law::Uniform, mean })
            }
            JitterName::Exponential(mean) => {
                ("exponential", mean, Jitter { law: Law::Exponential, mean: mean.value })
            }
        };
        if jitter.mean > Span::ZERO {
            return Ok(jitter);
        }
        let problem = format_args!("found {}, which is no delay; leave jitter out", given.text);
        wrong(format_args!("{flow}.jitter.{word}"), problem)
    }
}
