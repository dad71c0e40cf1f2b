//! Metrics, log lines and probes of a redrive consumer. The engine knows nothing of this crate.
//!
//! Only [`BatchReport`] is for users, and redrive exports it. All else is internal to redrive, and may change in any version.

// Modules:
// - `report`: `BatchReport`; `metrics`, `emf`: what is published; `lines`: the log as JSON; `stdout`: output without a lock
// - with the feature `worker`: `backlog` (log lines that wait for a reader), `vitals` (a worker's state), `liveness`, `minute`,
//   `open_metrics`, `health` (the server for probes), `protection` (of an ECS task)

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests may read the clock"))]

#[cfg(feature = "worker")]
mod backlog;
#[doc(hidden)]
pub mod emf;
#[cfg(feature = "worker")]
#[doc(hidden)]
pub mod health;
#[cfg(feature = "worker")]
mod liveness;
#[doc(hidden)]
pub mod lines;
#[doc(hidden)]
pub mod metrics;
#[cfg(feature = "worker")]
mod minute;
#[cfg(feature = "worker")]
mod open_metrics;
#[cfg(feature = "worker")]
#[doc(hidden)]
pub mod protection;
mod report;
#[doc(hidden)]
pub mod stdout;
#[cfg(feature = "worker")]
#[doc(hidden)]
pub mod vitals;

pub use report::BatchReport;
