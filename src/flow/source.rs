//! One set of settings serves one queue.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::Flow;
use crate::error::Error;
use crate::event::Entry;
use crate::records::Records;
use crate::sample;
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

impl Flow<'_> {
    /// The settings of the queue that a record is from.
    pub(super) fn settings_of(&self, entry: &Entry<'_>) -> Result<Cow<'_, Settings>, Error> {
        // Its queue is an example.
        if sample::is_sample(entry.receipt_handle()) {
            return Ok(Cow::Borrowed(self.settings));
        }
        let settings = self.settings.of_queue(entry.source())?;
        settings.check_dead_letter_queue(entry.source())?;
        Ok(settings)
    }

    /// Refuses messages of a second queue where the settings are those of one. The process then ends, since the first may have
    /// been one that somebody made up.
    pub(super) fn claim(&self, records: &Records) -> Result<(), Error> {
        if sample::is_sample_of(records.list()) {
            return Ok(());
        }
        self.source.claim(records.source(), self.settings).map_err(|refusal| {
            if let Some(shutdown) = self.shutdown {
                shutdown.begin(refusal.clone().into());
            }
            refusal.into()
        })
    }
}
