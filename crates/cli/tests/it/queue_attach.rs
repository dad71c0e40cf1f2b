//! `redrive queue attach` and `detach`: change redrive policies and keep messages.

use serde_json::{Value, json};

use crate::support::{ACCOUNT, Aws, REGION};
use crate::terminal::Terminal;
use redrive_local::QueueConfig;

fn queue(name: &str) -> QueueConfig {
    let fifo = name.ends_with(".fifo").then(|| ("FifoQueue".to_owned(), "true".to_owned()));
    QueueConfig { name: name.to_owned(), attributes: fifo.into_iter().collect() }
}

fn policy(aws: &Aws, queue: &str) -> Value {
    serde_json::from_str(&aws.attribute(queue, "RedrivePolicy")).unwrap_or_default()
}

fn arn(queue: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}")
}

#[test]
fn a_missing_dead_letter_queue_is_made_and_a_second_time_changes_nothing() {
    let aws = Aws::start(vec![queue("orders"), queue("jobs.fifo"), queue("other")]);
    aws.send("orders", "stays");
    for (source, dead) in [("orders", "orders-dead"), ("jobs.fifo", "jobs-dead.fifo")] {
        let ran = aws.redrive(&format!("queue attach --queue {source} --yes"));
        ran.ended(0);
        let said = format!(
            "{source}: after 10 receives messages go to {dead} (a new queue); it takes SQS up to 60 s"
        );
        ran.stdout_starts(&said);
        assert_eq!(policy(&aws, source)["deadLetterTargetArn"], arn(dead));
        assert_eq!(policy(&aws, source)["maxReceiveCount"], 10);
        assert_eq!(aws.attribute(dead, "MessageRetentionPeriod"), "1209600");
        let allowed: Value =
            serde_json::from_str(&aws.attribute(dead, "RedriveAllowPolicy")).expect("it is set");
        assert_eq!(allowed, json!({ "redrivePermission": "byQueue", "sourceQueueArns": [arn(source)] }));
        aws.redrive(&format!("queue attach --queue {source}"))
            .told(0, "")
            .stdout_starts(format!("{source}: no change"));
    }
    let refused = aws.redrive("queue attach --queue other --dead-letter-queue orders-dead --yes");
    refused.ended(2).stderr_has("the redrive allow policy of orders-dead does not let other use it");
    assert_eq!(aws.attribute("jobs-dead.fifo", "FifoQueue"), "true");
    assert_eq!(aws.attribute("orders", "ApproximateNumberOfMessages"), "1");
}

#[test]
fn the_advice_on_the_allow_policy_works_as_printed() {
    let mut deaf = queue("deaf");
    deaf.attributes.insert("RedriveAllowPolicy".to_owned(), r#"{"redrivePermission":"denyAll"}"#.to_owned());
    let aws = Aws::start(vec![queue("orders"), deaf]);
    let attach = ["queue", "attach", "--queue", "orders", "--dead-letter-queue", "deaf", "--yes"];
    let refused = aws.redrive(&attach);
    let json = refused.stderr.split("--attributes '").nth(1).and_then(|rest| rest.split('\'').next());
    let attributes: Value = serde_json::from_str(json.expect("it says how")).expect("it is JSON");
    let allow = attributes["RedriveAllowPolicy"].as_str().expect("it is a text");
    let request = aws.sqs.set_queue_attributes().queue_url(aws.queue_url("deaf"));
    aws.wait(request.attributes("RedriveAllowPolicy".into(), allow).send()).expect("SQS takes it");
    aws.redrive(&attach).ended(0);
}

#[test]
fn nobody_is_asked_without_a_terminal_and_a_no_changes_nothing() {
    let aws = Aws::with_orders(false);
    for verb in [&["queue", "attach", "--max-receive-count", "9"][..], &["queue", "detach"]] {
        let arguments = [verb, &["--queue", "orders"]].concat();
        let ran = aws.redrive(&arguments);
        ran.ended(2);
        ran.stderr_has("redrive: not a terminal, cannot confirm: pass --yes to ");
        let mut terminal = Terminal::redrive(&aws, &arguments);
        terminal.expect(&format!("In account 123456789012, eu-west-1, {}. [y/N]", aws.url));
        terminal.enter("n");
        terminal.ends(1);
        terminal.shows("not confirmed: nothing was changed");
        assert_eq!(policy(&aws, "orders")["maxReceiveCount"], 3);
    }
    let mut terminal = Terminal::redrive(&aws, "queue attach --queue orders --max-receive-count 9");
    terminal.expect("[y/N]");
    terminal.enter("y");
    terminal.ends(0);
    assert_eq!(policy(&aws, "orders")["maxReceiveCount"], 9);
}
