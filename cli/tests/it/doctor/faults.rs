//! Faults, each put alone into the faultless template: it is found, and nothing else is.

mod alarms;
mod deliveries;
mod function;
mod queues;

use std::fs;

use tempfile::TempDir;

use super::{codes, findings, known};

const FAULTLESS: &str = include_str!("../../doctor/faultless.yaml");
const ABORTING: &str = "[package]\nname = \"work\"\n\n[workspace]\n\n[profile.release]\npanic = \"abort\"\n";

/// Its code, what of the faultless template becomes what, and what is found.
type Fault = (&'static str, &'static [(&'static str, &'static str)], &'static str);

fn all() -> impl Iterator<Item = &'static Fault> {
    [deliveries::FAULTS, queues::FAULTS, function::FAULTS, alarms::FAULTS].into_iter().flatten()
}

/// A folder with a `template.yaml` that has this fault.
pub(crate) fn folder_with(code: &str) -> TempDir {
    let fault = all().find(|(other, ..)| *other == code).expect("there is such a fault");
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("template.yaml"), template(fault)).expect("it can be written");
    fs::create_dir(folder.path().join("panic-abort")).expect("it can be made");
    fs::write(folder.path().join("panic-abort/Cargo.toml"), ABORTING).expect("it can be written");
    folder
}

fn template((code, changes, _): &Fault) -> String {
    changes.iter().fold(FAULTLESS.to_owned(), |template, (old, new)| {
        assert_eq!(template.matches(old).count(), 1, "{code}: the faultless template says {old:?} once");
        template.replace(old, new)
    })
}

#[test]
fn each_code_has_a_fault_for_which_it_alone_is_found() {
    // No template alone can drift: tools/faults.py shows it in a stack.
    let mut known: Vec<_> = known().into_iter().filter(|(code, _)| code != "stack-drifts").collect();
    known.sort();
    let mut faults: Vec<_> = all().collect();
    faults.sort();
    let of_faults: Vec<_> = faults.iter().map(|(code, ..)| *code).collect();
    assert_eq!(of_faults, known.iter().map(|(code, _)| code).collect::<Vec<_>>());
    let mut wrong = Vec::new();
    for ((code, level), (.., expected)) in known.iter().zip(faults) {
        let folder = folder_with(code);
        let path = folder.path().join("template.yaml");
        let mut arguments = vec!["--template", path.to_str().expect("it is text")];
        // Only from a region that is known can another one be told.
        arguments.extend((code == "dead-letter-queue-elsewhere").then_some("--region=eu-central-1"));
        let (report, exit) = findings(&arguments);
        let found = &report["findings"][0]["what"];
        if codes(&report) != [code] || exit != i32::from(level == "error") || found != expected {
            wrong.push(format!("{code}: exit {exit}, {:?}, {found}, {}", codes(&report), report["not_seen"]));
        }
        let (_, strict) = findings(&[&arguments[..], &["--strict"]].concat());
        let (spared, exit) = findings(&[&arguments[..], &["--ignore", code, "--strict"]].concat());
        assert_eq!((strict, codes(&spared).len(), exit), (1, 0, 0), "{code}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
