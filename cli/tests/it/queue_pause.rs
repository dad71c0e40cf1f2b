//! `redrive queue pause` and `resume`: the mappings off, and on again.

use std::time::{Duration, SystemTime};

use aws_sdk_scheduler::types::{ActionAfterCompletion, FlexibleTimeWindow, FlexibleTimeWindowMode, Target};
use redrive_sqs::pause_schedules;
use serde_json::{Value, json};

use crate::support::running::until;
use crate::support::{ACCOUNT, Aws, REGION};
use crate::terminal::Terminal;

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

/// What a function that pauses itself does: schedules in 5 and in 8 minutes, and a mapping that is disabled.
fn pause_itself(aws: &Aws) -> String {
    let status = aws.redrive("queue status --stack shop --json").json();
    let uuid = status["mappings"][0]["uuid"].as_str().expect("there is a mapping").to_owned();
    let queue_arn = format!("arn:aws:sqs:{REGION}:{ACCOUNT}:orders");
    let names = pause_schedules(&queue_arn, &format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:worker"));
    for (name, minutes, limit) in
        names.into_iter().zip([5, 8]).zip([2, 3]).map(|((name, at), limit)| (name, at, limit))
    {
        let at = humantime::format_rfc3339_seconds(SystemTime::now() + Duration::from_secs(60 * minutes));
        let input =
            json!({ "Uuid": uuid, "Enabled": true, "ScalingConfig": { "MaximumConcurrency": limit } });
        let target = Target::builder()
            .arn("arn:aws:scheduler:::aws-sdk:lambda:updateEventSourceMapping")
            .role_arn("arn:aws:iam::123456789012:role/resume")
            .input(input.to_string());
        let exactly = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build();
        let create = scheduler(aws)
            .create_schedule()
            .name(name)
            .schedule_expression(format!("at({})", at.to_string().trim_end_matches('Z')))
            .flexible_time_window(exactly.expect("it has a mode"))
            .target(target.build().expect("it has an ARN and a role"))
            .action_after_completion(ActionAfterCompletion::Delete);
        aws.wait(create.send()).expect("it is created");
    }
    let config = aws_sdk_lambda::Config::builder()
        .behavior_version(aws_sdk_lambda::config::BehaviorVersion::latest())
        .region(aws_sdk_lambda::config::Region::new(REGION))
        .credentials_provider(aws_sdk_lambda::config::Credentials::new("local", "local", None, None, "tests"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(&aws.url);
    let lambda = aws_sdk_lambda::Client::from_conf(config.build());
    aws.wait(lambda.update_event_source_mapping().uuid(&uuid).enabled(false).send()).expect("it is disabled");
    uuid
}

fn scheduler(aws: &Aws) -> aws_sdk_scheduler::Client {
    let config = aws_sdk_scheduler::Config::builder()
        .behavior_version(aws_sdk_scheduler::config::BehaviorVersion::latest())
        .region(aws_sdk_scheduler::config::Region::new(REGION))
        .credentials_provider(aws_sdk_scheduler::config::Credentials::new(
            "local", "local", None, None, "tests",
        ))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(&aws.url);
    aws_sdk_scheduler::Client::from_conf(config.build())
}

fn mapping(aws: &Aws) -> (String, Value, Value) {
    let mapping = aws.redrive("queue status --stack shop --json").json()["mappings"][0].clone();
    (
        mapping["state"].as_str().expect("it has a state").to_owned(),
        mapping["maximum_concurrency"].clone(),
        mapping["pause"].clone(),
    )
}

#[test]
fn a_pause_by_the_function_itself_is_shown_and_ends() {
    let aws = Aws::with_shop(true);
    pause_itself(&aws);
    aws.redrive("queue status --stack shop").ended(0).stdout_has("paused by itself until 20");
    let (state, _, pause) = mapping(&aws);
    assert!(
        state == "Disabled" && pause["resumes_at"].is_string() && pause["restores_at"].is_string(),
        "{pause}"
    );
    aws.skip(301);
    until("the schedule has run", || mapping(&aws).0 == "Enabled");
    let (_, limit, pause) = mapping(&aws);
    assert!(limit == 2 && pause["resumes_at"].is_null(), "{pause}");
    aws.redrive("queue status --stack shop").ended(0).stdout_has("starts slowly until 20");
    aws.skip(180);
    until("the other has run", || mapping(&aws) == ("Enabled".to_owned(), json!(3), Value::Null));
}

#[test]
fn resume_and_pause_end_a_pause_by_the_function_itself() {
    for (verb, state) in [("resume", "Enabled"), ("pause", "Disabled")] {
        for skipped in [0, 301] {
            let aws = Aws::with_shop(true);
            pause_itself(&aws);
            until("it is disabled", || mapping(&aws).0 == "Disabled");
            aws.skip(skipped);
            until("it starts slowly", || skipped == 0 || mapping(&aws).1 == 2);
            aws.redrive(&format!("queue {verb} --stack shop"))
                .ended(0)
                .stdout_has(format!("orders -> worker: {state}"));
            assert_eq!(mapping(&aws), (state.to_owned(), json!(3), Value::Null), "{verb} {skipped}");
            aws.skip(600);
            assert_eq!(mapping(&aws), (state.to_owned(), json!(3), Value::Null), "nothing undoes it");
        }
    }
}
