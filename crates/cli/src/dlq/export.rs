//! `redrive dlq export`.

use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use clap::Args;

use super::condition::{self, ConditionFilter, Verdict, Where, without_note};
use super::letter::unchecked_origins;
use super::line::LetterLine;
use super::look::{Look, not_seen};
use super::select::AllowNone;
use crate::find::Which;
use crate::flags::{MayMove, Origins};
use crate::letters::no_match;
use crate::output;
use crate::problem::{OrProblem, Problem};
use crate::scratch::Scratch;
use crate::sqs::{Receivable, with_lease};
use crate::tell::{letters, tell};
use crate::wait::wait;

/// Writes exact copies of dead letters to a file, and leaves them in the queue.
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  redrive dlq export --stack shop letters.jsonl
  redrive dlq export --queue orders --where 'reason = malformed' - | gzip > letters.jsonl.gz

Each line is a JSON object with a letter's body as a string, all message attributes (binary ones as base64), group and
deduplication id, trace header, and what is known about its failure. `redrive dlq import` sends them again. The file appears
under its name once it is complete, and only you may read and write it (mode 0600). Export does not overwrite an existing
file and does not follow a link.

{}

Exit codes: 0 done, 1 failed or incomplete, 2 wrong usage or input, 3 no letter matches --where (and no file is written),
130 interrupted.", condition::HELP))]
pub(crate) struct Arguments {
    /// File to write, - for stdout
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    conditions: Where,

    #[command(flatten)]
    none: AllowNone,

    #[command(flatten)]
    origins: Origins,

    #[command(flatten)]
    sure: MayMove,

    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let conditions = arguments.conditions.parse()?;
    let origin_senders = arguments.origins.senders()?;
    if arguments.file.as_os_str() != "-" && arguments.file.exists() {
        return Err(Problem::Input(exists(&arguments.file)));
    }
    wait(async {
        let (aws, pair) = arguments.which.find().await?;
        let queue = &Receivable::ask(pair.dead().or_input()?.clone(), arguments.sure.yes())?;
        let now = SystemTime::now();
        let mut filter = ConditionFilter::new(conditions);
        let (mut written, mut unchecked) = (0_usize, 0);
        let (output, seen) = with_lease(&aws, queue, async |lease| {
            // The file is not created earlier, because a signal would leave it behind.
            let mut output = Output::open(&arguments.file).or_input()?;
            let mut look = Look::new(lease, pair.max_receive_count(), origin_senders);
            loop {
                let found = look.next().await?;
                if found.is_empty() {
                    return Ok((output, look.seen()));
                }
                for letter in found.iter().filter(|letter| filter.judge(letter, now) == Verdict::Holds) {
                    output.write(&LetterLine::of(letter, queue.retention())).or_failed()?;
                    written += 1;
                    unchecked += u64::from(letter.has_unchecked_origin);
                }
            }
        })
        .await?;
        let not_seen = not_seen(queue, seen);
        let silent = without_note(filter.unknown(), "redrive dlq list --logs --json reads the log");
        filter.absent().iter().chain(&silent).for_each(tell);
        let is_unmatched = written == 0 && !filter.is_empty() && not_seen.is_none();
        if is_unmatched && !arguments.none.allowed {
            return Err(no_match(queue.name(), filter.reasons()));
        }
        output.finish().or_failed()?;
        tell(format_args!("exported {written} of {} in {}", letters(seen), queue.name()));
        if let Some(line) = unchecked_origins(unchecked) {
            tell(line);
        }
        match not_seen {
            None => Ok(()),
            Some(not_seen) => Err(Problem::Failed(anyhow!("incomplete: {not_seen}"))),
        }
    })
}

enum Output {
    Stdout,
    File { file: BufWriter<Scratch>, name: PathBuf },
}

impl Output {
    fn open(name: &Path) -> anyhow::Result<Self> {
        if name.as_os_str() == "-" {
            return Ok(Self::Stdout);
        }
        let file = Scratch::beside(name).with_context(|| format!("could not write {}", name.display()))?;
        Ok(Self::File { file: BufWriter::new(file), name: name.to_owned() })
    }

    fn write(&mut self, line: &LetterLine<'_>) -> anyhow::Result<()> {
        match self {
            Self::Stdout => output::print_json(line).context("could not write to stdout"),
            Self::File { file, name } => writeln!(file, "{}", output::json(line, serde_json::to_string)?)
                .with_context(|| format!("could not write {}", name.display())),
        }
    }

    /// Flushes the letters to the disk, because the user may purge the queue next.
    fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::Stdout => Ok(()),
            Self::File { file, name } => {
                let failed = || format!("could not write {}", name.display());
                let file = file.into_inner().map_err(|error| error.into_error()).with_context(failed)?;
                match file.persist(&name) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(exists(&name)),
                    persisted => persisted.with_context(failed),
                }
            }
        }
    }
}

fn exists(name: &Path) -> anyhow::Error {
    anyhow!("{} exists: choose another name, or remove it", name.display())
}
