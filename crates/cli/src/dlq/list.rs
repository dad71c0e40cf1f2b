//! `redrive dlq list`.

mod all;
mod row;
mod table;

use std::time::SystemTime;

use clap::Args;

use self::row::Row;
use self::table::Table;
use super::condition::{self, ConditionFilter, Conditions, Verdict, Where, without_note};
use super::letter::{Letter, unchecked_origins};
use super::line::LetterLine;
use super::logs::{Logs, TOGETHER, named_function};
use super::look::{Look, not_seen};
use crate::aws::Aws;
use crate::counted::thousands;
use crate::find::{Queue, WhichOrAll};
use crate::flags::{LogGroup, MayMove, Origins, Output};
use crate::fleet::seen::{Seeing, remember};
use crate::letters::Kinds;
use crate::output::{self, Stream};
use crate::problem::{OrProblem, Problem};
use crate::shell::word;
use crate::sqs::{LetterLease, Receivable, with_lease};
use crate::tell::{letters, print_json, tell};
use crate::wait::wait;
use crate::width::Wide;

/// Shown as the error of a letter without a note if the log does not mention it.
const NOTHING: &str = "nothing in the log";

/// Number of letters that are received in search of a note that names the function.
const UNNAMED: usize = 10 * TOGETHER;

/// Default number of letters in a table.
const ROWS: usize = 100;

/// Lists dead letters with their reasons, and leaves them in the queue.
#[derive(Debug, Args)]
#[command(mut_arg("log_group", |group| group.requires("logs")), mut_arg("json", |json| json.help("Print a JSON object for each letter, as export does")), after_help = format!("\
Examples:
  redrive dlq list --stack shop
      shows what failed and how often, then the letters, soonest to expire first
  redrive dlq list --stack shop --logs --where 'error ~ timeout' --where 'age < 1h'
      adds errors from the function's log to letters that SQS moved, which have no note
  redrive dlq list --all --profile shop --profile billing
      groups the errors of all dead-letter queues in two accounts, from up to 100 letters per queue
  redrive dlq list --queue orders --json | jq -r 'select(.attributes.tenant == \"acme\") | .id' |
    redrive dlq retry --queue orders --ids - --yes
      sends back the letters that your own filter selects

On a terminal, the tables fit its width: ids are cut if needed, and a narrow terminal shows each letter on several lines.
--wide prints everything, one line per letter. Without a terminal, ids are whole and the body has 80 columns.

Letters are received and made visible again at once, even on Ctrl-C. This raises their receive count. If the dead-letter
queue has its own redrive policy, SQS moves letters after some receives: list asks first, and --all skips the queue. On a FIFO
queue, only the first ten letters of each group can be
received.

{}

Exit codes: 0 done, 1 failed, 2 wrong usage or input, 130 interrupted.", condition::HELP))]
pub(crate) struct Arguments {
    #[command(flatten)]
    conditions: Where,

    /// Receive letters from all dead-letter queues and group their errors; --profile and --region may be repeated
    #[arg(long, group = "Which", conflicts_with_all = ["queue", "stack", "function", "dead_letter_queue", "logs", "body", "may_move"])]
    all: bool,

    /// Letters to print, or with --all, letters to receive from each queue [default: 100; all with --json, unless --all]
    #[arg(long, value_name = "N")]
    max: Option<usize>,

    /// Columns for the body, 0 for none [default: the rest of the terminal, 80 without one]
    #[arg(long, value_name = "COLUMNS", conflicts_with = "json")]
    body: Option<usize>,

    /// Look up in the function's log why letters without a note failed; if the log cannot be read, only warn
    #[arg(long)]
    logs: bool,

    #[command(flatten)]
    log: LogGroup,

    #[command(flatten)]
    origins: Origins,

    #[command(flatten)]
    wide: Wide,

