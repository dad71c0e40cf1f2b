//! A batch from its records to its response: plan, work, decide, settle, report, in rounds.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_lambda_events::sqs::SqsBatchResponse;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument, info_span, warn};

use crate::batch::decide::{Case, Policy, decide_lane};
use crate::batch::plan::plan;
use crate::batch::report::{report, response};
use crate::batch::settle::{Change, Letter, change_visibility, write_letters};
use crate::batch::work::{Terms, Worked, work};
use crate::batch::{Action, Outcome, Settled};
use crate::consumer::{Classify, Observer};
use crate::dead_letter::DeadLetter;
use crate::error::MissingMessageId;
use crate::event::Event;
use crate::message::{FromMessage, Limits, Record};
use crate::metrics::Sink;
use crate::overrides::Overrides;
use crate::queue::is_fifo;
use crate::settings::{LastDelivery, Pace, Settings};
use crate::{Backoff, BatchReport, Handler, log};

/// The end of the invocation that no call to AWS may reach into: it belongs to the response.
const FOR_THE_RESPONSE: Duration = Duration::from_millis(100);

static DOUBLING: Pace = Pace::Backoff(Backoff::DOUBLING);

/// What a batch is handled with.
pub(crate) struct Flow<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) sqs: Option<&'a aws_sdk_sqs::Client>,
    pub(crate) sink: &'a Sink,
    pub(crate) observer: Option<&'a Observer>,
    pub(crate) classify: Option<&'a Classify>,
    pub(crate) workers: &'a Handle,
}

/// What Lambda says about the invocation.
#[derive(Debug)]
pub(crate) struct Invocation<'a> {
    pub(crate) deadline: Instant,
    pub(crate) request_id: &'a str,
    pub(crate) function: &'a str,
}

/// One batch on its way.
struct Batch<'a> {
    records: &'a [Record<'a>],
    settled: Vec<Settled>,
    policy: Policy<'a>,
    invocation: &'a Invocation<'a>,
    settle_until: Instant,
}

