//! The Rust of docs/, compiled and run as documentation tests.

#[doc = include_str!("../README.md")]
mod readme {}

#[doc = include_str!("../docs/failures.md")]
mod failures {}

#[doc = include_str!("../docs/reference.md")]
mod reference {}

#[doc = include_str!("../docs/hooks.md")]
mod hooks {}

#[doc = include_str!("../docs/bulk.md")]
mod bulk {}

#[doc = include_str!("../docs/metrics.md")]
mod metrics {}

#[doc = include_str!("../docs/worker.md")]
mod worker {}

#[doc = include_str!("../docs/migrating.md")]
mod migrating {}

#[doc = include_str!("../docs/outages.md")]
mod outages {}

/// ```compile_fail
/// #![deny(unused_must_use)]
/// redrive::Failure::reject("no such street");
/// ```
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// redrive::Verdict::reject("no such street");
/// ```
mod a_failure_that_nobody_returns {}
