//! Values of metrics, and what is made of them.

mod statistic;
mod value_set;

pub use statistic::{Statistic, UnknownStatistic};
pub(crate) use value_set::ValueSet;
