//! The functions of `templates/any` behind the Lambda layer, with the runtime clients that `make test` installs.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::running::{built, root};
use crate::support::{Ran, local};

/// The orders to a queue, with these folders in `PATH`.
fn orders(queue: &str, clients: &[PathBuf]) -> Ran {
    let flags = format!(
        "--template templates/any/template.yaml --queue {queue} --send templates/any/orders.jsonl --speed max --until-idle --json"
    );
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = clients.iter().cloned().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).expect("no folder has a colon in its name");
    built("redrive-layer");
    Ran::of(local(&root(), &flags).env("PATH", path))
}

fn python() -> PathBuf {
    root().join("target/venv/bin")
}

#[test]
fn a_function_in_another_language_runs_behind_the_layer() {
    let node = root().join("target/node-ric/node_modules/.bin");
    if !node.join("aws-lambda-ric").exists() {
        println!("skipped: Node's runtime client is not installed: run `make target/node-ric/installed`");
        return;
    }
    for (queue, error) in [("PythonQueue", "ValueError"), ("NodeQueue", "RangeError")] {
        let events = orders(queue, &[python(), node.clone()]).ended(0).json_lines();
        let ended = |kind: &str| {
            let of_kind = |event: &&Value| event["kind"] == kind;
            events.iter().find(of_kind).unwrap_or_else(|| panic!("{queue}, {error}: {kind} in {events:?}"))
        };
        assert_eq!(ended("done")["attempt"], 1, "{queue}");
        let letter = ended("dead_lettered");
        assert_eq!(
            (&letter["reason"], &letter["error"]),
            (&"rejected".into(), &"an order must cost something".into()),
            "{queue}"
        );
    }
}

#[test]
fn a_runtime_client_that_is_missing_is_named_with_how_to_install_it() {
    let has_none = Command::new("python3").args(["-c", "import awslambdaric"]).output();
    if has_none.is_ok_and(|output| !output.status.success()) {
        let line = "redrive: PythonFunction: python3 has no Lambda runtime client; install it: python3 -m pip install awslambdaric\n";
        assert_eq!(orders("PythonQueue", &[]).ended(2).stderr, line);
    }
    if !std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|it| it.join("aws-lambda-ric").is_file())
    {
        let ran = orders("NodeQueue", &[python()]);
        let line = "redrive: NodeFunction: the Lambda runtime client of Node is missing; install it: npm install --no-save --prefix ";
        assert!(ran.ended(2).stderr.starts_with(line), "{}", ran.stderr);
    }
}

/// Its code is the page's.
#[test]
fn the_functions_of_the_template_are_those_of_the_page() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect("it is there");
    let page = read("docs/layer.md");
    for (language, file) in [("python", "python/app.py"), ("js", "node/app.mjs")] {
        let code = read(&format!("templates/any/{file}"));
        assert!(page.contains(&format!("```{language}\n{code}```\n")), "{file}");
    }
}
