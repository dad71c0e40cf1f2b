//! Tests `redrive-local` as a whole, with real processes that use the Runtime API over loopback.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers included")]
#![allow(clippy::disallowed_methods, reason = "tests may read the clock")]

/// CloudFormation, by its real client.
mod cloudformation;
/// The endpoint as other people's clients see it.
mod conformance;
/// Control of a run.
mod control;
/// The guard: which clients may call, and how long a request may take.
mod gate;
/// The AWS endpoint as clients see it.
mod endpoint;
/// Requests that try to exhaust the endpoint.
mod hostile;
/// Outcomes of invocations, and their effect on messages.
mod invocations;
/// Lambda's API, by its real client.
mod lambda;
/// CloudWatch Logs, by its real client.
mod logs;
/// Other features of mappings: filters, throttling, groups, windows.
mod mappings;
/// Metrics and alarms from all sources.
mod metrics;
/// Random requests of clients.
mod random_requests;
/// More than one function and queue.
mod several;
/// Functions that do not start, and configurations that are refused.
mod start;
mod support;
/// Time: retries, jumps, ages, alarms.
mod time;
