//! What could read an SQS event, compared by instructions and by time; run by `make bench-readers` from the root of the
//! repository. A workspace of its own, so that nothing else compiles the readers that are not used.

mod by_hand;
mod by_serde;
mod measure;

#[path = "../../src"]
#[allow(dead_code)]
mod batch {
    pub(crate) mod event;
}

use std::fs;

use anyhow::{Context, bail};

const DOCUMENT: &str = "bench/README.md";
const BEGIN: &str = "<!-- make bench-readers -->";
const END: &str = "<!-- /make bench-readers -->";

/// A way to read an event; answers the bytes of all bodies.
type Read = fn(&str, &mut Vec<u8>) -> usize;

const READERS: [(&str, Read); 5] = [
    ("`serde_json`", by_serde::serde_json),
    ("`sonic-rs`", by_serde::sonic),
    ("`simd-json`, on a copy", by_serde::simd),
    ("`jiter`", by_hand::jiter),
    ("redrive", by_hand::redrive),
];

const EVENTS: [(&str, batch::event::Batch); 2] = [
    ("10 x 1 KiB", batch::event::Batch { messages: 10, body: 1024, fail_every: 0 }),
    ("5,500 x 200 B", batch::event::Batch { messages: 5500, body: 200, fail_every: 0 }),
];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => {
            let table = measure::table()?;
            println!("{table}");
            let document = fs::read_to_string(DOCUMENT).context(DOCUMENT)?;
            let (before, rest) = document.split_once(BEGIN).context(BEGIN)?;
            let (_, after) = rest.split_once(END).context(END)?;
            fs::write(DOCUMENT, format!("{before}{BEGIN}\n{table}{END}{after}"))?;
        }
        [reader, event, times] => {
            let (_, batch) = EVENTS[event.parse::<usize>()?];
            measure::read(READERS[reader.parse::<usize>()?].1, &batch, times.parse()?);
        }
        _ => bail!("readers, or readers READER EVENT TIMES"),
    }
    Ok(())
}
