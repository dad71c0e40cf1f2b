//! `redrive verify`: sends messages through real queues to workers that are killed, and counts what happens to them.

mod crew;
mod history;
mod letters;
mod plan;
mod queues;
mod send;
mod tally;
mod worker;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use tokio::time::{Instant, sleep};

use crate::ask::{Yes, confirm};
use crate::aws::{Aws, Place};
use crate::counted::{counted, thousands};
use crate::flags::Output;
use crate::output::Progress;
use crate::problem::{OrProblem, Problem};
use crate::sqs::Stop;
use crate::tell::{print_json, print_line, tell};
use crate::wait::wait;
use crew::Crew;
use letters::Letters;
use plan::{DELAY, NEXT_DELAY, Plan, VISIBILITY};
use queues::Queues;
use tally::{Evidence, Faults, Sent, Tally, tally};

pub(crate) use worker::worker;

/// Sends messages through new queues to workers that are killed, and counts what happens to them.
#[derive(Debug, Args)]
#[command(mut_arg("json", |json| json.help("Print a JSON object")), after_help = "\
Examples:
  redrive verify --profile staging
      creates four queues in your account, sends 1,000 messages, and deletes the queues
  redrive verify --endpoint-url http://127.0.0.1:4566
      asks an emulator the same
  redrive verify --profile staging --messages 100000 --kills 50

Two workers of redrive poll a standard queue and a FIFO queue. Their handlers succeed, fail once, fail always, reject, or take
longer than the visibility timeout. Meanwhile, workers are killed and replaced. At the end, each message must have been
handled, or be in the dead-letter queue if its handler always fails.

Messages count as attempted, acknowledged (SQS confirmed the send), recovered (not acknowledged, but received) and duplicated
(handled again because a worker was killed before it deleted the message, or because the message was sent again). Faults are
messages that SQS did not accept, that were lost, duplicated without such a cause, out of order, received before their delay was over,
received with a wrong receive count, dead-lettered by mistake, unexpected, or left in the queue. SQS may rarely duplicate a message of a standard queue by itself.

Exit codes: 0 no fault, 1 faults or failed, 2 wrong usage or input, 130 interrupted.")]
pub(crate) struct Arguments {
    /// Messages to send, 100 to 100000
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(100..=100_000))]
    messages: u64,

    /// How many workers are killed, 0 to 100
    #[arg(long, value_name = "NUMBER", default_value_t = 5, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..=100))]
    kills: u32,

    /// Prefix of the names of the queues
    #[arg(long, value_name = "NAME", default_value = "redrive-verify", value_parser = prefix)]
    prefix: String,

    #[command(flatten)]
    sure: Yes,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    place: Place,
}

/// Interval between looks at the workers.
const LOOK: Duration = Duration::from_millis(500);

/// Time without an end of a message after which the rest is given up, besides the delays of the plan.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time in which a message that was not deleted returns.
const LATE: Duration = Duration::from_secs(2 * VISIBILITY.as_secs());

/// Time from the start in which SQS remembers all deduplication ids, with a minute to spare.
const REPEATED: Duration = Duration::from_secs(240);

/// Time after which the counts of a queue are right. AWS says that they take about a minute.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html>
const COUNTED: Duration = Duration::from_secs(90);

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    wait(async {
        let aws = Aws::connect(&arguments.place).await.or_input()?;
        let requests = arguments.messages * 4 + u64::from(arguments.kills) * 20 + 500;
        let requests = counted(usize::try_from(requests).unwrap_or(usize::MAX), "request");
        if aws.is_aws() && !arguments.sure.yes {
            let question = format!("create four queues and send about {requests} to SQS in {}", aws.here());
            confirm(&question, "The queues are deleted afterwards.", "nothing was created")?;
        }
        let stop = Stop::listen().or_failed()?;
        let run = format!("{}-{:08x}", arguments.prefix, fastrand::u32(..));
        let plan = Plan::new(usize::try_from(arguments.messages).unwrap_or(usize::MAX), arguments.kills);
        tell(format_args!("redrive: the names of the queues begin with {run}"));
        let folder = tempfile::Builder::new().prefix("redrive-verify-").tempdir();
        let folder = folder.context("could not create a folder").or_failed()?;
        let queues = Queues::create(&aws, &run, plan.max_receive_count).await.or_failed()?;
        let began = Instant::now();
        let verification =
            Verification { arguments, aws: &aws, queues: &queues, plan: &plan, run: &run, stop: &stop };
        let verified = verification.run(folder.path()).await;
        queues.delete(&aws).await;
        let tally = verified.map_err(|error| stop.or_failed(error))?;
        let reported = report(arguments, &tally, began.elapsed());
        if !tally.faults.is_empty() {
            let kept = folder.keep();
            return Err(Problem::Failed(anyhow!(
                "there were faults; what the workers did is in {}",
                kept.display()
            )));
        }
        reported
    })
}

#[derive(Debug, Clone, Copy)]
struct Verification<'a> {
    arguments: &'a Arguments,
    aws: &'a Aws,
    queues: &'a Queues,
    plan: &'a Plan,
    run: &'a str,
    stop: &'a Stop,
}