impl Flow<'_> {
    pub(crate) async fn run<H, M>(
        &self,
        event: Event<'_>,
        invocation: &Invocation<'_>,
        handler: &Arc<H>,
    ) -> Result<SqsBatchResponse, MissingMessageId>
    where
        H: Handler<M>,
        M: FromMessage,
    {
        let (began, wall) = (Instant::now(), SystemTime::now());
        let left = invocation.deadline.saturating_duration_since(began);
        let work_until = invocation.deadline.checked_sub(self.settings.reserve_of(left)).unwrap_or(began);
        let limits =
            Limits { max_receive_count: self.settings.max_receive_count, deadline: work_until.into_std() };
        let records = event.records.into_iter().enumerate();
        let records =
            records.map(|(at, entry)| Record::new(entry, limits).ok_or(MissingMessageId { record: at }));
        let records: Vec<_> = records.collect::<Result<_, _>>()?;

        let span = info_span!("batch", request_id = invocation.request_id, records = records.len());
        let terms = Terms {
            workers: self.workers,
            concurrency: self.settings.concurrency(),
            time_limit: self.settings.time_limit,
            classify: self.classify,
            until: work_until,
            began,
            at_least_one: true,
        };
        let mut batch = Batch::new(&records, self.policy(&records), invocation);
        async {
            log::unexpected_attempts(&records, self.settings.max_receive_count);
            self.rounds(&mut batch, terms, handler).await;
            self.change_visibility(&mut batch).await;
            log::failures(&records, &batch.settled);
            let report = report(&records, &batch.settled, wall, self.sqs.is_some());
            log::summary(&report);
            self.publish(&report, batch.settle_until).await;
        }
        .instrument(span)
        .await;
        Ok(response(&records, &batch.settled))
    }

    /// On a standard queue there is one round. On a FIFO queue a lane whose failed head is safely in the dead-letter
    /// queue goes on with its rest in the next.
    async fn rounds<H, M>(&self, batch: &mut Batch<'_>, mut terms: Terms<'_>, handler: &Arc<H>)
    where
        H: Handler<M>,
        M: FromMessage,
    {
        let plan = plan(batch.records);
        let mut lanes = plan.lanes;
        let mut stopped = Vec::new();
        while !lanes.is_empty() {
            let worked =
                work(batch.records, &plan.order, lanes.clone(), handler, &terms, log::message_span).await;
            batch.note(worked);
            let heads: Vec<_> =
                lanes.iter().filter_map(|lane| batch.decide(&plan.order, lane.clone())).collect();
            self.write_letters(batch, heads.iter().map(|head| plan.order[head.start])).await;
            let (go_on, stop): (Vec<Range<usize>>, _) =
                heads.into_iter().partition(|head| batch.settled[plan.order[head.start]].is_over());
            stopped.extend(stop.into_iter().flat_map(|lane| plan.order[lane].to_vec()));
            lanes = go_on
                .into_iter()
                .map(|head| head.start + 1..head.end)
                .filter(|rest| !rest.is_empty())
                .collect();
            terms.at_least_one = false;
        }
        let never_ran =
            stopped.into_iter().filter(|&at| matches!(batch.settled[at].outcome, Outcome::NotStarted));
        let never_ran: Vec<_> = never_ran.collect();
        self.write_letters(batch, never_ran.into_iter()).await;
    }

    /// Writes the letters among these records, in this order.
    async fn write_letters(&self, batch: &mut Batch<'_>, indices: impl Iterator<Item = usize>) {
        let (Some(sqs), Some(url)) = (self.sqs, self.settings.dead_letter_queue_url.as_deref()) else {
            return;
        };
        let letters: Vec<_> = indices.filter_map(|index| batch.letter(index)).collect();
        for index in write_letters(sqs, url, &letters, batch.settle_until).await {
            batch.settled[index].confirmed = true;
        }
    }

    async fn change_visibility(&self, batch: &mut Batch<'_>) {
        let Some(sqs) = self.sqs else { return };
        let records = batch.records;
        let changes = batch.settled.iter().enumerate().filter(|(_, settled)| !settled.is_over());
        let changes = changes.filter_map(|(index, settled)| {
            Some(Change { index, record: &records[index], after: settled.action.back_after()? })
        });
        let changes: Vec<_> = changes.collect();
        for index in change_visibility(sqs, &changes, batch.settle_until).await {
            // A letter that was not confirmed stays so, whenever its message is back.
            let settled = &mut batch.settled[index];
            settled.confirmed = !matches!(settled.action, Action::DeadLetter { .. });
        }
    }

    async fn publish(&self, report: &BatchReport, until: Instant) {
        let observed = async {
            let Some(observer) = self.observer.cloned() else { return };
            let report = report.clone();
            // Where user code runs it can neither block the response nor take it down.
            let observed = self.workers.spawn(async move { observer(&report) });
            match timeout_at(until, observed).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => warn!(%error, "the observer panicked"),
                Err(_elapsed) => warn!("the observer did not end in time"),
            }
        };
        tokio::join!(self.sink.publish(report, SystemTime::now(), until), observed);
    }

    fn policy(&self, records: &[Record<'_>]) -> Policy<'_> {
        let settings = self.settings;
        let default = match records.first() {
            Some(record) if is_fifo(record.source()) => LastDelivery::DeadLetter,
            Some(_) | None => LastDelivery::RedrivePolicy,
        };
        Policy {
            pace: settings.pace.as_ref().unwrap_or(&DOUBLING),
            longest: settings.longest(),
            max_receive_count: settings.max_receive_count,
            last_delivery: settings.last_delivery.unwrap_or(default),
            on_panic: settings.on_panic.unwrap_or_default(),
            on_malformed: settings.on_malformed.unwrap_or_default(),
            has_dead_letter_queue: self.sqs.is_some() && settings.dead_letter_queue_url.is_some(),
        }
    }
}

impl<'a> Batch<'a> {
    fn new(records: &'a [Record<'a>], policy: Policy<'a>, invocation: &'a Invocation<'a>) -> Self {
        let untouched =
            || Settled { outcome: Outcome::NotStarted, action: Action::Leave, confirmed: false, ran: None };
        Self {
            records,
            settled: records.iter().map(|_| untouched()).collect(),
            policy,
            invocation,
            settle_until: invocation.deadline.checked_sub(FOR_THE_RESPONSE).unwrap_or(invocation.deadline),
        }
    }

    fn note(&mut self, worked: Vec<Worked>) {
        for (index, outcome, ran) in worked {
            self.settled[index].outcome = outcome;
            self.settled[index].ran = ran;
        }
    }

    /// Decides on a lane; hands back the part of it that begins with the message at which it stopped, if it did.
    fn decide(&mut self, order: &[usize], lane: Range<usize>) -> Option<Range<usize>> {
        let something_finished = self.settled.iter().any(|settled| settled.outcome.lets_the_lane_go_on());
        let overrides: Vec<_> = order[lane.clone()].iter().map(|&index| self.overrides(index)).collect();
        let cases: Vec<_> = order[lane.clone()]
            .iter()
            .zip(&overrides)
            .map(|(&index, overrides)| Case {
                outcome: &self.settled[index].outcome,
                attempt: self.records[index].attempt(),
                overrides,
                random: fastrand::f64(),
            })
            .collect();
        let actions = decide_lane(&cases, &self.policy, something_finished);
        for (&index, action) in order[lane.clone()].iter().zip(actions) {
            self.settled[index].action = action;
        }
        let stopped = |&at: &usize| !self.settled[order[at]].outcome.lets_the_lane_go_on();
        lane.clone().find(stopped).map(|head| head..lane.end)
    }

    /// Read only for a message that is not done.
    fn overrides(&self, index: usize) -> Overrides {
        let record = &self.records[index];
        if self.settled[index].outcome.lets_the_lane_go_on() || !record.has_attributes() {
            return Overrides::default();
        }
        let (overrides, warnings) = self.policy.overrides(&record.attributes());
        for warning in warnings {
            warn!(message_id = record.id(), warning, "an attribute of the message was not followed");
        }
        overrides
    }

    /// The letter of a record that is to be dead-lettered.
    fn letter(&self, index: usize) -> Option<Letter<'a>> {
        let Settled { outcome, action: Action::DeadLetter { reason, .. }, confirmed: false, .. } =
            &self.settled[index]
        else {
            return None;
        };
        let record = &self.records[index];
        let (error, exception) = outcome.describe();
        let note = DeadLetter {
            reason: reason.clone().into_owned(),
            error,
            exception: exception.to_owned(),
            failed_at: SystemTime::now(),
            attempts: record.attempt(),
            message_id: record.id().to_owned(),
            source: record.source().to_owned(),
            sent_at: record.sent_at(),
            function: self.invocation.function.to_owned(),
            request_id: self.invocation.request_id.to_owned(),
        };
        let mut attributes = record.attributes();
        if !note.attach(record.body(), &mut attributes) {
            warn!(message_id = record.id(), "no room for the note: the dead letter goes without");
        }
        Some(Letter { index, record, attributes })
    }
}
