use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The files that may know of AWS, time, chance, threads or the environment. All others are pure.
const IMPURE: &[&str] = &[
    "aws.rs",
    "aws/http.rs",
    "aws/settle/call.rs",
    "consumer.rs",
    "handler/bulk/rulings.rs",
    "handler/hook/list.rs",
    "lambda.rs",
    "lambda/follow.rs",
    "message/invocation.rs",
    "once/memory.rs",
    "run.rs",
    "runners.rs",
    "runners/chunk_runner.rs",
    "runners/lease.rs",
    "runners/once.rs",
    "runners/ready_queue.rs",
    "runners/runner.rs",
    "runners/wall.rs",
    "telemetry/log.rs",
    "telemetry/metrics.rs",
    "worker.rs",
    "worker/calls.rs",
    "worker/consumers.rs",
    "worker/member.rs",
    "worker/places.rs",
    "worker/signals.rs",
    "worker/worker_loop.rs",
];

/// The same in `crates/observers/src`.
const IMPURE_OBSERVERS: &[&str] = &[
    "backlog.rs",
    "health.rs",
    "health/clients.rs",
    "lines.rs",
    "metrics.rs",
    "protection.rs",
    "protection/agent.rs",
    "stdout.rs",
    "vitals.rs",
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

/// Without programs and tests, by their paths below `src`.
fn files() -> Vec<String> {
    let src = root().join("src");
    let name = |path: PathBuf| path.strip_prefix(&src).unwrap().display().to_string();
    let folders = ["bin/", "tests/"];
    let is_other = |file: &String| {
        file.ends_with("tests.rs")
            || file.ends_with("explorer.rs")
            || file.contains("/tests/")
            || folders.iter().any(|it| file.starts_with(it))
    };
    let mut files: Vec<_> = sources(&src).into_iter().map(name).filter(|file| !is_other(file)).collect();
    files.sort();
    files
}

#[test]
fn pure_files_name_no_client_runtime_clock_environment_or_chance() {
    let words = [
        "aws_sdk",
        "tokio",
        "tracing::",
        "async fn ",
        "async move",
        "async {",
        ".await",
        "env::",
        "::now()",
        ".elapsed()",
        "fastrand",
        "RandomState",
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
    // It only names the crates.
    let is_pure = |file: &String| file != "reexports.rs" && !IMPURE.contains(&file.as_str());
    let pure = files().into_iter().filter(is_pure);
    let observers = root().join("crates/observers/src");
    let impure: Vec<_> = IMPURE_OBSERVERS.iter().map(|file| observers.join(file)).collect();
    let mut shared = ["crates/sqs/src", "crates/engine/src", "crates/event/src", "crates/iac/src"]
        .map(|folder| sources(&root().join(folder)))
        .concat();
    shared.extend(sources(&observers));
    for file in &impure {
        assert!(file.exists(), "{} is gone", file.display());
    }
    let is_test = |path: &Path| {
        let inside = path.strip_prefix(root()).unwrap().to_string_lossy();
        ["/tests", "/testing", "/explorer"].iter().any(|it| inside.contains(it))
    };
    shared.retain(|path| !is_test(path) && !impure.contains(path));
    for file in pure.chain(shared.into_iter().map(|path| path.display().to_string())) {
        // Values: a generator whose numbers follow from its seed, and a message as the SDK has it.
        let values = ["fastrand::Rng", "aws_sdk_sqs::types", "aws_sdk_sqs::primitives::Blob"];
        let code = values.iter().fold(code(&file), |code, value| code.replace(value, ""));
        for word in words {
            assert!(!code.contains(word), "{file} is pure, but says {word}");
        }
    }
}

/// The modules of the library that each module names.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let module = |file: &str| file.split(['/', '.']).next().unwrap().to_owned();
    let modules: BTreeSet<_> = files().iter().map(|file| module(file)).collect();
    let is_module = |file: &&String| *file != "lib.rs";
    let public = code("lib.rs");
    let home = |name: &str| {
        let line = public.lines().find(|line| {
            line.starts_with("pub use")
                && line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|it| it == name)
        });
        let path = line.and_then(|line| line.strip_prefix("pub use ")?.split("::").next().map(str::to_owned));
        path.unwrap_or_else(|| name.to_owned())
    };
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files().iter().filter(is_module) {
        let code = code(file);
        let named = code.split("crate::").skip(1).flat_map(|rest| {
            let end = if rest.starts_with('{') { "}" } else { ":" };
            let head = rest.split(end).next().unwrap();
            let names =
                head.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty());
            names.take(if end == "}" { usize::MAX } else { 1 }).map(home).collect::<Vec<_>>()
        });
        let named = named.filter(|name| modules.contains(name) && *name != module(file));
        imports.entry(module(file)).or_default().extend(named);
    }
    imports
}

#[test]
fn no_module_imports_itself_through_others() {
    let imports = imports();
    for module in imports.keys() {
        let (mut seen, mut next) = (BTreeSet::new(), vec![module]);
        while let Some(name) = next.pop() {
            for other in imports.get(name).into_iter().flatten() {
                assert_ne!(other, module, "{module} imports {name}, which leads back to it");
                if seen.insert(other) {
                    next.push(other);
                }
            }
        }
    }
}

#[test]
fn the_shell_of_lambda_knows_no_worker() {
    assert!(imports()["lambda"].iter().all(|module| module != "worker"));
}

