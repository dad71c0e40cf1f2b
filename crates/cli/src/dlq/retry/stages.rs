//! `--watch` and `--stages`: sends some letters, and the others only if those do not fail again.

mod vigil;

use std::cell::RefCell;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow};
use clap::Args;
use redrive::tools::{Retries, Retry};
use serde_json::json;
use tokio::time::Instant;

use self::vigil::{Step, Vigil};
use crate::aws::{Aws, DescribeError};
use crate::counted::counted;
use crate::find::{Pair, Queue};
use crate::letters::look::{Look, behind};
use crate::letters::{LetterRun, Returned, Route, SentBack, run as run_job};
use crate::output::Progress;
use crate::problem::{OrProblem, Problem};
use crate::span::{self, span};
use crate::sqs::{Receivable, Stop, with_lease};
use crate::tell::{letters, print_json, tell};

/// Interval between counts of both queues.
const POLL: Duration = Duration::from_secs(2);

/// Time for the receive after which SQS moves a message that always fails.
const LAST_RECEIVE: Duration = Duration::from_secs(20);

const LONGEST_WAIT: Duration = Duration::from_secs(12 * 60 * 60);

/// What was typed.
#[derive(Debug, Clone, Args)]
pub(super) struct Watching {
    /// Watch whether sent letters come back, and stop if one does
    #[arg(long, conflicts_with_all = ["native", "edit"])]
    pub(super) watch: bool,

    /// Letters per stage, separated by commas; all puts the rest into the last stage [default: all]
    #[arg(long, value_name = "NUMBERS", requires = "watch", conflicts_with = "max")]
    stages: Option<Stages>,

    /// How long to watch after each stage [default: the time that all attempts take, computed from visibility
    /// timeout, maxReceiveCount and backoff]
    #[arg(long, value_name = "TIME", requires = "watch", value_parser = wait)]
    wait: Option<Duration>,
}

/// Letters per stage. None means the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stages(Vec<Option<u64>>);

impl FromStr for Stages {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const ALLOWED: &str = "allowed: numbers above 0, and all at the end, such as 10,100,all";
        let stage = |text: &str| match text.trim() {
            "all" => Ok(None),
            number => number.parse().ok().filter(|number| *number > 0).map(Some).ok_or(ALLOWED),
        };
        let stages: Vec<Option<u64>> = text.split(',').map(stage).collect::<Result<_, _>>()?;
        let is_early = stages.iter().rev().skip(1).any(Option::is_none);
        if is_early { Err(ALLOWED) } else { Ok(Self(stages)) }
    }
}

fn wait(text: &str) -> Result<Duration, String> {
    match span::parse(text)? {
        time if (Duration::from_secs(1)..=LONGEST_WAIT).contains(&time) => Ok(time),
        _ => Err("allowed: 1s to 12h".to_owned()),
    }
}

impl Watching {
    fn stages(&self) -> Stages {
        self.stages.clone().unwrap_or(Stages(vec![None]))
    }

    /// Returns the greatest number of letters to send, if it is known.
    pub(super) fn most(&self, most: Option<u64>) -> Option<u64> {
        match &self.stages {
            Some(Stages(stages)) => stages.iter().copied().sum(),
            None => most,
        }
    }

    /// Returns the words for the question: ` in stages of 10, 100 and the rest`.
    pub(super) fn words(&self) -> String {
        let Some(Stages(stages)) = &self.stages else { return String::new() };
        let words: Vec<String> = stages
            .iter()
            .map(|stage| stage.map_or("the rest".to_owned(), |stage| stage.to_string()))
            .collect();
        match words.split_last() {
            Some((last, before)) if !before.is_empty() => {
                format!(" in stages of {} and {last}", before.join(", "))
            }
            Some(_) | None => String::new(),
        }
    }

    /// Computes the time until a message that always fails is back, from the retry settings of the function.
    ///
    /// # Errors
    /// The message never returns, or the time is unknown.
    pub(super) async fn patience(&self, aws: &Aws, pair: &Pair, to: &Queue) -> anyhow::Result<Duration> {
        let from = pair.dead()?;
        if from.redrive_policy().is_some() {
            return Err(anyhow!(
                "--watch: {} has its own redrive policy, and each look counts as a receive",
                from.name()
            ));
        }
        match (to.redrive_policy(), self.wait) {
            (Some(policy), _) if policy.dead_letter_target_arn != from.arn => Err(anyhow!(
                "--watch: messages of {} that fail do not come back to {}, but go to {}",
                to.name(),
                from.name(),
                redrive_sqs::queue_name(&policy.dead_letter_target_arn)
            )),
            (_, Some(wait)) => Ok(wait),
            (Some(policy), None) => {
                let retries = retries(aws, pair, to).await?;
                Ok(longest(to.visibility_timeout(), policy.max_receive_count, &retries))
            }
            (None, None) => Err(anyhow!(
                "--watch: {} has no redrive policy that says how often it retries: pass --wait",
                to.name()
            )),
        }
    }
}

