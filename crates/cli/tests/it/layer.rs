//! The functions of `examples/any` behind the Lambda layer, with the runtime clients that `make check` installs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::running::{Running, built, root, signal, until};
use crate::support::{Ran, local};

/// The orders to a queue, with these folders in `PATH`.
fn orders(queue: &str, clients: &[PathBuf]) -> Ran {
    let flags = format!(
        "--template examples/any/template.yaml --queue {queue} --send examples/any/orders.jsonl --speed max --until-idle --json"
    );
    built("redrive-layer");
    Ran::of(local(&root(), &flags).env("PATH", path_with(clients)))
}

fn path_with(clients: &[PathBuf]) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = clients.iter().cloned().chain(std::env::split_paths(&path));
    std::env::join_paths(folders).expect("no folder has a colon in its name")
}

fn python() -> PathBuf {
    root().join("target/venv/bin")
}

fn node() -> PathBuf {
    root().join("target/node-ric/node_modules/.bin")
}

/// Whether Node's client is installed; Python's has to be.
fn has_node() -> bool {
    let has_node = node().join("aws-lambda-ric").exists();
    if !has_node {
        println!("skipped: Node's runtime client is not installed: run `make target/node-ric/installed`");
    }
    has_node
}

#[test]
fn a_function_in_another_language_runs_behind_the_layer() {
    if !has_node() {
        return;
    }
    for (queue, error) in [("PythonQueue", "ValueError"), ("NodeQueue", "RangeError")] {
        let events = orders(queue, &[python(), node()]).ended(0).json_lines();
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

/// What `cdk synth` writes, with the function's code in an asset, in another place, or in a file.
#[test]
fn code_is_found_in_an_asset_of_the_cdk_and_otherwise_its_place_is_named() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it is ours");
    std::fs::create_dir(folder.path().join("asset.1")).expect("the folder is ours");
    write("asset.1/app.py", "def handler(event, context):\n    return None\n");
    write("orders.jsonl", "{\"body\":\"1\"}\n");
    write("code.zip", "PK");
    built("redrive-layer");
    let run = |code: Value, metadata: Value| {
        let variables = json!({ "AWS_LAMBDA_EXEC_WRAPPER": "/opt/redrive" });
        let template = json!({ "Resources": {
            "Orders": { "Type": "AWS::SQS::Queue" },
            "Place": { "Type": "AWS::Lambda::Function", "Metadata": metadata, "Properties": {
                "Code": code, "Handler": "app.handler", "Runtime": "python3.13", "Role": "r",
                "Environment": { "Variables": variables } } },
            "Mapping": { "Type": "AWS::Lambda::EventSourceMapping", "Properties": {
                "EventSourceArn": { "Fn::GetAtt": ["Orders", "Arn"] }, "FunctionName": { "Ref": "Place" } } },
        } });
        write("template.json", &template.to_string());
        let flags = "--template template.json --send orders.jsonl --speed max --until-idle --json";
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(python()).chain(std::env::split_paths(&path)));
        Ran::of(local(folder.path(), flags).env("PATH", path.expect("no folder has a colon in its name")))
    };
    let bucket = || json!({ "S3Bucket": "b", "S3Key": "k.zip" });
    let events = run(bucket(), json!({ "aws:asset:path": "asset.1" })).ended(0).json_lines();
    assert!(events.iter().any(|event| event["kind"] == "done"), "{events:?}");
    for (code, expected) in [
        (bucket(), "Place: its code is in no folder beside the template: write it there, and set CodeUri"),
        (
            json!("code.zip"),
            "CodeUri of Place is not a folder: code.zip; unpack it, and set CodeUri to the folder",
        ),
    ] {
        assert!(run(code, json!({})).ended(2).stderr.contains(expected), "{expected}");
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

/// Lambda would end its sandbox.
#[test]
fn a_function_that_ignores_sigterm_does_not_outlive_the_command() {
    if !has_node() {
        return;
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let file = |name: &str| folder.path().join(name);
    for (name, content) in [
        (
            "template.yaml",
            std::fs::read_to_string(root().join("examples/any/template.yaml")).expect("it is there"),
        ),
        ("orders.jsonl", "{\"body\": \"x\"}\n".to_owned()),
        (
            "python/app.py",
            format!(
                "import os, signal, time\n\n\ndef handler(event, context):\n    \
                 signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    \
                 with open({:?}, 'w') as file:\n        file.write(f'{{os.getpid()}}\\n')\n    time.sleep(1000)\n",
                file("process")
            ),
        ),
        ("node/app.mjs", String::new()),
    ] {
        std::fs::create_dir_all(file(name).parent().expect("it has one")).expect("it is ours");
        std::fs::write(file(name), content).expect("it is ours");
    }
    built("redrive-layer");
    let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
    command.args(["local", "--queue", "PythonQueue", "--send", "orders.jsonl"]).current_dir(folder.path());
    command.env("PATH", path_with(&[python(), node()]));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut command = Running(command.spawn().expect("the command runs"));
    let process = || std::fs::read_to_string(file("process")).unwrap_or_default();
    until("it is called", || process().ends_with('\n'));
    signal("-INT", &command.0);
    assert!(command.0.wait().expect("it is ours").success());
    let command_line = format!("/proc/{}/cmdline", process().trim());
    until("its end", || std::fs::read(&command_line).unwrap_or_default().is_empty());
}

#[test]
fn the_page_shows_the_function_of_the_template() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect("it is there");
    let code = read("examples/any/python/app.py");
    assert!(read("docs/layer.md").contains(&format!("```python\n{code}```\n")));
}
