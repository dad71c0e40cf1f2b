//! The whole of `redrive-local`, with real processes that speak the Runtime API over loopback.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers included")]
#![allow(clippy::disallowed_methods, reason = "tests may read the clock")]

/// CloudFormation, by its real client.
mod cloudformation;
/// What other people's clients see.
mod conformance;
/// A hand on what runs.
mod control;
/// Who may call what is served, and how long a client may take.
mod doors;
/// The AWS endpoint as clients see it.
mod endpoint;
/// What would exhaust the endpoint.
mod hostile;
/// How invocations can end, and what becomes of the messages.
mod invocations;
/// Lambda's API, by its real client.
mod lambda;
/// CloudWatch Logs, by its real client.
mod logs;
/// What mappings do besides: filters, throttling, groups, windows.
mod mappings;
/// Metrics and alarms, whoever they come from.
mod metrics;
/// Whatever clients may send.
mod random_requests;
/// More than one function and queue.
mod several;
/// Functions that do not start, and configurations that are refused.
mod start;
mod support;
/// Time: retries, jumps, ages, alarms.
mod time;
