//! Limits on messages that start: rates of a worker, of several workers and of each key, the number of handlers, and the places
//! that the queues of a process share.

pub(crate) mod receive_budget;
pub(crate) mod adaptive_limit;
pub(crate) mod places;
pub(crate) mod rate;
pub(crate) mod tokens;
pub(crate) mod keyed_limiter;
pub(crate) mod parked;