/// Reads the retry settings of the function that the queue feeds. Defaults to redrive's own: another consumer may wait as long.
async fn retries(aws: &Aws, pair: &Pair, to: &Queue) -> anyhow::Result<Retries> {
    let of_function = match pair.source().is_ok_and(|source| source.arn == to.arn) {
        true => of_function(aws, pair, to).await,
        false => Ok(None),
    };
    if let Ok(Some(retries)) = of_function {
        return Ok(retries);
    }
    if let Err(error) = of_function {
        tell(format_args!("warning: --wait assumes redrive's default backoff: {error:#}"));
    }
    Ok(Retries::from_variables(&to.arn, |_| None)?)
}

async fn of_function(aws: &Aws, pair: &Pair, to: &Queue) -> anyhow::Result<Option<Retries>> {
    let Some(function) = pair.function(aws).await? else { return Ok(None) };
    let read = aws.lambda().get_function_configuration().function_name(&function).send().await;
    let read =
        read.describe_error(&format!("read the backoff of {function}"), "lambda:GetFunctionConfiguration")?;
    let variables = read.environment.and_then(|environment| environment.variables).unwrap_or_default();
    let retries = Retries::from_variables(&to.arn, |name| variables.get(name).cloned());
    Ok(Some(retries.with_context(|| format!("function {function}"))?))
}

/// Computes the longest wait: after each attempt the visibility timeout, or more if the consumer backs off.
fn longest(visibility_timeout: Duration, max_receive_count: u32, retries: &Retries) -> Duration {
    let mut longest = LAST_RECEIVE;
    for attempt in 1..=max_receive_count {
        let delay = match retries.after(attempt, 1.0) {
            Retry::In(delay) => delay,
            _ => Duration::ZERO,
        };
        longest += visibility_timeout.max(delay);
        if longest >= LONGEST_WAIT {
            return LONGEST_WAIT;
        }
    }
    longest
}

/// Result of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// No letter returned.
    Clear,
    /// Some letters of the stages so far returned.
    CameBack,
    /// Number of new letters in the dead-letter queue that SQS does not return.
    Hidden(u64),
    /// Number of messages in the queue, which has not fallen since the stage was sent.
    NoProgress(u64),
    /// Number of messages that are still in the queue, perhaps those of the stage.
    Unsettled(u64),
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::CameBack => "came-back",
            Self::Hidden(_) => "more-letters",
            Self::NoProgress(_) => "no-progress",
            Self::Unsettled(_) => "unsettled",
        }
    }
}

/// A stage that was sent.
struct Stage<'a> {
    aws: &'a Aws,
    pair: &'a Pair,
    job: &'a LetterRun,
    /// `stage 1 of 3`
    name: String,
    sent: usize,
    wait: Duration,
    /// Messages in the queue before the stage.
    before: u64,
    /// Letters in the dead-letter queue before, without those that were sent: one may return before the watch begins.
    dead_before: u64,
}

