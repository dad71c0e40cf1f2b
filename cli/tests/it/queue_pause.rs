//! `redrive queue pause` and `resume`: the mappings off, and on again.

use crate::proxy::Proxy;
use crate::support::{ACCOUNT, Aws, REGION, Ran, command_at};
use crate::terminal::Terminal;

fn state(aws: &Aws) -> String {
    let report = aws.redrive("queue status --stack shop --json").json();
    report["mappings"][0]["state"].as_str().expect("there is a mapping").to_owned()
}

#[test]
fn a_paused_queue_keeps_its_messages_until_it_is_resumed() {
    let aws = Aws::with_shop(true);
    aws.redrive("queue pause --stack shop")
        .ended(0)
        .stdout_starts("orders -> worker: Disabled, was Enabled (")
        .stderr_has("messages in flight are still processed")
        .stderr_has("their retention of 4d continues")
        .stderr_has(format!("redrive: disabling mappings in account {ACCOUNT}, {REGION}, {}\n", aws.url))
        .stderr_has(format!(
            "\nafterwards: redrive queue resume --stack shop --region {REGION} --endpoint-url {}\n",
            aws.url
        ));
    aws.send("orders", "ok");
    aws.skip(60);
    assert_eq!(aws.attribute("orders", "ApproximateNumberOfMessages"), "1");

    aws.redrive("queue pause --queue orders").stdout_has(": Disabled, as before");
    let mappings = aws.redrive("queue resume --function worker --json").json();
    assert_eq!((&mappings[0]["state"], mappings.as_array().map(Vec::len)), (&"Enabled".into(), Some(1)));
    assert_eq!(state(&aws), "Enabled");
}

#[test]
fn a_dry_run_says_what_would_change() {
    let aws = Aws::with_shop(true);
    aws.redrive("queue pause --queue orders --dry-run")
        .stdout_starts("orders -> worker: is Enabled, would become Disabled (");
    aws.redrive("queue resume --queue orders --dry-run")
        .stdout_starts("orders -> worker: is Enabled, no change (");
    assert_eq!(state(&aws), "Enabled");
}

#[test]
fn a_terminal_shows_that_it_waits_for_what_is_in_flight() {
    let aws = Aws::with_shop(true);
    aws.send("orders", "slow 9000");
    while aws.attribute("orders", "ApproximateNumberOfMessagesNotVisible") != "1" {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let mut terminal = Terminal::redrive(&aws, "queue pause --stack shop");
    terminal.expect("waiting until Lambda has made 1 mapping Disabled (1s)");
    terminal.ends(0);
    let screen = terminal.screen();
    assert!(
        screen.contains("orders -> worker: Disabled, was Enabled") && !screen.contains("waiting until"),
        "{screen}"
    );
    assert_eq!(aws.attribute("orders", "ApproximateNumberOfMessagesNotVisible"), "0", "it was finished");
}

#[test]
fn who_does_not_want_to_wait_is_told_the_state_on_the_way() {
    let aws = Aws::with_shop(true);
    aws.send("orders", "slow 9000");
    while aws.attribute("orders", "ApproximateNumberOfMessagesNotVisible") != "1" {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    aws.redrive("queue pause --stack shop --wait 1")
        .ended(1)
        .stderr_has("is still Disabling; Lambda continues, see redrive queue status");
    // It cannot be changed while it changes.
    aws.redrive("queue resume --stack shop --wait 1").ended(1).stderr_has("was not changed: try again");
    let ran = aws.redrive("queue resume --stack shop --wait 30");
    assert_eq!(ran.code, 0, "once it has settled it is changed: {ran:?}");
}

#[test]
fn what_has_no_mapping_and_what_may_not_be_changed_is_one_line() {
    let aws = Aws::with_shop(true);
    aws.redrive("queue pause --queue orders-dead")
        .refused(1, "redrive: no event source mapping polls orders-dead; ");
    aws.redrive("queue pause --function nobody").refused(1, "");
    let fault = ("PUT /2015-03-31/event-source-mappings", "AccessDeniedException", "no");
    let url = Proxy::refusing(&aws.url, [fault]).url;
    Ran::of(&mut command_at(&url, "queue pause --stack shop"))
        .ended(1)
        .stderr_has("your credentials need lambda:UpdateEventSourceMapping (no)");
    assert_eq!(state(&aws), "Enabled");
}

#[test]
fn where_workers_poll_a_queue_what_stops_and_starts_them_is_said() {
    let aws = Aws::with_orders(false);
    for more in ["", " --dry-run"] {
        aws.redrive(&format!("queue pause --queue orders{more}")).told(
            1,
            "redrive: no event source mapping polls orders; to stop workers, pause their autoscaling, then set the ECS \
             service's desired count or the Deployment's replicas to 0\n",
        );
    }
    aws.redrive("queue resume --queue orders")
        .refused(1, "to start workers, raise the ECS service's desired count");
}
