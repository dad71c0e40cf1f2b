//! One set of settings serves one queue.

use std::sync::OnceLock;

use crate::settings::{InvalidSetting, Settings};

/// The queue whose settings these are, once one of its batches has come.
#[derive(Debug, Default)]
pub(crate) struct Source(OnceLock<String>);

impl Source {
    /// # Errors
    /// The settings hold for one queue only, and messages of another have come before.
    pub(super) fn claim(&self, arn: &str, settings: &Settings) -> Result<(), InvalidSetting> {
        let Some(name) = settings.of_one_queue().filter(|_| settings.queues.is_empty() && !arn.is_empty())
        else {
            return Ok(());
        };
        let first = self.0.get_or_init(|| arn.to_owned());
        if first == arn { Ok(()) } else { Err(InvalidSetting::second_source(arn, first, name)) }
    }
}