#[test]
fn lambdas_types_stay_at_the_doors_and_the_sdks_at_the_edge() {
    let doors =
        ["consumer.rs", "lambda.rs", "message/records.rs", "reexports.rs", "run.rs", "telemetry/report.rs"];
    assert_eq!(files_that_say("aws_lambda_events"), doors);
    let edge = [
        "aws.rs",
        "aws/settle.rs",
        "aws/settle/call.rs",
        "aws/settle/entry.rs",
        "consumer.rs",
        "message/received.rs",
        "reexports.rs",
        "telemetry/metrics.rs",
        "worker/calls.rs",
    ];
    assert_eq!(files_that_say("aws_sdk_"), edge);
}

#[test]
fn the_environment_and_the_wall_clock_are_read_by_the_shell_only() {
    assert_eq!(files_that_say("std::env"), ["consumer.rs", "run.rs"]);
    assert_eq!(
        files_that_say("SystemTime::now"),
        ["aws/http.rs", "message/invocation.rs", "once/memory.rs", "runners/wall.rs", "telemetry/metrics.rs"]
    );
    assert_eq!(files_that_say("fastrand"), ["lambda/follow.rs", "runners/once.rs", "worker/worker_loop.rs"]);
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
        "console::Term",
        "indicatif",
        "/dev/std",
    ];
    let output = root().join("crates/local/src/command/output");
    for file in ["crates/cli/src", "crates/local/src/command", "crates/iac/src"]
        .into_iter()
        .flat_map(|folder| sources(&root().join(folder)))
    {
        let text = fs::read_to_string(&file).unwrap();
        let found = words.iter().find(|word| text.contains(**word));
        let is_output = file.starts_with(&output) || file == output.with_extension("rs");
        assert!(is_output || found.is_none(), "{} says {found:?}: let `output` write", file.display());
    }
}

#[test]
fn the_architecture_lists_the_state_transitions_of_the_engine() {
    let words = |text: &str| {
        let words =
            text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.starts_with(char::is_uppercase));
        words.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let drawn = architecture.lines().filter_map(|line| {
        let (state, next) = line.split_once(" -> ")?;
        Some((state.trim().to_owned(), words(next.split("   ").next()?)))
    });
    let code = code("../crates/engine/src/settlement.rs");
    let function = code.split("fn leads_to").nth(1).unwrap().split("\n    }").next().unwrap();
    let is_next = |line: &str| {
        let (state, next) = line.split_once("=> matches!(next,")?;
        Some((state.trim().strip_prefix("Self::")?.to_owned(), words(&next.replace("Self", ""))))
    };
    let followed: BTreeMap<_, _> = function.lines().filter_map(is_next).collect();
    assert_eq!(drawn.collect::<BTreeMap<_, _>>(), followed);
    assert_eq!(followed.len(), 6, "the others are final");
}

#[test]
fn a_release_build_unwinds_so_that_a_panic_ends_one_message_only() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let release = manifest.split("[profile.release]").nth(1).unwrap().split("\n[").next().unwrap();
    assert!(release.contains("panic = \"unwind\""), "{release}");
    let features = manifest.split("[features]\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let named = features.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name);
    assert_eq!(named.collect::<Vec<_>>(), ["default", "worker"], "nearly one build for everybody");
}

/// A queue, a policy or a file may be named by somebody else, and people type what redrive suggests.
#[test]
fn the_values_of_suggested_commands_are_quoted_for_a_shell() {
    let commands = [
        "aws sqs ",
        "aws lambda ",
        "chmod ",
        "npm ",
        "cp --",
        "redrive dlq ",
        "redrive queue ",
        "redrive send ",
    ];
    // Numbers, names in which AWS allows no such characters, flags that an error is about, and what is quoted elsewhere.
    let others = [
        "--account {",
        "--binary {path}",
        "--binary {0}=PATH",
        "--dead-letter-queue {0}",
        "--endpoint-url {}",
        "--example {name}",
        "--ids {}",
        "--max {}",
        "--parameter {name}=VALUE",
        "--port {port}",
        "--queue {name}",
        "--region {region}",
        "--set {name}",
        "--stack {name}",
        "--to {to_name}",
        "--ui {port}",
        "--where {}",
        "--logs{}",
        "{origins}",
        "{show}",
        "{ORDERS}",
        "{PLACE}",
        "{which}",
        "{with}",
        "resume{}",
    ];
    let has_value =
        |flag: &str| flag.trim_start_matches(|c: char| c.is_ascii_lowercase() || c == '-').starts_with(" {");
    let is_command = |literal: &str| {
        let rest = others.iter().fold(literal.replace("${", ""), |text, other| text.replace(other, ""));
        let command = commands.iter().find_map(|command| rest.split_once(command));
        let is_help = ["Example", "\n  redrive", "\n    redrive"].iter().any(|help| rest.contains(help));
        !is_help
            && (command.is_some_and(|(_, rest)| rest.contains('{'))
                || rest.split(" --").skip(1).any(has_value))
    };
    let files = ["crates/cli/src", "crates/local/src/command"]
        .into_iter()
        .flat_map(|folder| sources(&root().join(folder)));
    for file in files.filter(|file| !file.to_string_lossy().contains("/tests")) {
        let text = fs::read_to_string(&file).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for statement in text.split(";\n") {
            let mut literals = statement.split('"').skip(1).step_by(2);
            assert!(
                statement.contains("word(") || !literals.any(is_command),
                "{}: a command without shell::word: {statement}",
                file.display()
            );
        }
    }
}
