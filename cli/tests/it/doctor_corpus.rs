//! `redrive doctor` over the templates of `cli/tests/doctor/corpus/`, each with exactly what is expected beside it.
//!
//! A template is `NAME.yaml` or `NAME.json` with `NAME.expected`, or with files of its own `NAME/template.yaml` with
//! `NAME/expected`. `NAME.patch` says how NAME.json differs from another (a JSON Patch, RFC 6902). Where NAME begins with `fix-`, fixes are expected too. A first line `# redrive doctor ARGUMENTS` gives arguments. `UPDATE=1` writes all expectations anew.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::{env, fs};

use json_patch::Patch;
use serde::Deserialize;
use serde_json::Value;

/// What a template may begin with.
const ARGUMENTS: &str = "# redrive doctor ";

struct Template {
    path: PathBuf,
    expected: PathBuf,
}

fn templates(corpus: &Path) -> Vec<Template> {
    let entries = fs::read_dir(corpus).expect("the corpus is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    let template = |path: PathBuf| {
        if path.is_dir() {
            return Some(Template { expected: path.join("expected"), path: path.join("template.yaml") });
        }
        let expected = path.with_extension("expected");
        assert!(
            path != expected
                || ["yaml", "json", "patch"].iter().any(|kind| path.with_extension(kind).exists()),
            "{} has no template",
            path.display()
        );
        (path != expected).then_some(Template { path, expected })
    };
    paths.into_iter().filter_map(template).collect()
}

#[derive(Deserialize)]
struct Patched {
    base: String,
    patch: Patch,
}

/// Writes what a patch makes of its base.
fn patched(path: &Path, folder: &Path) -> PathBuf {
    let read = |path: &Path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let Patched { base, patch } = serde_json::from_slice(&read(path)).expect("it is a patch");
    let mut template: Value = serde_json::from_slice(&read(&path.with_file_name(base))).expect("it is JSON");
    json_patch::patch(&mut template, &patch).expect("it fits its base");
    let written = folder.join(path.file_name().expect("it is a file")).with_extension("json");
    fs::write(&written, template.to_string()).expect("the folder is ours");
    written
}

/// A line for each finding and each note, or why the template is refused.
fn told(path: &Path) -> String {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let is_patch = path.extension().is_some_and(|kind| kind == "patch");
    let path = &if is_patch { patched(path, folder.path()) } else { path.to_owned() };
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let arguments = text.lines().next().and_then(|line| line.strip_prefix(ARGUMENTS)).unwrap_or_default();
    let name = path.file_name().expect("it is a file").to_string_lossy();
    let output = Command::new(env!("CARGO_BIN_EXE_redrive"))
        .args(["doctor", "--json", "--template"])
        .arg(&*name)
        .args(arguments.split_whitespace())
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
        if name.starts_with("fix-") {
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

/// The lines that only one of two texts has.
fn difference(expected: &str, told: &str) -> String {
    let only = |mark: char, one: &str, other: &str| {
        let lines = one.lines().filter(|line| other.lines().all(|it| it != *line));
        lines.fold(String::new(), |all, line| all + &format!("  {mark} {line}\n"))
    };
    let lines = only('-', expected, told) + &only('+', told, expected);
    if lines.is_empty() { "  the same lines, in another order or number\n".to_owned() } else { lines }
}

#[test]
fn each_template_of_the_corpus_is_told_exactly_what_is_expected() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doctor/corpus");
    let templates = templates(&corpus);
    assert!(templates.len() >= 60, "{} templates are no corpus", templates.len());
    let update = env::var_os("UPDATE").is_some();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let wrong = thread::scope(|scope| {
        let share = |worker| templates.iter().skip(worker).step_by(workers);
        let work = |worker| scope.spawn(move || share(worker).filter_map(|it| judge(it, update)).collect());
        let workers: Vec<_> = (0..workers).map(work).collect();
        workers.into_iter().map(|it| it.join().expect("no panic")).collect::<Vec<String>>().concat()
    });
    assert!(wrong.is_empty(), "- is expected, + is told:\n{wrong}");
}

/// How it is not as expected.
fn judge(Template { path, expected }: &Template, update: bool) -> Option<String> {
    let told = told(path);
    if update {
        fs::write(expected, &told).expect("it can be written");
    }
    let wanted = fs::read_to_string(expected).unwrap_or_default();
    (!expected.exists() || wanted != told)
        .then(|| format!("{}\n{}", path.display(), difference(&wanted, &told)))
}
