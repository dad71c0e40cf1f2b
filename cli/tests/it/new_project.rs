//! `cargo lambda new` with `templates/consumer`: a project whose test passes, under our template by another name.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const NAME: &str = "my-jobs";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository is there")
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Makes the project in an empty folder.
fn create(folder: &Path) -> PathBuf {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).expect("tests may write here");
    let tools = root().join("target/venv/bin");
    assert!(tools.exists(), "the Python tools are not installed yet: run `make test` once");
    let output = Command::new(tools.join("cargo-lambda"))
        .args(["lambda", "new", "--no-interactive", "--template"])
        .arg(root().join("templates/consumer"))
        .args(["--render-var", "redrive={ path = \"..\" }", NAME])
        .current_dir(folder)
        .output()
        .expect("cargo-lambda runs");
    assert!(output.status.success(), "{}", told(&output));
    folder.join(NAME)
}

/// The project beside this repository's packages, in one workspace with the same dependencies in the same versions and
/// with the same features: so only what is new is compiled.
#[test]
fn a_new_project_builds_and_its_first_test_passes() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-project");
    create(&folder);
    for entry in fs::read_dir(root()).unwrap().map(Result::unwrap) {
        let name = entry.file_name();
        if !["Cargo.toml", "Cargo.lock", "target", ".git"].iter().any(|other| *other == name) {
            symlink(entry.path(), folder.join(name)).unwrap();
        }
    }
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = manifest.replace("members = [", &format!("members = [\"{NAME}\", "));
    assert_ne!(manifest, members);
    fs::write(folder.join("Cargo.toml"), members).unwrap();

    // <target>/tmp is where Cargo lets tests write.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--workspace", "--bin", NAME])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", told(&output));
    assert!(told(&output).contains("only_what_fails_is_reported ... ok"), "{}", told(&output));
}

#[test]
fn its_template_is_ours_by_another_name() {
    let folder = tempfile::tempdir().unwrap();
    let project = create(folder.path());
    let ours = fs::read_to_string(root().join("template.yaml")).unwrap();
    let renamed = ours
        .replace("Orders", "Work")
        .replace("Binary: orders", &format!("Binary: {NAME}"))
        .replace("orders", "work");
    let theirs = fs::read_to_string(project.join("template.yaml")).unwrap();
    assert_eq!(theirs, renamed, "template.yaml has changed: run `make templates`");
    let runbook = |folder: &Path| fs::read_to_string(folder.join("docs/runbook.md")).unwrap();
    assert_eq!(runbook(&project), runbook(&root()));
    let python = root().join("target/venv/bin/python");
    let check = Command::new(python)
        .arg(root().join("tools/check_template.py"))
        .arg(project.join("template.yaml"))
        .output()
        .unwrap();
    assert!(check.status.success(), "{}", told(&check));
}

#[test]
fn nothing_of_the_template_format_is_left_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let project = create(folder.path());
    for name in ["Cargo.toml", "README.md", "template.yaml", "src/main.rs"] {
        let text = fs::read_to_string(project.join(name)).unwrap();
        assert!(!text.contains("{{") && !text.contains("{%"), "{name}");
    }
    assert!(!project.join("CargoLambda.toml").exists());
}