/// Sends letters stage by stage.
///
/// # Errors
/// Some letters returned or could not be sent, or the run was interrupted.
pub(super) async fn run(
    aws: &Aws,
    pair: &Pair,
    mut job: LetterRun,
    watching: &Watching,
    wait: Duration,
) -> Result<(), Problem> {
    let Stages(stages) = watching.stages();
    let (most, mut stop) = (job.selection.most, Stop::listen().or_failed()?);
    let (start, counted) = (SystemTime::now(), job.from.counted());
    job.sent_back = Some(RefCell::default());
    for (number, stage) in (1..).zip(&stages) {
        let name = format!("stage {number} of {}", stages.len());
        let (source, dead) =
            tokio::try_join!(target(&job)?.refresh(aws), job.from.refresh(aws)).or_failed()?;
        let (before, dead_before) = (source.counted(), dead.counted());
        let sent_before = sent_back(&job)?.borrow().len();
        job.selection.most = stage.or(most);
        if number > 1 {
            // The rest is selected again, because others may have changed the queue.
            job.from = dead;
            // A letter that SQS moved meanwhile may keep the sent time of its message, which is long before.
            let rest = counted.saturating_sub(sent_before as u64);
            job.selection.most = Some(job.selection.most.map_or(rest, |most| most.min(rest)));
        }
        // The next stage has its own listener, so a signal that arrived just now must not be lost.
        if stop.is_wanted() {
            return Err(stop.or_failed(anyhow!("{name}: interrupted before it was sent")));
        }
        let ran = run_job(aws, &job).await;
        stop = Stop::listen().or_failed()?;
        let sent = sent_back(&job)?.borrow().len() - sent_before;
        let has_returned = sent_back(&job)?.borrow().returned().count() > 0;
        let failed = match ran {
            Ok(()) if sent == 0 && !has_returned => break,
            Ok(()) => None,
            Err(problem) if matches!(problem, Problem::Ended(..)) || sent == 0 && !has_returned => {
                return Err(problem);
            }
            Err(problem) => Some(problem),
        };
        let began = Instant::now();
        let dead_before = dead_before.saturating_sub(sent as u64);
        let shown = Stage { aws, pair, job: &job, name, sent, wait, before, dead_before };
        let verdict = match has_returned {
            true => Ok(Verdict::CameBack),
            false => shown.watch(&mut stop).await,
        };
        let reported = verdict.and_then(|verdict| shown.report(verdict, number, began.elapsed()));
        match (failed.filter(|_| !has_returned), reported) {
            (Some(failed), Ok(())) => return Err(failed),
            (Some(failed), Err(Problem::Failed(error))) if !failed.is_broken_pipe() => {
                return Err(Problem::Failed(anyhow!("{failed}; {error:#}")));
            }
            (_, reported) => reported?,
        }
        sent_back(&job)?.borrow_mut().began = Some(start);
        let mut ids = job.selection.ids.take();
        ids.iter_mut()
            .for_each(|ids| sent_back(&job).into_iter().for_each(|sent| sent.borrow().remove_from(ids)));
        job.selection.ids = ids;
        job.allow_none = true;
    }
    Ok(())
}

fn sent_back(job: &LetterRun) -> Result<&RefCell<SentBack>, Problem> {
    job.sent_back.as_ref().context("nothing is watched").or_failed()
}

fn target(job: &LetterRun) -> Result<&Queue, Problem> {
    let route: Option<&Route> = job.work.route();
    Ok(&route.context("nothing is sent").or_failed()?.to)
}

