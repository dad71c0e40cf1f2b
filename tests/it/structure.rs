use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What may know of AWS, time, chance, threads or the environment. Everything else is pure.
const IMPURE: &[&str] = &[
    "aws.rs",
    "aws/endpoint.rs",
    "aws/http.rs",
    "batch/settle.rs",
    "batch/settle/call.rs",
    "batch/settle/entry.rs",
    "batch/work.rs",
    "batch/work/chunk_runner.rs",
    "batch/work/ready_queue.rs",
    "batch/work/ready_queue/chunks.rs",
    "batch/work/runner.rs",
    "batch/work/sheet.rs",
    "batch/work/slot.rs",
    "batch/work/tasks.rs",
    "batch/work/times.rs",
    "bin/orders.rs",
    "bodies.rs",
    "bulk/rulings.rs",
    "consumer.rs",
    "consumer/builder.rs",
    "executor/front.rs",
    "executor/mod.rs",
    "executor/run_queue.rs",
    "executor/sync.rs",
    "executor/threads.rs",
    "flow.rs",
    "flow/shutdown.rs",
    "flow/follow.rs",
    "flow/progress.rs",
    "flow/progress/entries.rs",
    "flow/publish.rs",
    "flow/settling.rs",
    "flow/settling/calls.rs",
    "flow/worker.rs",
    "flow/source.rs",
    "flow/streak.rs",
    "handler.rs",
    "hook.rs",
    "hook/list.rs",
    "invocation.rs",
    "log.rs",
    "log/fields.rs",
    "log/lines.rs",
    "metrics/cloudwatch.rs",
    "metrics/mod.rs",
    "other_event.rs",
    "reexports.rs",
    "run.rs",
    "stdout.rs",
    "testing.rs",
    "worker.rs",
    "worker/calls.rs",
    "worker/clock.rs",
    "worker/drive.rs",
    "worker/drive/ending.rs",
    "worker/drive/intake.rs",
    "worker/drive/keeper.rs",
    "worker/health.rs",
    "worker/health/clients.rs",
    "worker/hold.rs",
    "worker/protection.rs",
    "worker/protection/agent.rs",
    "worker/publish.rs",
    "worker/queue.rs",
    "worker/job.rs",
    "worker/signals.rs",
    "worker/publish.rs",
    "worker/vitals.rs",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The code of a file of the library, without its comments and tests.
fn code(file: &str) -> String {
    let text = fs::read_to_string(root().join("src").join(file)).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let kinds = ["rs", "py", "js", "css", "html"];
    let is_source =
        |file: &PathBuf| file.extension().is_some_and(|found| kinds.iter().any(|kind| found == *kind));
    let files = files.into_iter().filter(is_source);
    folders.iter().flat_map(|folder| sources(folder)).chain(files).collect()
}

/// The files of the library that say this, outside comments and tests.
fn files_that_say(words: &str) -> Vec<String> {
    files().into_iter().filter(|file| code(file).contains(words)).collect()
}

/// Named by their paths below `src`.
fn files() -> Vec<String> {
    let src = root().join("src");
    let name = |path: PathBuf| path.strip_prefix(&src).unwrap().display().to_string();
    let is_test = |file: &String| file.ends_with("tests.rs") || file.contains("/tests/");
    let mut files: Vec<_> = sources(&src).into_iter().map(name).filter(|file| !is_test(file)).collect();
    files.sort();
    files
}

#[test]
fn pure_files_name_no_client_runtime_clock_environment_or_chance() {
    let words = [
        "aws_sdk",
        "tokio",
        "tracing::",
        "async ",
        ".await",
        "env::",
        "::now()",
        ".elapsed()",
        "fastrand",
        "println!",
        "TcpListener",
        "TcpStream",
        "UdpSocket",
        "std::process",
        "std::thread",
        "Condvar",
        "Lock<",
        "std::fs",
        "Mutex",
        "Atomic",
    ];
    for file in IMPURE {
        assert!(root().join("src").join(file).exists(), "{file} is gone");
    }
    let pure = files().into_iter().filter(|file| !IMPURE.contains(&file.as_str()));
    let shared = sources(&root().join("sqs/src")).into_iter().map(|path| path.display().to_string());
    for file in pure.chain(shared) {
        let code = code(&file);
        for word in words {
            assert!(!code.contains(word), "{file} is pure, but says {word}");
        }
    }
}

#[test]
fn a_step_of_the_batch_imports_no_other_step() {
    let steps = ["plan", "work", "decide", "outbox", "settle", "report"];
    for step in steps {
        let code = code(&format!("batch/{step}.rs"));
        for other in steps.iter().filter(|other| **other != step) {
            assert!(!code.contains(&format!("batch::{other}")), "{step} imports {other}");
        }
    }
    assert_eq!(
        files_that_say("batch::settle"),
        ["flow/progress/entries.rs", "flow/settling.rs", "flow/settling/calls.rs", "worker/job.rs"],
        "only the flow and the worker know all of them"
    );
}

#[test]
fn lambdas_types_stay_at_the_doors_and_the_sdks_at_the_edge() {
    let doors = [
        "batch/report.rs",
        "consumer.rs",
        "event.rs",
        "flow.rs",
        "flow/worker.rs",
        "records.rs",
        "reexports.rs",
        "run.rs",
        "worker/calls.rs",
    ];
    assert_eq!(files_that_say("aws_lambda_events"), doors);
    let edge = [
        "aws.rs",
        "batch/settle.rs",
        "batch/settle/call.rs",
        "batch/settle/entry.rs",
        "consumer/builder.rs",
        "metrics/cloudwatch.rs",
        "reexports.rs",
        "worker/calls.rs",
        "worker/drive.rs",
        "worker/drive/intake.rs",
        "worker/queue.rs",
    ];
    assert_eq!(files_that_say("aws_sdk_"), edge);
}

#[test]
fn the_environment_and_the_wall_clock_are_read_by_the_shell_only() {
    assert_eq!(files_that_say("std::env"), ["consumer.rs", "run.rs"]);
    assert_eq!(
        files_that_say("SystemTime::now"),
        [
            "aws/http.rs",
            "flow.rs",
            "flow/progress/entries.rs",
            "flow/publish.rs",
            "flow/worker.rs",
            "invocation.rs",
            "log/lines.rs",
            "worker/clock.rs",
            "worker/publish.rs"
        ]
    );
    assert_eq!(files_that_say("fastrand"), ["flow/progress.rs", "worker/drive/intake.rs"]);
}

#[test]
fn the_command_writes_to_the_terminal_in_one_place() {
    let words = [
        "stdout()",
        "stderr()",
        "io::stdout",
        "io::stderr",
        "print!",
        "println!",
        "dbg!",
        "anstream",
        "console::",
        "indicatif",
        "/dev/std",
    ];
    let output = root().join("stack/src/output");
    for file in ["cli/src", "stack/src"].into_iter().flat_map(|folder| sources(&root().join(folder))) {
        let text = fs::read_to_string(&file).unwrap();
        let found = words.iter().find(|word| text.contains(**word));
        let is_output = file.starts_with(&output) || file == output.with_extension("rs");
        assert!(is_output || found.is_none(), "{} says {found:?}: let `output` write", file.display());
    }
}

#[test]
fn the_architecture_fits_on_a_page() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(architecture.lines().count() <= 100);
}

#[test]
fn a_release_build_unwinds_so_that_a_panic_ends_one_message_only() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let release = manifest.split("[profile.release]").nth(1).unwrap().split("\n[").next().unwrap();
    assert!(release.contains("panic = \"unwind\""), "{release}");
    assert!(!manifest.contains("[features]"), "one build for everybody");
}

#[test]
fn there_is_one_tls_stack_and_it_is_not_aws_lc() {
    for package in ["redrive", "redrive-s3"] {
        let tree = Command::new(env!("CARGO"))
            .args(["tree", "--offline", "--package", package, "--edges", "normal", "--prefix", "none"])
            .current_dir(root())
            .output()
            .unwrap();
        let tree = String::from_utf8(tree.stdout).unwrap();
        assert!(tree.contains("\nring v"), "{tree}");
        for crate_name in ["aws-lc", "native-tls", "openssl-sys", "s2n"] {
            assert!(!tree.contains(&format!("\n{crate_name}")), "{crate_name} is linked into {package}");
        }
    }
}
