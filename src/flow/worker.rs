//! A batch of a worker's: the messages of a FIFO group, one message of a standard queue, or those of a bulk handler.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use aws_lambda_events::sqs::SqsEvent;
use tokio::time::Instant;

use super::Flow;
use crate::batch::work::Input;
use crate::error::Error;
use crate::records::{Received, Records};
use crate::worker::hold::Hold;
use crate::{BatchReport, Handler, Invocation};

/// What a message is settled in that was in hand until the last moment.
const TO_SETTLE: Duration = Duration::from_secs(5);

impl Flow<'_> {
    /// Handles messages until they are settled. They are in hand until this time at the latest. What it returns lives as long as
    /// a handler that could not be canceled.
    ///
    /// # Errors
    /// A message has no id.
    pub(crate) async fn work_on<H, M>(
        &self,
        event: SqsEvent,
        until: Instant,
        handler: &Arc<H>,
        mut hold: Hold,
    ) -> Result<(BatchReport, Weak<Records>), Error>
    where
        H: Handler<M>,
        M: Input,
    {
        let invocation = Invocation::until((until + TO_SETTLE).into_std());
        let limits = self.limits(self.settings, until, &invocation);
        let (records, _) = Records::by_queue(Received::Event(event), |_| Ok(limits.clone()))?;
        let times = (Instant::now(), SystemTime::now(), until);
        let records = Arc::new(records);
        let (_, report) = self.batch(&records, times, &invocation, handler, Some(&mut hold)).await;
        Ok((report, Arc::downgrade(&records)))
    }
}
