//! `redrive dlq list --all`: the errors of all dead-letter queues, grouped.

use std::rc::Rc;
use std::time::SystemTime;

use anyhow::anyhow;
use redrive_sqs::OriginSenders;
use serde::Serialize;

use super::Arguments;
use crate::aws::Aws;
use crate::counted::{counted, thousands};
use crate::dlq::condition::{ConditionFilter, Conditions, Verdict};
use crate::dlq::line::LetterLine;
use crate::dlq::look::Look;
use crate::find::Queue;
use crate::fleet::seen::{Seeing, Seen, remember};
use crate::fleet::{DeadLetterQueue, Fleet, PlaceFacts, Reached, first, queues};
use crate::letters::Kinds;
use crate::output::{self, Progress};
use crate::problem::{OrProblem, Problem};
use crate::sqs::{Receivable, with_lease};
use crate::tell::{print_json, tell};

/// Default number of letters to receive from each queue.
const LETTERS: usize = 100;

/// A letter with the queue that it is in.
#[derive(Serialize)]
struct InQueue<'a> {
    queue: &'a str,
    #[serde(flatten)]
    letter: LetterLine<'a>,
}

/// Errors and counts of all queues so far.
struct All<'a> {
    arguments: &'a Arguments,
    origin_senders: Option<OriginSenders>,
    filter: ConditionFilter,
    now: SystemTime,
    kinds: Kinds,
    seen: usize,
    matching: usize,
    /// Queues that were skipped, because SQS might have moved their letters.
    skipped: Vec<&'a str>,
    /// True if a queue has more letters than were requested.
    is_cut: bool,
    seen_errors: Vec<Seen>,
}

pub(super) async fn list(
    arguments: &Arguments,
    conditions: Conditions,
    origin_senders: Option<OriginSenders>,
) -> Result<(), Problem> {
    let places = arguments.which.places().connect().await?;
    let facts = queues(&places, &Progress::spinner("{spinner} {msg} ({elapsed})")).await;
    let fleet = Fleet::of(&facts, false);
    let (filter, now) = (ConditionFilter::new(conditions), SystemTime::now());
    let mut all = All {
        arguments,
        origin_senders,
        filter,
        now,
        kinds: Kinds::default(),
        seen: 0,
        matching: 0,
        skipped: vec![],
        is_cut: false,
        seen_errors: vec![],
    };
    let mut faults = fleet.problem().into_iter().collect::<Vec<_>>();
    let mut interrupted = None;
    for listed in &fleet.queues {
        let Some((aws, queue)) = found(listed, &facts, &places) else { continue };
        let Ok(queue) = Receivable::if_nothing_moves(queue.clone()) else {
            all.skipped.push(&listed.name);
            continue;
        };
        match all.receive(aws, &queue, &sources(listed, &facts)).await {
            Ok(()) => (),
            Err(problem @ Problem::Ended(..)) => {
                interrupted = Some(problem);
                break;
            }
            Err(problem) if problem.is_broken_pipe() => return Err(problem),
            Err(problem) => faults.push(problem.to_string()),
        }
    }
    for fault in
        fleet.failed.iter().map(|fault| &fault.error).chain(fleet.unreachable.iter().map(|it| &it.error))
    {
        tell(format_args!("not read: {fault}"));
    }
    all.finish(&fleet)?;
    if interrupted.is_none()
        && let Ok(first) = first(&places)
    {
        remember(&first, &all.seen_errors).await;
    }
    match interrupted {
        Some(problem) => Err(problem),
        None if faults.is_empty() => Ok(()),
        None => Err(Problem::Failed(anyhow!(faults.join("; ")))),
    }
}

fn found<'a>(
    listed: &DeadLetterQueue,
    facts: &'a [PlaceFacts],
    places: &'a [Reached],
) -> Option<(&'a Aws, &'a Queue)> {
    let in_place = |(facts, reached): (&'a PlaceFacts, &'a Reached)| {
        let queue = facts.queues.iter().find(|queue| queue.arn == listed.arn)?;
        Some((reached.aws.as_ref().ok()?, queue))
    };
    facts.iter().zip(places).find_map(in_place)
}

fn sources<'a>(listed: &DeadLetterQueue, facts: &'a [PlaceFacts]) -> Vec<&'a Queue> {
    let all = facts.iter().flat_map(|facts| &facts.queues);
    all.filter(|queue| listed.sources.contains(&queue.arn)).collect()
}

impl All<'_> {
    /// Receives some letters of a queue, and makes them visible again immediately.
    async fn receive(&mut self, aws: &Aws, queue: &Receivable, sources: &[&Queue]) -> Result<(), Problem> {
        let most = self.arguments.max.unwrap_or(LETTERS);
        let counts = sources.iter().filter_map(|source| Some(source.redrive_policy()?.max_receive_count));
        let (max_receive_count, senders) = (counts.max(), self.origin_senders.clone());
        // It stops at the visible count, because another receive would wait for nothing.
        let enough = most.min(usize::try_from(queue.visible()).unwrap_or(usize::MAX));
        let mut received = Vec::new();
        with_lease(aws, queue, async |lease| {
            let mut look = Look::new(lease, max_receive_count, senders);
            while received.len() < enough {
                let letters = look.next().await?;
                if letters.is_empty() {
                    break;
                }
                received.extend(letters);
            }
            Ok(())
        })
        .await?;
        received.truncate(most);
        self.is_cut |= received.len() == most && queue.visible() > most as u64;
        let (name, mut seeing): (Rc<str>, _) = (queue.name().into(), Seeing::default());
        received.iter().for_each(|letter| seeing.add(letter));
        self.seen_errors.extend(seeing.seen(&queue.arn, queue.visible(), self.now));
        for letter in received {
            self.seen += 1;
            if self.filter.judge(&letter, self.now) != Verdict::Holds {
                continue;
            }
            self.matching += 1;
            if self.arguments.output.json {
                print_json(&InQueue {
                    queue: &queue.arn,
                    letter: LetterLine::of(&letter, queue.retention()),
                })?;
            } else {
                self.kinds.add_in(&letter, Some(&name));
            }
        }
        Ok(())
    }

    fn finish(&self, fleet: &Fleet) -> Result<(), Problem> {
        let queues = counted(fleet.with_letters() - self.skipped.len(), "dead-letter queue");
        let (seen, letters) = (thousands(self.seen), fleet.letters());
        match self.filter.is_empty() {
            true => tell(format_args!("{seen} of {} letters received from {queues}", thousands(letters))),
            false => tell(format_args!(
                "{} of {seen} letters received from {queues} match",
                thousands(self.matching)
            )),
        }
        if !self.skipped.is_empty() {
            tell(format_args!(
                "skipped {}, because receiving may move letters to another queue: {}; dlq list --queue asks first",
                counted(self.skipped.len(), "dead-letter queue"),
                self.skipped.join(", ")
            ));
        }
        if self.is_cut {
            tell("--max receives more letters of each queue");
        }
        if self.arguments.output.json || self.matching == 0 {
            return Ok(());
        }
        let lines = self.kinds.lines(self.now, "no note", self.arguments.wide.layout());
        output::print_all(&lines).or_failed()
    }
}
