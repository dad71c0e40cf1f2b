//! Runs `redrive doctor` on the templates of `crates/cli/tests/doctor/corpus/`, and compares the findings with `cases.txt`.
//!
//! `== NAME: ARGUMENTS` begins a case, where `NAME` is a file of this folder, or one of redrive's. `== NAME of ANOTHER` is another
//! case's template with changed lines as in a diff: lines after a space are context, those after `-` are removed, and those after
//! `+` are added. `@@` separates two places. Lines after `>` are the output: a finding or a note each, and fixes if NAME begins
//! with `fix-`. `UPDATE=1` rewrites them.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::{env, fs};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::running::root;

struct Case<'a> {
    name: &'a str,
    base: Option<&'a str>,
    arguments: &'a str,
    change: Vec<&'a str>,
    expected: Vec<&'a str>,
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doctor/corpus")
}

/// A file of the corpus, or else of the repository.
fn file(name: &str) -> PathBuf {
    let path = corpus().join(name);
    if path.exists() { path } else { root().join(name) }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn cases(text: &str) -> Vec<Case<'_>> {
    text.trim_end().split("\n\n").map(case).collect()
}

fn case(text: &str) -> Case<'_> {
    let mut lines = text.lines();
    let title = lines.next().and_then(|line| line.strip_prefix("== ")).unwrap_or_else(|| panic!("{text}"));
    let (title, arguments) = title.split_once(": ").unwrap_or((title, ""));
    let (name, base) = title.split_once(" of ").map_or((title, None), |(name, base)| (name, Some(base)));
    let (expected, lines): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with('>'));
    let change = lines.into_iter().filter(|line| !line.starts_with('#')).collect();
    Case { name, base, arguments, change, expected }
}

/// The text of a case's template.
fn template(cases: &[Case<'_>], name: &str) -> String {
    let case = cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case is {name}"));
    match case.base {
        Some(base) => changed(&template(cases, base), &case.change, name),
        None => read(&file(name)),
    }
}

pub(crate) fn changed(base: &str, change: &[&str], name: &str) -> String {
    let mut lines: Vec<&str> = base.lines().collect();
    for place in change.split(|line| *line == "@@").filter(|place| !place.is_empty()) {
        let marked = |marks: [char; 2]| {
            place.iter().filter(move |line| line.starts_with(marks)).map(|line| &line[1..])
        };
        let old: Vec<&str> = marked([' ', '-']).collect();
        let places: Vec<usize> = (0..lines.len()).filter(|at| lines[*at..].starts_with(&old)).collect();
        let [at] = places[..] else { panic!("{name}: {} places have {old:#?}", places.len()) };
        lines.splice(at..at + old.len(), marked([' ', '+']));
    }
    lines.join("\n") + "\n"
}

/// A case's template as a file of its own, in a folder that lives as long as this.
pub(crate) fn written(name: &str) -> (TempDir, PathBuf) {
    let text = read(&corpus().join("cases.txt"));
    write(&cases(&text), name)
}

fn write(cases: &[Case<'_>], name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join(name);
    fs::write(&path, template(cases, name)).expect("the folder is ours");
    (folder, path)
}

/// A line for each finding and each note, or why the template is refused.
fn told(case: &Case<'_>, path: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_redrive"))
        .args(["doctor", "--json", "--template"])
        .arg(path.file_name().expect("it is a file"))
        .args(case.arguments.split_whitespace())
        .current_dir(path.parent().expect("it is in a folder"))
        .output()
        .expect("it runs and ends");
    let Ok(report) = serde_json::from_slice::<Value>(&output.stdout) else {
        return String::from_utf8_lossy(&output.stderr).into_owned();
    };
    let text = |value: &Value| value.as_str().expect("it is a text").to_owned();
    let mut told = String::new();
    for finding in report["findings"].as_array().expect("it is a list") {
        let [level, code, what] = ["level", "code", "what"].map(|key| text(&finding[key]));
        let _ = writeln!(told, "{level} {code} {}: {what}", text(&finding["place"]["id"]));
        if case.name.starts_with("fix-") {
            let _ = writeln!(told, "  fix {}", text(&finding["fix"]));
        }
    }
    for notes in ["not_seen", "notes"] {
        for note in report[notes].as_array().expect("it is a list") {
            let _ = writeln!(told, "note {}", text(note));
        }
    }
    told
}

fn judged(cases: &[Case<'_>], case: &Case<'_>) -> Vec<String> {
    let (_folder, path) = match case.base {
        Some(_) => {
            let (folder, path) = write(cases, case.name);
            (Some(folder), path)
        }
        None => (None, file(case.name)),
    };
    told(case, &path).lines().map(|line| format!("> {line}")).collect()
}

#[test]
fn each_template_of_the_corpus_is_told_exactly_what_is_expected() {
    let path = corpus().join("cases.txt");
    let text = read(&path);
    let cases = &cases(&text);
    assert!(cases.len() >= 60, "{} cases are no corpus", cases.len());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let told: Vec<Vec<String>> = thread::scope(|scope| {
        let shares = cases.chunks(cases.len().div_ceil(workers));
        let work = |share: &'_ [Case<'_>]| share.iter().map(|case| judged(cases, case)).collect::<Vec<_>>();
        let workers: Vec<_> = shares.map(|share| scope.spawn(move || work(share))).collect();
        workers.into_iter().flat_map(|it| it.join().expect("no panic")).collect()
    });
    if env::var_os("UPDATE").is_some() {
        let anew = text.trim_end().split("\n\n").zip(&told).map(|(case, told)| {
            let kept = case.lines().filter(|line| !line.starts_with('>'));
            kept.chain(told.iter().map(String::as_str)).collect::<Vec<_>>().join("\n")
        });
        let anew = anew.collect::<Vec<_>>().join("\n\n") + "\n";
        return fs::write(path, anew).expect("it can be written");
    }
    let wrong = cases.iter().zip(told).filter(|(case, told)| case.expected != *told);
    let wrong: Vec<_> = wrong
        .map(|(case, told)| format!("{}\nexpected: {:#?}\ntold: {told:#?}", case.name, case.expected))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_code_is_found_in_a_template_of_the_corpus() {
    let listed = Command::new(env!("CARGO_BIN_EXE_redrive")).args(["doctor", "--list"]).output();
    let listed = String::from_utf8(listed.expect("it runs and ends").stdout).expect("it prints text");
    let text = read(&corpus().join("cases.txt"));
    let is_found =
        |code: &str| ["error", "warning"].iter().any(|level| text.contains(&format!("> {level} {code} ")));
    let codes = listed.lines().filter_map(|line| line.split_whitespace().next());
    // No template alone can drift.
    let missing: Vec<_> = codes.filter(|code| !is_found(code)).collect();
    assert_eq!(missing, ["stack-drifts"]);
}

#[test]
fn each_file_of_the_corpus_has_a_case() {
    let text = read(&corpus().join("cases.txt"));
    let cases = cases(&text);
    for entry in fs::read_dir(corpus()).expect("the corpus is there") {
        let path = entry.expect("it can be listed").path();
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        let name = if path.is_dir() { name + "/template.yaml" } else { name };
        assert!(name == "cases.txt" || cases.iter().any(|case| case.name == name), "{name}");
    }
}
