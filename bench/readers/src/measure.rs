//! Instructions by callgrind, and times in interleaved rounds.

use std::fmt::Write;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::batch::event::Batch;
use crate::{EVENTS, READERS, Read};

const ROUNDS: usize = 41;

pub(crate) fn read(reader: Read, batch: &Batch, times: usize) -> Duration {
    let text = String::from_utf8(batch.event()).expect("JSON is text");
    let mut room = Vec::with_capacity(text.len());
    let began = Instant::now();
    for _ in 0..times {
        black_box(reader(black_box(&text), &mut room));
    }
    began.elapsed()
}

/// A row for each reader; ratios are to the first.
pub(crate) fn table() -> anyhow::Result<String> {
    let mut table = "| reader |".to_owned();
    for (event, _) in EVENTS {
        write!(table, " instructions, {event} | ratio | time | ratio |")?;
    }
    table += &format!("\n| --- |{}\n", " --- |".repeat(4 * EVENTS.len()));
    let mut rows = READERS.map(|(name, _)| format!("| {name} |"));
    for (event, (_, batch)) in EVENTS.iter().enumerate() {
        let times = times(batch);
        let mut first = None;
        for (reader, row) in rows.iter_mut().enumerate() {
            let (instructions, time) = (instructions(reader, event)?, times[reader]);
            let (all, whole) = *first.get_or_insert((instructions, time));
            let (part, share) = (instructions / all, time / whole);
            let (thousands, microseconds) = (instructions / 1e3, time * 1e6);
            write!(row, " {thousands:.0} k | {part:.2} x | {microseconds:.1} µs | {share:.2} x |")?;
        }
    }
    Ok(table + &rows.join("\n") + "\n")
}

/// The difference of two runs has neither the start of the process nor the making of the event in it.
fn instructions(reader: usize, event: usize) -> anyhow::Result<f64> {
    let [once, more] = [1, 6].map(|times| total([reader, event, times]));
    Ok((more? - once?) as f64 / 5.0)
}

fn total(arguments: [usize; 3]) -> anyhow::Result<u64> {
    let file = std::env::temp_dir().join(format!("readers-{}.callgrind", std::process::id()));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe()?)
        .args(arguments.map(|argument| argument.to_string()))
        .output()
        .context("valgrind")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let profile = std::fs::read_to_string(&file)?;
    std::fs::remove_file(&file)?;
    let total = profile.lines().find_map(|line| line.strip_prefix("summary:"));
    Ok(total.context("the profile has no summary")?.trim().parse()?)
}

/// Seconds for one event, by reader: medians of rounds in which each reader has its turn.
fn times(batch: &Batch) -> [f64; READERS.len()] {
    let times = (20_000 / batch.messages).max(2);
    let mut rounds = [[0.0; ROUNDS]; READERS.len()];
    for round in 0..ROUNDS {
        for turn in 0..READERS.len() {
            let reader = (turn + round) % READERS.len();
            rounds[reader][round] = read(READERS[reader].1, batch, times).as_secs_f64() / times as f64;
        }
    }
    rounds.map(|mut rounds| {
        rounds.sort_by(f64::total_cmp);
        rounds[ROUNDS / 2]
    })
}
