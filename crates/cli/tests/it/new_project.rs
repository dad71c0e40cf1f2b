//! New projects: by `cargo lambda new` with `examples/project`, and by hand as `docs/first-consumer.md` says.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::running::root;

const NAME: &str = "my-jobs";
const BY_HAND: &str = "receipts";
fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Makes the project in an empty folder.
fn create(folder: &Path) -> PathBuf {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).expect("tests may write here");
    let tools = root().join("target/venv/bin");
    assert!(tools.exists(), "the Python tools are not installed yet: run `make test` once");
    let output = Command::new(tools.join("cargo-lambda"))
        .args(["lambda", "new", "--no-interactive", "--template"])
        .arg(root().join("examples/project"))
        .args(["--render-var", "redrive={ path = \"..\" }", NAME])
        .current_dir(folder)
        .output()
        .expect("cargo-lambda runs");
    assert!(output.status.success(), "{}", told(&output));
    folder.join(NAME)
}

/// Puts the files of `docs/first-consumer.md` into the folder, with our packages one level nearer.
fn create_by_hand(folder: &Path) -> PathBuf {
    let project = folder.join(BY_HAND);
    fs::create_dir_all(project.join("src")).expect("tests may write here");
    for (mark, text) in guide() {
        if let Some(file) = mark.strip_prefix("file: ") {
            let text =
                text.replace("../redrive/crates/local", "../crates/local").replace("../redrive\"", "..\"");
            fs::write(project.join(file), text).expect("tests may write here");
        }
    }
    project
}

/// The blocks of that page that have a mark, in order.
fn guide() -> Vec<(String, String)> {
    let page = fs::read_to_string(root().join("docs/first-consumer.md")).expect("the page is there");
    let marked = page.split("<!-- ").skip(1).map(|rest| {
        let (mark, rest) = rest.split_once(" -->\n```").expect("a mark is above a block");
        let (_, rest) = rest.split_once('\n').expect("a block has lines");
        (mark.to_owned(), rest.split("```").next().unwrap_or_default().to_owned())
    });
    marked.collect()
}

/// Both projects beside this repository's packages, in one workspace with the same dependencies in the same versions and
/// with the same features: so only what is new is compiled.
#[test]
fn new_projects_build_and_run_as_documented() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-project");
    create(&folder);
    let by_hand = create_by_hand(&folder);
    for entry in fs::read_dir(root()).unwrap().map(Result::unwrap) {
        let name = entry.file_name();
        if !["Cargo.toml", "Cargo.lock", "target", ".git"].iter().any(|other| *other == name) {
            symlink(entry.path(), folder.join(name)).unwrap();
        }
    }
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = manifest.replace("members = [", &format!("members = [\"{NAME}\", \"{BY_HAND}\", "));
    assert_ne!(manifest, members);
    fs::write(folder.join("Cargo.toml"), members).unwrap();

    let built = cargo(&folder, &["test", "--bin", "orders", "--bin", BY_HAND]);
    assert!(built.contains("only_what_fails_is_reported ... ok"), "{built}");
    let page = guide();
    let printed = page.windows(2).filter(|pair| pair[0].0 == "run" && pair[1].0 == "prints");
    let shown: Vec<_> = printed.map(|pair| &pair[1].1).collect();
    assert!(built.contains(shown[0].lines().next().unwrap()), "{built}");

    // With an example, so that Cargo unites features as it does for tests.
    cargo(&folder, &["build", "--bin", BY_HAND, "--example", "serve"]);
    let output = Command::new(env!("CARGO_BIN_EXE_redrive"))
        .args(["local", "--send", "messages.jsonl", "--speed", "max", "--until-idle", "--binary"])
        .arg(target().join("debug").join(BY_HAND))
        .current_dir(by_hand)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", told(&output));
    assert_eq!(story(shown[1]), story(&String::from_utf8_lossy(&output.stdout)), "{}", told(&output));
}

/// What is told of each message, without its id, in any order; long lines end in `...` on the page.
fn story(output: &str) -> Vec<String> {
    let mut lines: Vec<_> = output
        .lines()
        .filter_map(|line| line.split_once('#').map(|(time, rest)| (time.trim(), rest)))
        .map(|(time, rest)| {
            let words: Vec<_> = rest.split_whitespace().collect();
            let kept: Vec<_> = words.iter().take(9).enumerate().filter(|(place, _)| *place != 1).collect();
            format!("{time} {}", kept.iter().map(|(_, word)| **word).collect::<Vec<_>>().join(" "))
        })
        .collect();
    lines.sort();
    lines
}

/// <target>/tmp is where Cargo lets tests write.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is below the target folder")
}

/// What Cargo prints when it succeeds, for the whole workspace.
fn cargo(folder: &Path, arguments: &[&str]) -> String {
    let (verb, rest) = arguments.split_first().expect("a verb comes first");
    let mut command = Command::new(env!("CARGO"));
    // What Cargo says of this package would make the build script of `ring` run again, there and at the next build here.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO_PKG_")) {
        command.env_remove(name);
    }
    let output = command
        .env_remove("CARGO_MANIFEST_DIR")
        .args([*verb, "--offline", "--workspace"])
        .args(rest)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", told(&output));
    told(&output)
}

#[test]
fn it_has_our_template_and_runbook_and_its_function_can_be_renamed() {
    let folder = tempfile::tempdir().unwrap();
    let project = create(folder.path());
    for name in ["template.yaml", "docs/runbook.md"] {
        assert!(!project.join(name).is_symlink(), "{name}");
        assert_eq!(read(&project, name), read(&root(), name));
    }
    let readme = read(&project, "README.md");
    let rename = readme.lines().find(|line| line.starts_with("perl ")).expect("it says how");
    let renamed = Command::new("sh").args(["-c", rename]).current_dir(&project).output().unwrap();
    assert!(renamed.status.success(), "{}", told(&renamed));
    let [template, manifest] = ["template.yaml", "Cargo.toml"].map(|name| read(&project, name));
    assert!(!template.to_lowercase().contains("orders"), "{template}");
    assert!(template.contains("Binary: work\n") && manifest.contains("name = \"work\"\n"), "{manifest}");
    for link in
        read(&project, "docs/runbook.md").split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next())
    {
        assert!(
            project.join("docs").join(link).exists(),
            "the project's runbook links to {link}, which it does not have"
        );
    }
    let checked = Command::new(env!("CARGO_BIN_EXE_redrive"))
        .args(["doctor", "template.yaml"])
        .current_dir(&project)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", told(&checked));
}

#[test]
fn nothing_of_the_template_format_is_left_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let project = create(folder.path());
    for name in ["Cargo.toml", "README.md", "template.yaml", "src/main.rs"] {
        let text = read(&project, name);
        assert!(!text.contains("{{") && !text.contains("{%"), "{name}");
    }
    assert!(!project.join("CargoLambda.toml").exists());
}
