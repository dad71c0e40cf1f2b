//! Values of metrics and their statistics.

mod statistic;
mod value_set;

pub use statistic::{Statistic, UnknownStatistic};
pub(crate) use value_set::ValueSet;
