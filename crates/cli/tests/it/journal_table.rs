//! A journal in a DynamoDB table: its items after a run that was killed, and the writes that it accepts later.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};

use crate::dlq_retry::letters::with_letters;
use crate::proxy::{Call, Fate, Proxy};
use crate::support::running::{signal, until};
use crate::support::spawn;

const RETRY: &str = "dlq retry --queue orders --yes --journal dynamodb:team";
const TWICE: &str = "possible duplicate: an earlier run sent letter ";

/// The table `team`: its items by `id` and `at`.
#[derive(Debug, Clone, Default)]
struct Table(Arc<Mutex<BTreeMap<[String; 2], Value>>>);

impl Table {
    /// The table before an AWS. `fate` gets each call with how many of its action came before, and decides some.
    fn before(
        &self,
        url: &str,
        fate: impl Fn(&Call, usize) -> Option<Fate> + Send + Sync + 'static,
    ) -> Proxy {
        let table = self.clone();
        Proxy::start(url, move |call, before| fate(call, before).unwrap_or_else(|| table.answer(call)))
    }

    fn answer(&self, call: &Call) -> Fate {
        let mut items = self.items();
        let key = |item: &Value| ["id", "at"].map(|name| text(&item[name]));
        match call.action.as_str() {
            "Query" => {
                let id = &call.input["ExpressionAttributeValues"][":id"]["S"];
                let found: Vec<_> = items.values().rev().filter(|item| item["id"]["S"] == *id).collect();
                Fate::Answers(json!({ "Items": found }))
            }
            "BatchWriteItem" => {
                for request in call.input["RequestItems"]["team"].as_array().expect("a list") {
                    let (put, delete) = (&request["PutRequest"]["Item"], &request["DeleteRequest"]["Key"]);
                    if put.is_object() {
                        items.insert(key(put), put.clone());
                    } else {
                        items.remove(&key(delete));
                    }
                }
                Fate::Answers(json!({}))
            }
            _ => Fate::Answered,
        }
    }

    fn items(&self) -> MutexGuard<'_, BTreeMap<[String; 2], Value>> {
        self.0.lock().expect("no test has failed")
    }

    /// Of how many letters that are not done it says this.
    fn open(&self, word: &str) -> usize {
        let is_open = |(key, item): &(&[String; 2], &Value)| {
            key[0].starts_with("letters#") && text(&item["lines"]).contains(word)
        };
        self.items().iter().filter(is_open).count()
    }
}

fn text(attribute: &Value) -> String {
    attribute["S"].as_str().expect("a text").to_owned()
}

#[test]
fn after_a_kill_another_machine_names_the_letters_that_arrive_twice() {
    let (aws, table, at_send) = (with_letters(3, &["panic"]), Table::default(), Arc::new(Mutex::new(0)));
    let (at_table, open) = (table.clone(), at_send.clone());
    let proxy = table.before(&aws.url, move |call, _| {
        if call.action == "SendMessageBatch" {
            *open.lock().unwrap() = at_table.open("");
        }
        (call.action == "DeleteMessageBatch").then_some(Fate::Delayed(Duration::from_secs(60)))
    });
    let mut run = spawn(&proxy.url, RETRY, Path::new("."));
    until("a delete", || !proxy.sizes("DeleteMessageBatch").is_empty() && table.open("\"sent\"") == 3);
    signal("-KILL", &run);
    run.wait().unwrap();
    assert_eq!(*at_send.lock().unwrap(), 3, "letters are written before they are sent");
    aws.skip(61);
    let other = table.before(&aws.url, |_, _| None);
    other.redrive(&format!("{RETRY} --send-again")).ended(1).stderr_count(TWICE, 3);
    assert_eq!(table.open(""), 0);
}

#[test]
fn a_journal_reaches_a_table_that_refuses_writes_at_first() {
    for (at_the_end, warnings) in [(false, 0), (true, 1)] {
        let (aws, table, deletes) = (with_letters(30, &["panic"]), Table::default(), Arc::new(Mutex::new(0)));
        let proxy = table.before(&aws.url, move |call, before| {
            let mut deletes = deletes.lock().unwrap();
            match call.action.as_str() {
                "DeleteMessageBatch" => {
                    *deletes += 1;
                    Some(Fate::EntriesFail((0..10).collect(), "ReceiptHandleIsInvalid"))
                }
                "BatchWriteItem" if before < 3 || at_the_end && *deletes == 0 => {
                    Some(Fate::Answers(json!({ "UnprocessedItems": call.input["RequestItems"] })))
                }
                _ => None,
            }
        });
        let ran = proxy.redrive(RETRY);
        ran.ended(1).stderr_count("warning: no journal: could not write to the table team", warnings);
        assert_eq!(table.open("\"sent\""), 30);
        let other = table.before(&aws.url, |_, _| None);
        other.redrive(&format!("{RETRY} --send-again")).ended(1).stderr_count(TWICE, 30);
        assert_eq!(table.open(""), 0);
    }
}
