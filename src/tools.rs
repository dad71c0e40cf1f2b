//! For tools that look after redrive's queues, such as the command `redrive`: what the function would do, without running
//! it. A minor version may change what is here.

pub use redrive_sqs::origin_of_letter;

pub use crate::metrics::metric_names;
pub use crate::retries::{Retries, Retry};
pub use crate::settings::{VARIABLES_OF_ONE_QUEUE, variable_of_queue};
