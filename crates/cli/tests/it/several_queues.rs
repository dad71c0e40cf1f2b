//! A function that two queues feed, with the settings of each.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::support::running::{built, root};
use crate::support::{Ran, command};

#[test]
fn a_message_ends_after_the_deliveries_of_its_own_queue() {
    let folder = tempfile::tempdir().expect("a folder");
    let order = |gateway: &str| json!({"order_id": "A-1", "lines": [{"sku": "tea", "quantity": 1}], "gateway": gateway});
    let mut lines = String::new();
    for (queue, gateway) in [("Orders", "down"), ("Refunds", "down"), ("Refunds", "refuses")] {
        let _ = writeln!(lines, "{}", json!({"queue": queue, "body": order(gateway)}));
    }
    let send = folder.path().join("send.jsonl");
    std::fs::write(&send, lines).expect("it can be written");
    let template = root().join("crates/cli/tests/doctor/corpus/two-queues-named.yaml");
    let paths =
        [&template, &built("orders"), &send].map(|path| path.to_str().expect("it is text").to_owned());
    let ran = Ran::of(command("local --speed max --until-idle --json").current_dir(folder.path()).args([
        "--template",
        &paths[0],
        "--binary",
        &paths[1],
        "--send",
        &paths[2],
    ]));
    let events: Vec<Value> = ran
        .ended(0)
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    let ends = events.iter().filter(|event| event["kind"] == "dead_lettered");
    let ends: Vec<_> = ends.map(|it| json!([it["queue"], it["attempt"], it["reason"]])).collect();
    let expected = [
        json!(["redrive-Refunds", 1, "card-refused"]),
        json!(["redrive-Orders", 5, "redrive policy"]),
        json!(["redrive-Refunds", 7, "redrive policy"]),
    ];
    assert_eq!(ends, expected);
}
