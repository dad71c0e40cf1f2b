//! Runs each example as its documentation says, and checks the results of its messages.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::ends::{ends, sent};
use crate::support::running::{built, root};
use crate::support::{Ran, local};

/// The examples, and how each of their messages ends; without an attempt where chance decides on which.
const EXAMPLES: [(&str, &[&str]); 15] = [
    ("blocking", &["done 1", "done 1", "done 1"]),
    ("bodies", &["done 1", "done 1", "done 1", "unknown-schema 1", "malformed 1", "redrive policy 10"]),
    ("bulk", &["done 1", "free-order 1", "refused 1", "done 1", "done 1"]),
    ("fanout", &["done 1", "done 1", "done 1", "malformed 1"]),
    ("hooks", &["done 1", "done 2", "no-tenant 1"]),
    ("layered", &["done 1", "redrive policy 10", "done 1"]),
    ("ledger", &["done 2", "done", "done 1", "done 1", "done 1", "over-limit 1", "done 1"]),
    ("observed", &["done 1", "done 1", "done 2", "malformed 1", "done 1"]),
    ("overrides", &["done 3", "exhausted 2", "done 2"]),
    ("pinged", &["done 1", "done 1"]),
    ("routing", &["done 1", "done 1", "done 1", "unknown-kind 1", "malformed 1", "malformed 1"]),
    ("state", &["done 1", "done 1", "constraint 1", "redrive policy 10"]),
    ("tested", &["done 1", "done 2", "card-expired 1"]),
    ("traced", &["done 1", "done 2", "done 1"]),
    ("worker", &["done 1", "done 1", "unknown-language 1", "done 2"]),
];

/// An example's binary, which `cargo test --workspace` builds beside this package's own.
fn binary(example: &str) -> PathBuf {
    built(&format!("examples/{example}"))
}

/// What an example's documentation says to type after `redrive local --example NAME`.
fn flags(example: &str) -> String {
    let file = format!("examples/{example}.rs");
    let text = fs::read_to_string(root().join(&file)).expect("the example is there");
    let command = format!("//! redrive local --example {example} ");
    let flags = text.lines().find_map(|line| line.strip_prefix(&command));
    flags.unwrap_or_else(|| panic!("{file} does not say how to run it")).to_owned()
}

/// The events of a run with the binary that is already built.
fn run(example: &str) -> Vec<Value> {
    let line = format!("--json --binary {} {}", binary(example).display(), flags(example));
    Ran::of(&mut local(&root(), &line)).ended(0).json_lines()
}

/// The lines that an example writes itself.
fn output(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter(|event| event["kind"] == "output")
        .filter_map(|event| event["line"].as_str())
        .collect()
}

#[test]
fn every_example_does_to_its_messages_what_is_listed() {
    for (example, expected) in EXAMPLES {
        let events = run(example);
        let ends = ends(&events);
        let is = |(end, expected): (&String, &&str)| {
            end == expected || end.split_once(' ').is_some_and(|(end, _)| end == *expected)
        };
        assert!(ends.len() == expected.len() && ends.iter().zip(expected).all(is), "{example}: {ends:?}");
    }
}

#[test]
fn the_folder_its_page_and_the_list_agree() {
    let listed = EXAMPLES.iter().map(|(example, _)| (*example).to_owned()).collect::<BTreeSet<_>>();
    let folder = fs::read_dir(root().join("examples")).expect("the folder is there");
    let paths = folder.map(|entry| entry.expect("it can be read").path());
    let sources = paths.filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let in_folder = sources.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    assert_eq!(in_folder.collect::<BTreeSet<_>>(), listed);

    let page = fs::read_to_string(root().join("docs/README.md")).expect("there is one");
    let links = page.split("](../examples/").skip(1).filter_map(|rest| rest.split_once(".rs)"));
    assert_eq!(links.map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>(), listed);
}

#[test]
fn the_ledger_keeps_to_the_order_of_an_account_and_holds_up_no_other() {
    let events = run("ledger");
    let ids = sent(&events);
    let done = events.iter().filter(|event| event["kind"] == "done");
    let order: Vec<_> =
        done.filter_map(|event| ids.iter().position(|id| event["message_id"] == *id)).collect();
    let at = |message: usize| order.iter().position(|done| *done == message);
    for (earlier, later) in [(0, 1), (2, 3), (4, 6), (3, 0)] {
        assert!(at(earlier) < at(later), "{earlier} is done before {later}: {order:?}");
    }
}

#[test]
fn the_span_of_each_message_links_to_its_sender_and_has_no_parent() {
    let events = run("traced");
    let output = output(&events).join("\n");
    for sender in ["67891233abcdef012345678912345678", "6789123412456789abcdef012345678a"] {
        assert!(output.contains(&format!("TraceId: {sender}")), "{output}");
    }
    assert_eq!(output.matches("process redrive-orders").count(), 4, "{output}");
    assert!(output.contains("None (root span)") && output.contains("settle redrive-orders"), "{output}");
}

#[test]
fn hooks_wrap_each_delivery_and_the_observer_sees_each() {
    let events = run("hooks");
    let output = output(&events).join("\n");
    for (words, count) in [("timed", 4), ("told", 4), ("the mailbox of bert is full", 1), ("no-tenant", 1)] {
        assert!(output.matches(words).count() >= count, "{words}: {output}");
    }
}

#[test]
fn a_registry_is_asked_once_for_all_messages_of_a_schema() {
    let events = run("bodies");
    let asked =
        |id: &str| output(&events).iter().filter(|line| line.contains("asked") && line.contains(id)).count();
    assert_eq!(["order-1", "order-2"].map(asked), [1, 1], "{:?}", output(&events));
    assert!(asked("order-3") > 1, "one that does not answer is asked again");
}

#[test]
fn the_observer_is_shown_every_batch() {
    let events = run("observed");
    let output = output(&events);
    let observed = output.iter().filter(|line| line.contains("\"message\":\"observed\"")).count();
    let totals = events.last().expect("there are totals");
    assert_eq!(totals["invocations"], observed, "{output:?}");
}