    #[command(flatten)]
    sure: MayMove,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    which: WhichOrAll,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let conditions = arguments.conditions.parse()?;
    let origin_senders = arguments.origins.senders()?;
    if arguments.all {
        return wait(all::list(arguments, conditions, origin_senders));
    }
    let which = arguments.which.only()?;
    wait(async {
        let (aws, pair) = which.find().await?;
        let queue = pair.dead().or_input()?.clone();
        let queue = Receivable::ask(queue, arguments.sure.yes())?;
        let logs = match arguments.logs {
            true => Some(Logs::find(&aws, &pair, arguments.log.group.as_deref()).await),
            false => None,
        };
        let mut listing = Listing::new(arguments, conditions, &queue, &aws, logs);
        with_lease(&aws, &queue, async |lease| {
            listing.receive(Look::new(lease, pair.max_receive_count(), origin_senders), lease).await
        })
        .await?;
        let seen = listing.seeing.seen(&queue.arn, queue.visible(), listing.now);
        listing.finish()?;
        remember(&aws, seen.as_slice()).await;
        Ok(())
    })
}

fn warn_unread(error: &anyhow::Error) {
    tell(format_args!("warning: the log was not read: {error:#}"));
}

/// State of the listing.
struct Listing<'a> {
    arguments: &'a Arguments,
    filter: ConditionFilter,
    queue: &'a Queue,
    aws: &'a Aws,
    logs: Option<Logs>,
    /// The error of finding the log, as long as a note may still name it.
    no_logs: Option<anyhow::Error>,
    now: SystemTime,
    kinds: Kinds,
    table: Table,
    seen: usize,
    matching: usize,
    unchecked_origins: u64,
    seeing: Seeing,
}

