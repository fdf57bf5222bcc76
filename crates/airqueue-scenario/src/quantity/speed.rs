//! Speeds.

use airqueue_core::quantity::{Case, Dimension, Scale, Unit};

/// A speed, in metres per second.
#[derive(Clone)]
pub(crate) struct Speed;

fn speed(m_s: f64) -> Result<f64, &'static str> {
    if (1e-3..=1e3).contains(&m_s) { Ok(m_s) } else { Err("from 0.001 to 1000 m/s") }
}

impl Dimension for Speed {
    type Value = f64;
    const WHAT: &'static str = "a speed";
    const NAME: &'static str = "Speed";
    const EXAMPLES: [&'static str; 2] = ["1.2 m/s", "5m/s"];
    const CASE: Case = Case::Exact;
    const UNITS: &'static [Unit<f64>] =
        &[Unit { names: &["m/s"], scale: Scale::Ten(0), make: speed }];
}
