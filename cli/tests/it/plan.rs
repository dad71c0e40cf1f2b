//! `redrive plan` from outside.

use std::time::Duration;

use serde_json::Value;

use crate::support::running::root;
use crate::support::{Ran, command};

fn run(line: &str) -> Ran {
    let mut command = command(&format!("plan template.yaml --messages 100 {line}"));
    Ran::of(command.current_dir(root()).timeout(Duration::from_secs(240)))
}

fn scenario<'a>(plan: &'a Value, name: &str, errors: &str) -> &'a Value {
    let scenarios = plan["scenarios"].as_array().expect("a list");
    let found = scenarios.iter().find(|it| it["scenario"] == name && it["errors"] == errors);
    found.expect("it was simulated")
}

#[test]
fn only_outages_that_the_handler_names_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let svg = folder.path().join("plan.svg");
    let line = format!("--json --svg {}", svg.display());
    let ran = run(&line);
    let plan = ran.told(0, "").json();
    let (any, outage) = (scenario(&plan, "outage", "retry"), scenario(&plan, "outage", "outage"));
    let dead = any["dead_letters"].as_u64().expect("a number");
    assert!((80..100).contains(&dead), "{any}");
    assert_eq!((&outage["dead_letters"], &outage["expired"]), (&0.into(), &0.into()));
    let calls = |figures: &Value| figures["calls"].as_u64().expect("a number");
    assert!(calls(any) >= 10 * dead && calls(outage) < calls(any) / 3, "{any} {outage}");
    assert_eq!(scenario(&plan, "burst", "retry")["dead_letters"], 0);
    assert_eq!(scenario(&plan, "noisy", "outage")["dead_letters"], 0);
    let lossless = plan["lossless"].as_array().expect("a list");
    assert!(lossless.iter().any(|it| it["max_receive_count"] == 10 && it["errors"] == "outage"));
    assert!(!lossless.iter().any(|it| it["max_receive_count"] == 10 && it["errors"] == "retry"));
    assert!(lossless.is_sorted_by_key(|it| it["cost"].as_f64()), "the cheapest first");
    let picture = std::fs::read_to_string(svg).expect("it was drawn");
    assert_eq!((picture.matches("<g ").count(), picture.matches("class=\"b\"").count()), (5, 5));
}

#[test]
fn the_same_plan_has_the_same_figures() {
    let line = "--json --scenario noisy --outage 1h";
    let first = run(line);
    first.told(0, "").json();
    assert_eq!(run(line).stdout, first.stdout);
}

#[test]
fn a_condition_that_is_met_fails() {
    let outage = "--scenario outage --outage 1h --fail-if";
    run(&format!("{outage} 'dead > 0' --errors retry"))
        .ended(1)
        .stderr_has("redrive: --fail-if: dead > 0 is met in outage with ?, where dead is ");
    run(&format!("{outage} 'dead > 0' --errors outage --fail-if 'recovery > 2h'"))
        .told(0, "")
        .stdout_has("REDRIVE_MAX_RECEIVE_COUNT to 3")
        .stdout_has("with .map_err(Failure::outage)");
}

#[test]
fn what_cannot_be_simulated_is_wrong_input() {
    for (arguments, expected) in [
        ("--fail-if 'letters > 0'", "allowed fields: dead, recovery, calls, cost"),
        ("--fail-if 'dead > many'", "allowed values: a number such as 0 or 2.5"),
        ("--rate fast", "allowed: messages per second, minute or hour, such as 10/s, 500/min or 20/h"),
        ("--outage 90d", "allowed: 1ms to 3d"),
        ("--scenario flood", "[possible values: outage, burst, noisy]"),
        ("--stack shop", "cannot be used with"),
    ] {
        run(arguments).printed(2, "").stderr_has(expected);
    }
}
