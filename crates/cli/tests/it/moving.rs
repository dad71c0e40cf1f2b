//! Moves a queue from one function to another with the commands of `docs/migrating.md`.

use std::fs;

use redrive_local::{Config, FunctionConfig, MappingConfig};

use crate::support::running::{built, root, until};
use crate::support::{Aws, orders};

/// The old function at work, and the new one deployed with its mapping disabled, as the page's first step says.
fn deployed() -> Aws {
    let function = |name: &str| FunctionConfig {
        name: name.to_owned(),
        command: built("puppet"),
        ..FunctionConfig::default()
    };
    let mapping = |function: &str, enabled| MappingConfig {
        queue: "orders".to_owned(),
        function: function.to_owned(),
        enabled,
        ..MappingConfig::default()
    };
    Aws::of(Config {
        queues: orders(false),
        functions: ["old", "new"].map(function).into(),
        mappings: vec![mapping("old", true), mapping("new", false)],
        ..Config::default()
    })
}

/// The commands of the page's steps, in their order.
fn commands() -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/migrating.md")).expect("the page is there");
    let below = page.split("## Switch functions without stopping").nth(1).expect("it has the section");
    let steps = below.split("\n## ").next().expect("a section has text");
    let quoted = steps.split('`').skip(1).step_by(2);
    let names = |line: &str| line.replace("OLD", "old").replace("NEW", "new").replace("QUEUE", "orders");
    quoted.filter_map(|text| text.strip_prefix("redrive ")).map(names).collect()
}

fn enabled(aws: &Aws) -> Vec<String> {
    let report = aws.redrive("queue status --queue orders --json").json();
    let mappings = report["mappings"].as_array().expect("a list");
    let on = mappings.iter().filter(|mapping| mapping["state"] == "Enabled");
    on.map(|mapping| mapping["function"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn the_documented_steps_move_a_queue_that_is_never_shared() {
    let aws = deployed();
    assert_eq!(enabled(&aws), ["old"]);
    let commands = commands();
    assert!(commands[0].starts_with("doctor"), "what is deployed disabled is looked at first: {commands:?}");
    let mut states = Vec::new();
    for command in commands {
        let ran = aws.redrive(&*command);
        if command.starts_with("doctor") {
            assert!(ran.stdout.contains("mapping-disabled"), "{ran:?}");
            assert!(!ran.stdout.contains("queue-shared"), "{ran:?}");
        } else {
            assert_eq!(ran.code, 0, "{command}: {ran:?}");
        }
        states.push(enabled(&aws).concat());
    }
    states.dedup();
    assert_eq!(states, ["old", "", "new"]);

    aws.send("orders", "ok");
    until("the new function has done it", || {
        ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
            .iter()
            .all(|name| aws.attribute("orders", name) == "0")
    });
}