impl Stage<'_> {
    async fn watch(&self, stop: &mut Stop) -> Result<Verdict, Problem> {
        let (from, to) = (&self.job.from, target(self.job)?);
        let began = Instant::now();
        tell(format_args!(
            "redrive: {}: watching {} for up to {} (--wait)",
            self.name,
            from.name(),
            span(self.wait)
        ));
        let mut vigil = Vigil::new(self.wait, self.dead_before);
        let mut fewest = self.dead_before;
        let progress = Progress::spinner("{spinner} {msg} ({elapsed})");
        progress.set_message(format!("{}: watching {}", self.name, from.name()));
        loop {
            tokio::select! {
                () = tokio::time::sleep(POLL.min(self.wait)) => (),
                () = stop.wanted() => return Err(stop.or_failed(self.interrupted())),
            }
            let counted = async { tokio::try_join!(from.refresh(self.aws), to.refresh(self.aws)) };
            let (dead, source) = counted.await.with_context(|| self.so_far()).or_failed()?;
            if stop.is_wanted() {
                return Err(stop.or_failed(self.interrupted()));
            }
            fewest = fewest.min(dead.counted());
            let step = vigil.step(began.elapsed(), dead.counted(), source.counted());
            if step == Step::Wait {
                continue;
            }
            let looked_at = began.elapsed();
            let seen = self.look(&dead).await?;
            if sent_back(self.job)?.borrow().returned().count() > 0 {
                return Ok(Verdict::CameBack);
            }
            let more = dead.counted().saturating_sub(fewest);
            let is_over = step == Step::Over;
            if more > 0 && (behind(&dead, seen) > 0 || is_over && (seen as u64) < dead.counted()) {
                return Ok(Verdict::Hidden(more));
            }
            if is_over {
                return Ok(match source.counted() {
                    0 => Verdict::Clear,
                    left if left >= self.before + self.sent as u64 => Verdict::NoProgress(left),
                    left => Verdict::Unsettled(left),
                });
            }
            vigil.looked(looked_at, began.elapsed(), dead.counted());
            // The look had its own listener for signals, which has ended.
            *stop = Stop::listen().or_failed()?;
        }
    }

    /// Receives all letters, notes those that returned, and returns the number of all.
    async fn look(&self, dead: &Receivable) -> Result<usize, Problem> {
        let sent_back = sent_back(self.job)?;
        let seen = with_lease(self.aws, dead, async |lease| {
            let mut look = Look::new(lease, self.pair.max_receive_count(), None);
            loop {
                let letters = look.next().await?;
                if letters.is_empty() {
                    return Ok(look.seen());
                }
                letters.iter().for_each(|letter| _ = sent_back.borrow_mut().note_return(letter));
            }
        });
        seen.await.map_err(|problem| match problem {
            Problem::Ended(error, signal) => Problem::Ended(error.context(self.so_far()), signal),
            Problem::Failed(error) => Problem::Failed(error.context(self.so_far())),
            problem => problem,
        })
    }

    fn interrupted(&self) -> anyhow::Error {
        anyhow!("{}: interrupted", self.so_far())
    }

    fn returned(&self) -> (Returned, usize) {
        let sent = self.job.sent_back.as_ref().map(RefCell::borrow);
        sent.map_or_else(Default::default, |sent| (sent.returned(), sent.len()))
    }

    fn so_far(&self) -> String {
        let (returned, sent) = self.returned();
        format!("{}: {} so far; run it again for the rest", self.name, returned.words(sent))
    }

    /// Reports the result of a stage.
    ///
    /// # Errors
    /// The run must not send more letters.
    fn report(&self, verdict: Verdict, number: usize, took: Duration) -> Result<(), Problem> {
        let (returned, all) = self.returned();
        if self.job.json {
            print_json(&json!({ "stage": {
                "number": number,
                "sent": self.sent,
                "sent_in_all": all,
                "result": verdict.name(),
                "came_back": returned.count(),
                "same_error": returned.same_error,
                "other_error": returned.other_error,
                "unknown_error": returned.unknown_error,
                "watched_seconds": took.as_secs(),
            }}))?;
        }
        let Self { name, sent, .. } = self;
        let to = target(self.job)?.name();
        let from = self.job.from.name();
        let problem = match verdict {
            Verdict::Clear => {
                tell(format_args!(
                    "redrive: {name}: none of {} came back within {}",
                    letters(*sent),
                    span(took)
                ));
                return Ok(());
            }
            Verdict::CameBack => returned.words(all),
            Verdict::Hidden(more) => format!(
                "{from} has {} more, and SQS does not return all: they are in flight, or behind others of their group",
                letters(usize::try_from(more).unwrap_or(usize::MAX))
            ),
            Verdict::Unsettled(left) => format!(
                "{to} still has {} after {}, so not all letters may have been tried",
                counted(usize::try_from(left).unwrap_or(usize::MAX), "message"),
                span(took)
            ),
            Verdict::NoProgress(left) => format!(
                "{to} has {} after {}, no fewer than with this stage: does a consumer receive them?",
                counted(usize::try_from(left).unwrap_or(usize::MAX), "message"),
                span(took)
            ),
        };
        Err(Problem::Failed(anyhow!("{name}: {problem}; the other letters stay in {from}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_numbers_with_all_at_the_end() {
        for (text, expected) in [
            ("10,100,all", Some(vec![Some(10), Some(100), None])),
            ("all", Some(vec![None])),
            ("1, 2", Some(vec![Some(1), Some(2)])),
            ("all,1", None),
            ("0", None),
            ("", None),
            ("-1", None),
        ] {
            assert_eq!(text.parse().ok(), expected.map(Stages), "{text}");
        }
    }

    #[test]
    fn the_question_names_the_stages() {
        let words = |stages: Option<&str>| {
            let stages = stages.map(|stages| stages.parse().unwrap());
            Watching { watch: true, stages, wait: None }.words()
        };
        assert_eq!(words(Some("10,100,all")), " in stages of 10, 100 and the rest");
        assert_eq!(words(Some("10")), "");
        assert_eq!(words(None), "");
    }

    #[test]
    fn the_wait_is_as_long_as_all_attempts() {
        let retries = |backoff: Option<&str>| {
            let set = |name: &str| backoff.filter(|_| name == "REDRIVE_BACKOFF").map(str::to_owned);
            Retries::from_variables("arn:aws:sqs:eu-west-1:123456789012:orders", set).unwrap()
        };
        let seconds = Duration::from_secs;
        let (default, minute) = (retries(None), retries(Some(r#"{"kind": "fixed", "delay": 60}"#)));
        assert_eq!(longest(seconds(480), 5, &default), seconds(5 * 480) + LAST_RECEIVE);
        assert_eq!(longest(seconds(30), 6, &default), seconds(4 * 30 + 32 + 64) + LAST_RECEIVE);
        assert!((190..=240).contains(&longest(seconds(1), 3, &minute).as_secs()));
        assert_eq!(longest(seconds(43_200), 1_000, &default), LONGEST_WAIT);
    }

    #[test]
    fn a_wait_has_bounds() {
        for wrong in ["0", "13h", "soon"] {
            assert!(wait(wrong).is_err(), "{wrong}");
        }
        assert_eq!(wait("90s"), Ok(Duration::from_secs(90)));
    }
}
