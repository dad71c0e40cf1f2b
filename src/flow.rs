//! A batch from its records to its response: plan, work, decide, settle, report, in rounds.

mod progress;

use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use aws_lambda_events::sqs::SqsBatchResponse;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument, error, warn};

use crate::batch::Action;
use crate::batch::decide::Policy;
use crate::batch::plan::plan;
use crate::batch::report::{report, response};
use crate::batch::settle::{Change, change_visibility, write_letters};
use crate::batch::work::{Terms, work};
use crate::flow::progress::Progress;
use crate::judge::Judge;
use crate::message::FromMessage;
use crate::queue::is_same_queue;
use crate::record::{Limits, Record};
use crate::records::Records;
use crate::settings::Settings;
use crate::{BatchReport, Handler, log, metrics};

/// Looks at every report.
pub(crate) type Observer = Arc<dyn Fn(&BatchReport) + Send + Sync>;

/// What a batch is handled with.
pub(crate) struct Flow<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) sqs: Option<&'a aws_sdk_sqs::Client>,
    pub(crate) cloudwatch: Option<&'a aws_sdk_cloudwatch::Client>,
    pub(crate) observer: Option<&'a Observer>,
    pub(crate) judge: &'a Judge,
    pub(crate) workers: &'a Handle,
}

/// What Lambda says about the invocation.
#[derive(Debug)]
pub(crate) struct Invocation<'a> {
    pub(crate) deadline: Instant,
    pub(crate) request_id: &'a str,
    pub(crate) function: &'a str,
}

impl Flow<'_> {
    pub(crate) async fn run<H, M, E>(
        &self,
        read: impl FnOnce(Limits) -> Result<Records, E>,
        invocation: &Invocation<'_>,
        handler: &Arc<H>,
    ) -> Result<SqsBatchResponse, E>
    where
        H: Handler<M>,
        M: FromMessage,
    {
        let (began, wall) = (Instant::now(), SystemTime::now());
        let left = invocation.deadline.saturating_duration_since(began);
        let work_until = invocation.deadline.checked_sub(self.settings.reserve_of(left)).unwrap_or(began);
        let limits =
            Limits { max_receive_count: self.settings.max_receive_count, deadline: work_until.into_std() };
        let shared = Arc::new(read(limits)?);
        let records = shared.list();

        let span = log::batch_span(invocation.request_id, records.len());
        let terms = Terms {
            workers: self.workers,
            concurrency: self.settings.concurrency(),
            time_limit: self.settings.time_limit,
            judge: self.judge,
            until: work_until,
            began,
            span: &span,
        };
        let mut batch = Progress::new(records, self.policy(records), invocation);
        async {
            log::unexpected_attempts(records, self.settings.max_receive_count);
            self.rounds(&shared, &mut batch, &terms, handler).await;
            self.change_visibility(&mut batch).await;
            let report = report(records, &batch.settled, wall, self.sqs.is_some());
            log::summary(&report);
            let until = batch.settle_until;
            tokio::join!(self.publish(&report, until), log::failures(records, &batch.settled, until));
        }
        .instrument(span.clone())
        .await;
        Ok(response(records, &batch.settled))
    }

    /// On a standard queue there is one round. On a FIFO queue a lane whose failed head is safely in the dead-letter
    /// queue goes on with its rest in the next.
    async fn rounds<H, M>(
        &self,
        records: &Arc<Records>,
        batch: &mut Progress<'_>,
        terms: &Terms<'_>,
        handler: &Arc<H>,
    ) where
        H: Handler<M>,
        M: FromMessage,
    {
        let plan = plan(batch.records);
        let mut lanes = plan.lanes;
        let mut stopped = Vec::new();
        while !lanes.is_empty() {
            let worked = work(records, &plan.order, lanes.clone(), handler, terms).await;
            batch.note(worked);
            let something_finished = batch.something_finished();
            let stops =
                lanes.iter().filter_map(|lane| batch.decide(&plan.order, lane.clone(), something_finished));
            let stops: Vec<_> = stops.collect();
            let heads = stops.iter().map(|stop| plan.order[stop.start]);
            let ran: Vec<_> = heads.filter(|&head| !batch.never_ran(head)).collect();
            self.write_letters(batch, ran).await;
            let (go_on, stay): (Vec<Range<usize>>, _) =
                stops.into_iter().partition(|stop| batch.settled[plan.order[stop.start]].is_over());
            stopped.extend(stay);
            lanes = go_on
                .into_iter()
                .map(|stop| stop.start + 1..stop.end)
                .filter(|rest| !rest.is_empty())
                .collect();
        }
        let left = stopped.into_iter().flatten().map(|at| plan.order[at]);
        let never_ran = left.filter(|&index| batch.never_ran(index)).collect();
        self.write_letters(batch, never_ran).await;
    }

    /// Writes the letters among these records, in this order.
    async fn write_letters(&self, batch: &mut Progress<'_>, indices: Vec<usize>) {
        let (Some(sqs), Some(url)) = (self.sqs, self.settings.dead_letter_queue_url.as_deref()) else {
            return;
        };
        let letters: Vec<_> = indices.into_iter().filter_map(|index| batch.letter(index)).collect();
        for index in write_letters(sqs, url, &letters, batch.sqs_until()).await {
            batch.settled[index].confirmed = true;
        }
    }

    async fn change_visibility(&self, batch: &mut Progress<'_>) {
        let Some(sqs) = self.sqs else { return };
        let records = batch.records;
        let changes = batch.settled.iter().enumerate().filter(|(_, settled)| !settled.is_over());
        let changes = changes.filter_map(|(index, settled)| {
            Some(Change { index, record: &records[index], after: settled.action.back_after()? })
        });
        let changes: Vec<_> = changes.collect();
        for index in change_visibility(sqs, &changes, batch.sqs_until()).await {
            // A letter that was not confirmed stays so, whenever its message is back.
            let settled = &mut batch.settled[index];
            settled.confirmed = !matches!(settled.action, Action::DeadLetter { .. });
        }
    }

    async fn publish(&self, report: &BatchReport, until: Instant) {
        let observed = async {
            let Some(observer) = self.observer.cloned() else { return };
            let report = report.clone();
            // Where user code runs it can neither block the response nor take it down; late, it still ends.
            let observed = self.workers.spawn(async move { observer(&report) });
            match timeout_at(until, observed).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => warn!(%error, "the observer panicked"),
                Err(_elapsed) => warn!("the observer did not end in time"),
            }
        };
        let published = metrics::publish(report, self.settings, self.cloudwatch, SystemTime::now(), until);
        tokio::join!(published, observed);
    }

    fn policy(&self, records: &[Record<'_>]) -> Policy<'_> {
        let source = records.first().map_or("", Record::source);
        let has_dead_letter_queue = self.sqs.is_some() && self.dead_letter_queue(source).is_some();
        Policy::of(self.settings, source, has_dead_letter_queue)
    }

    /// A letter into the queue that it comes from would be received again at once, for ever.
    fn dead_letter_queue(&self, source: &str) -> Option<&str> {
        let url = self.settings.dead_letter_queue_url.as_deref()?;
        if is_same_queue(source, url) {
            error!(url, "the dead-letter queue is the source queue: nothing is written to it");
            return None;
        }
        Some(url)
    }
}

#[cfg(test)]
mod tests;
