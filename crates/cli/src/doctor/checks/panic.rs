//! Builds in which a panic ends the whole process.

use crate::doctor::feed::{Feed, redrive_feeds};
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::Redrive;

pub(in crate::doctor) const PANIC_ABORT: Check = Check {
    code: "panic-abort",
    level: Level::Error,
    title: "One panic fails its whole batch",
    why: Redrive(
        "redrive catches a panic of the handler and sends only that message to the dead-letter queue. With panic = \
         \"abort\" the process ends instead. Every message of the batch is delivered again, and after \
         maxReceiveCount panics all of them are dead letters. cargo-lambda sets abort for release builds whose \
         profile does not set panic.",
    ),
    link: "https://doc.rust-lang.org/cargo/reference/profiles.html#panic",
    fix: Redrive(
        "Set panic = \"unwind\" under [profile.release], in the workspace's Cargo.toml if there is one.",
    ),
    find: |deployment| {
        let mut found = Vec::new();
        for Feed { function, .. } in redrive_feeds(deployment) {
            let Some(panics) = &function.panics else { continue };
            let (what, line) = match &panics.strategy {
                Some((strategy, line)) if strategy == "abort" => ("sets panic = \"abort\"", Some(*line)),
                None if panics.by_cargo_lambda => {
                    ("does not set panic, so cargo-lambda sets \"abort\"", None)
                }
                Some(_) | None => continue,
            };
            let manifest = panics.manifest.display().to_string();
            let what = format!("The release profile of {} {what}.", function.id);
            found.push(Found::at(function, what).in_file(manifest, line));
        }
        found
    },
};