impl<'a> Listing<'a> {
    fn new(
        arguments: &'a Arguments,
        conditions: Conditions,
        queue: &'a Queue,
        aws: &'a Aws,
        logs: Option<anyhow::Result<Logs>>,
    ) -> Self {
        let (logs, no_logs) = match logs {
            Some(Ok(logs)) => (Some(logs), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        let now = SystemTime::now();
        let table = Table::new(arguments.max.unwrap_or(ROWS));
        let (kinds, seen, matching, unchecked_origins) = (Kinds::default(), 0, 0, 0);
        let filter = ConditionFilter::new(conditions);
        Self {
            arguments,
            filter,
            queue,
            aws,
            logs,
            no_logs,
            now,
            kinds,
            table,
            seen,
            matching,
            unchecked_origins,
            seeing: Seeing::default(),
        }
    }

    async fn receive(&mut self, mut look: Look<'_>, lease: &LetterLease) -> Result<(), Problem> {
        let mut waiting = Vec::new();
        while !self.is_enough() {
            let letters = look.next().await?;
            self.seen = look.seen();
            let is_last = letters.is_empty();
            waiting.extend(letters);
            if is_last || self.are_enough(&waiting) {
                // Reading a log may take a minute.
                tokio::select! {
                    added = self.add(std::mem::take(&mut waiting)) => added?,
                    () = lease.stopped() => return Ok(()),
                }
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }

    /// True if the letters can be listed: the log can be asked about them, or is not needed.
    fn are_enough(&self, waiting: &[Letter]) -> bool {
        match (&self.logs, &self.no_logs) {
            (None, None) => true,
            (Some(_), _) => waiting.len() >= TOGETHER,
            (None, Some(_)) => {
                let is_named = waiting.iter().any(|letter| named_function(letter).is_some());
                waiting.len() >= if is_named { TOGETHER } else { UNNAMED }
            }
        }
    }

    /// True if no more letters are needed. A table needs all of them, for its totals.
    fn is_enough(&self) -> bool {
        self.arguments.output.json && self.arguments.max.is_some_and(|max| self.matching >= max)
    }

    async fn add(&mut self, mut letters: Vec<Letter>) -> Result<(), Problem> {
        if let Some(why) = self.no_logs.take() {
            let found = Logs::of_notes(self.aws, &letters).await;
            self.logs = found.and_then(|logs| logs.ok_or(why)).inspect_err(warn_unread).ok();
        }
        if let Some(logs) = &mut self.logs
            && let Err(error) = logs.join(&mut letters).await
        {
            // The letters can be listed without the log.
            warn_unread(&error);
            self.logs = None;
        }
        for letter in letters {
            self.seeing.add(&letter);
            if self.is_enough() || self.filter.judge(&letter, self.now) != Verdict::Holds {
                continue;
            }
            self.matching += 1;
            if self.arguments.output.json {
                self.unchecked_origins += u64::from(letter.has_unchecked_origin);
                print_json(&LetterLine::of(&letter, self.queue.retention()))?;
            } else if self.table.add(Row::of(&letter, self.queue.retention())) {
                self.kinds.add(&letter);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), Problem> {
        self.sum_up();
        if self.arguments.output.json || self.matching == 0 {
            return Ok(());
        }
        let hint = match (&self.logs, self.arguments.logs) {
            (Some(_), _) => NOTHING,
            (None, true) => "no note",
            (None, false) => "no note; --logs looks for the error",
        };
        let (layout, body) = (self.arguments.wide.layout(), self.arguments.body);
        let mut lines = self.kinds.lines(self.now, hint, layout);
        lines.push("".into());
        lines.extend(self.table.lines(self.now, layout, body));
        output::print_all(&lines).or_failed()?;
        if self.table.has_short_ids(self.now, layout, body) {
            tell("ids are cut to fit: dlq show accepts them, --wide prints them whole");
        }
        let (more, rows) = (self.table.left_out(), self.table.rows());
        if more > 0 {
            tell(format_args!("{} more not shown: --max {} lists them", thousands(more), more + rows));
        }
        if Stream::Stdout.is_terminal() {
            tell(self.next());
        }
        Ok(())
    }

    /// Suggests the next command for the listed letters. Only `list` reads errors from the log, so no other verb knows them.
    fn next(&self) -> String {
        let Arguments { which: WhichOrAll { which, .. }, origins, log, .. } = self.arguments;
        let (which, origins, conditions) = (which.typed(), origins.typed(), self.filter.conditions());
        let with: String =
            conditions.typed().map(|condition| format!(" --where {}", word(condition))).collect();
        let show = format!("next: redrive dlq show{which} ID");
        match self.arguments.logs && conditions.need_log() {
            false => format!("{show}; redrive dlq retry{which}{with}{origins} --dry-run"),
            true => format!(
                "{show}; redrive dlq list{which} --logs{}{with} --json | redrive dlq retry{which} --ids -{origins} --dry-run",
                log.typed()
            ),
        }
    }

    /// Prints remarks to stderr.
    fn sum_up(&self) {
        let (name, seen) = (self.queue.name(), letters(self.seen));
        if self.seen == 0 {
            tell(format_args!("no letters are visible in {name}"));
        } else if !self.filter.is_empty() {
            tell(format_args!("{} of {seen} in {name} match", thousands(self.matching)));
        } else if self.is_enough() {
            tell(format_args!("{} listed from {name}, which has more", letters(self.matching)));
        } else {
            tell(format_args!("{seen} in {name}"));
        }
        let advice = if self.arguments.logs { "the log was not read" } else { "--logs reads the log" };
        let silent = without_note(self.filter.unknown(), advice);
        self.filter.absent().iter().chain(&silent).for_each(tell);
        if let Some(reasons) = self.filter.reasons().filter(|_| self.matching == 0) {
            tell(reasons);
        }
        if let Some(not_seen) = not_seen(self.queue, self.seen).filter(|_| !self.is_enough()) {
            tell(format_args!("{not_seen}"));
        }
        if let Some(line) = unchecked_origins(self.unchecked_origins) {
            tell(line);
        }
        if let Some(logs) = self.logs.as_ref().filter(|logs| logs.cut_short) {
            let group = logs.group();
            tell(format_args!("warning: the log {group} was read only in part: select fewer letters"));
        }
        if self.table.folded() > 0 {
            let folded = letters(self.table.folded());
            tell(format_args!("{folded} hidden: duplicates of a listed letter"));
        }
    }
}
