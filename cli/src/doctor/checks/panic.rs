//! What a panic takes with it.

use crate::doctor::finding::{Check, Found, Level};

pub(in crate::doctor) const PANIC_ABORT: Check = Check {
    code: "panic-abort",
    level: Level::Error,
    title: "One panic takes its whole batch down",
    why: "redrive catches the panic of a handler and writes a dead letter for that message alone. With panic = \"abort\" \
          the process ends instead: every message of the batch is delivered again, and after maxReceiveCount panics all of \
          them are dead. cargo-lambda sets abort for release builds whose profile says nothing.",
    link: "https://doc.rust-lang.org/cargo/reference/profiles.html#panic",
    mend: "Set panic = \"unwind\" under [profile.release], in the manifest of the workspace if there is one.",
    find: |subject| {
        let mut found = Vec::new();
        for function in &subject.functions {
            let Some(panics) = &function.panics else { continue };
            let (what, line) = match &panics.strategy {
                Some((strategy, line)) if strategy == "abort" => ("panic = \"abort\"", Some(*line)),
                None if panics.by_cargo_lambda => {
                    ("no panic = \"unwind\", and cargo-lambda makes it abort", None)
                }
                Some(_) | None => continue,
            };
            let manifest = panics.manifest.display().to_string();
            let what = format!("The release profile of {} has {what}.", function.id);
            found.push(Found { file: Some(manifest), line, ..Found::at_function(function, what) });
        }
        found
    },
};