impl Verification<'_> {
    async fn run(&self, folder: &Path) -> anyhow::Result<Tally> {
        let (aws, queues, plan) = (self.aws, self.queues, self.plan);
        let mut crew = Crew::start(folder, queues, &self.arguments.place)?;
        let letters = Letters::default();
        let once = aws.with_attempts(1).sqs();
        let sending = send::send(&once, queues, plan, self.run);
        let receiving = letters.receive(aws, queues);
        tokio::pin!(sending, receiving);
        let bar = Progress::bar(plan.messages.len() as u64, "handled {pos} of {len}  [{bar:40}]");
        let (began, mut sends) = (Instant::now(), None);
        // The number of messages that have not ended, and since when.
        let (mut open, mut finished) = ((usize::MAX, Instant::now()), None);
        while finished.is_none_or(|at: Instant| at.elapsed() < LATE) {
            tokio::select! {
                biased;
                () = self.stop.wanted() => return Err(anyhow!("interrupted")),
                sent = &mut sending, if sends.is_none() => sends = Some(sent),
                error = &mut receiving => return Err(error),
                () = sleep(LOOK) => {}
            }
            let ended = crew.look()?;
            bar.set(ended.min(plan.messages.len()) as u64, plan.messages.len() as u64);
            let kills = self.arguments.kills as usize;
            if crew.kills() < kills && ended * (kills + 1) >= plan.messages.len() * (crew.kills() + 1) {
                crew.kill_one().await?;
            }
            let Some(sends) = &sends else { continue };
            let left = self.tally(sends, &crew, &letters, 0).faults.lost.len();
            if left != open.0 {
                open = (left, Instant::now());
            }
            let is_over = left == 0 && crew.kills() == kills || open.1.elapsed() > self.patience();
            if finished.is_none() && is_over {
                if began.elapsed() < REPEATED {
                    send::repeat(&once, queues, plan, self.run).await;
                }
                finished = Some(Instant::now());
            }
        }
        drop(bar);
        crew.end().await?;
        let sends = sends.unwrap_or_default();
        let left = self.left().await?;
        Ok(self.tally(&sends, &crew, &letters, left))
    }

    fn patience(&self) -> Duration {
        PATIENCE + DELAY + (NEXT_DELAY + LOOK * 2) * self.plan.max_receive_count
    }

    fn tally(&self, sends: &[Sent], crew: &Crew<'_>, letters: &Letters, left: u64) -> Tally {
        let letters = letters.all();
        tally(&Evidence { plan: self.plan, sends, workers: &crew.workers, letters: &letters, left })
    }

    /// Counts what is left in the queues, once AWS knows.
    async fn left(&self) -> anyhow::Result<u64> {
        let until = Instant::now() + if self.aws.is_aws() { COUNTED } else { Duration::ZERO };
        loop {
            match self.queues.left(self.aws).await? {
                left if left > 0 && Instant::now() < until => sleep(LOOK * 4).await,
                left => return Ok(left),
            }
        }
    }
}

fn report(arguments: &Arguments, tally: &Tally, took: Duration) -> Result<(), Problem> {
    if arguments.output.json {
        return print_json(tally);
    }
    let Tally { attempted, kills, acknowledged, recovered, handled, dead_lettered, duplicated, faults } =
        tally;
    print_line(format!(
        "{}, {}, {} s",
        counted(*attempted, "message"),
        counted(*kills, "kill"),
        took.as_secs()
    ))?;
    let counts = [
        ("acknowledged", acknowledged),
        ("recovered", recovered),
        ("handled", handled),
        ("dead-lettered", dead_lettered),
        ("duplicated, with a cause", duplicated),
    ];
    counts.iter().try_for_each(|(name, count)| line(name, **count, &[]))?;
    let Faults { unexpected, left_in_queue, .. } = faults;
    let numbers = [
        ("not accepted by SQS", &faults.not_accepted),
        ("lost", &faults.lost),
        ("duplicated without a cause", &faults.duplicated_without_cause),
        ("out of order", &faults.out_of_order),
        ("before its delay was over", &faults.before_delay),
        ("wrong receive count", &faults.wrong_receive_count),
        ("dead-lettered by mistake", &faults.dead_lettered_by_mistake),
    ];
    numbers.iter().try_for_each(|(name, numbers)| {
        let first: Vec<_> = numbers.iter().take(5).map(ToString::to_string).collect();
        line(name, numbers.len(), &first)
    })?;
    line("unexpected", unexpected.len(), &unexpected.iter().take(5).cloned().collect::<Vec<_>>())?;
    line("left in the queue", usize::try_from(*left_in_queue).unwrap_or(usize::MAX), &[])
}

/// Prints a count, and examples.
fn line(name: &str, count: usize, examples: &[String]) -> Result<(), Problem> {
    let such_as = if examples.is_empty() { String::new() } else { format!("  {}", examples.join(", ")) };
    print_line(format!("   {name:<28}{:>8}{such_as}", thousands(count)))
}

fn prefix(text: &str) -> Result<String, &'static str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match (1..=50).contains(&text.len()) && text.chars().all(is_allowed) {
        true => Ok(text.to_owned()),
        false => Err("allowed: 1 to 50 letters, digits, - and _"),
    }
}
