//! Checks that `redrive doctor` finds nothing in redrive's templates for users, each with its files. `doctor_corpus`
//! tests its findings in other templates, and in those that are deployed as they are.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::support::running::root;
use crate::support::{Ran, command};

const FAULTLESS: &str = include_str!("../doctor/corpus/faultless.yaml");

/// A folder with a template that has one fault, a warning.
pub(crate) fn folder_with_a_short_timeout() -> TempDir {
    let template = FAULTLESS.replace(r#"180""#, r#"60""#).replace("Timeout: 180", "Timeout: 60");
    folder(&[("template.yaml", &template)])
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("it can be written");
    }
    folder
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("it is there")
}

fn judged(folder: &TempDir, line: &str) -> Ran {
    Ran::of(command(line).current_dir(folder.path()))
}

#[test]
fn nothing_is_found_in_a_new_project() {
    let [template, manifest] = ["template.yaml", "Cargo.toml"].map(|file| {
        // As `cargo lambda new` leaves them.
        let text = text(&format!("examples/project/{file}"));
        text.replace("{{ project_name }}", "jobs").replace("{{ redrive }}", "\"1\"")
    });
    let project = folder(&[("template.yaml", &template), ("Cargo.toml", &manifest)]);
    let ran = judged(&project, "doctor --strict --parameter NotificationEmail=me@example.com");
    ran.printed(0, "").stderr_count("not checked", 0);
    ran.stderr_ends("no problems found in template.yaml; checked 2 queues, 1 function, 0 workers\n");
}

#[test]
fn nothing_is_found_in_the_template_for_existing_projects() {
    let page = text("docs/deploying.md");
    let manifest = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let manifest = manifest.expect("the page has a manifest");
    let project =
        folder(&[("template.yaml", &text("examples/deploy/function.yaml")), ("Cargo.toml", manifest)]);
    let told = "no problems found in template.yaml; checked 2 queues, 1 function, 0 workers\n";
    judged(&project, "doctor --strict").told(0, told);
}

#[test]
fn nothing_is_found_in_the_manifests_for_an_app() {
    let page = text("docs/any-language.md");
    let script = page.lines().find(|line| line.starts_with("sed ") && line.contains("worker.k8s.yaml"));
    let script = script.and_then(|script| script.split(" > ").next()).expect("the page says how to make it");
    let made = Command::new("sh").args(["-c", script]).current_dir(root()).output().expect("sed runs");
    let manifests = String::from_utf8(made.stdout).expect("it is text");
    assert!(manifests.contains("terminationGracePeriodSeconds: 45"), "{manifests}");
    let ran = judged(&folder(&[("app.yaml", &manifests)]), "doctor app.yaml");
    ran.ended(0)
        .printed(0, "")
        .stderr_has("no problems found in app.yaml; checked 0 queues, 0 functions, 1 worker");
}
