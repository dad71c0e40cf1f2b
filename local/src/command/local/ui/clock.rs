//! What the page's clock shows. Pure.

use std::time::Duration;

use serde::Serialize;

use crate::{ClockReading, Speed};

/// Simulated and real time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Clock {
    /// Simulated seconds since the start.
    at: f64,
    /// Real seconds since the start.
    wall: f64,
    /// Simulated seconds in a real one, at present.
    pace: f64,
    /// How fast waiting passes; none if it is skipped.
    speed: Option<f64>,
    held: bool,
}

impl Clock {
    pub(super) fn new(reading: ClockReading, wall: Duration) -> Self {
        let ClockReading { at, pace, speed, held } = reading;
        let speed = match speed {
            Speed::Times(times) => Some(times),
            Speed::Max => None,
        };
        Self { at: at.as_secs_f64(), wall: wall.as_secs_f64(), pace, speed, held }
    }
}

#[cfg(test)]
impl Default for Clock {
    fn default() -> Self {
        Self { at: 0.0, wall: 0.0, pace: 0.0, speed: None, held: false }
    }
}
