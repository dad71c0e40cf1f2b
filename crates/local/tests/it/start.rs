use std::process::Command;
use std::time::Duration;

use redrive_local::{Config, EventKind, InvocationOutcome, Local, Speed, StartError, StartFailure};

use crate::support::{message, run, shop};

#[tokio::test]
async fn a_function_that_never_starts_is_given_up_and_its_messages_stay() {
    for (start, reason, output) in [
        ("exit", "it exited before it polled the Runtime API (exit status: 7)", &["no license"][..]),
        ("error", "it reported Setup: no database", &[]),
    ] {
        let mut config = shop(Speed::Max);
        config.functions[0].environment.insert("START".into(), start.into());
        config.queues[0].attributes.remove("RedrivePolicy");
        let history = run(config, &["ok"]).await;
        let output = output.iter().map(|line| (*line).to_owned()).collect();
        let outcome = InvocationOutcome::NotStarted(StartFailure { reason: reason.to_owned(), output });
        assert_eq!(history.outcomes(), vec![&outcome; 3]);
        let gave_up: Vec<_> =
            history.kinds().filter(|kind| matches!(kind, EventKind::GaveUp { .. })).collect();
        let InvocationOutcome::NotStarted(failure) = outcome else { return };
        let reason = format!("it failed 3 times in a row; the last time, {failure}");
        assert_eq!(gave_up, [&EventKind::GaveUp { function: "worker".to_owned(), reason }]);
        assert_eq!(history.totals.left, 1);
    }
}

#[tokio::test]
async fn a_function_that_does_not_start_uses_up_the_deliveries_of_its_messages() {
    let mut config = shop(Speed::Max);
    config.functions[0].environment.insert("START".into(), "exit".into());
    let policy = config.queues[0].attributes.get_mut("RedrivePolicy").unwrap();
    *policy = policy.replace("\"maxReceiveCount\":3", "\"maxReceiveCount\":2");
    let history = run(config, &["ok"]).await;
    assert_eq!(history.outcomes().len(), 2);
    assert_eq!(history.totals.dead_lettered, [("redrive policy".to_owned(), 1)].into());
    assert!(history.lines().contains(&"no license"));
}

#[tokio::test]
async fn a_port_in_use_is_a_clear_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let error =
        Local::start(Config { listen: ([127, 0, 0, 1], port).into(), ..shop(Speed::Max) }).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("port {port} is in use; choose another one, or 0 for any that is free")
    );
}

async fn refusal(change: impl FnOnce(&mut Config)) -> String {
    let mut config = shop(Speed::Max);
    change(&mut config);
    Local::start(config).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_configuration_that_aws_refuses_is_refused() {
    let timeout = refusal(|config| config.functions[0].timeout = Duration::from_secs(300)).await;
    assert!(
        timeout.ends_with("queue visibility timeout: 30 seconds is less than function timeout: 300 seconds"),
        "{timeout}"
    );
    let queue = refusal(|config| config.mappings[0].queue = "tea".into()).await;
    assert_eq!(queue, "mapping of queue tea to function worker: there is no such queue");
    let function = refusal(|config| config.mappings[0].function = "cook".into()).await;
    assert_eq!(function, "mapping of queue orders to function cook: there is no such function");
    let speed = refusal(|config| config.speed = Speed::Times(f64::NAN)).await;
    assert_eq!(speed, "speed NaN is not above 0 and at most 1000000");
    let command = refusal(|config| config.functions[0].command = "/no/bootstrap".into()).await;
    assert_eq!(command, "function worker: no executable at /no/bootstrap");
}

#[tokio::test]
async fn a_queue_that_sqs_refuses_is_named() {
    let mut config = shop(Speed::Max);
    config.queues[1].attributes.insert("VisibilityTimeout".into(), "50000".into());
    let error = Local::start(config).await.unwrap_err();
    assert!(matches!(error, StartError::Queue { ref name, .. } if name == "orders-dead"), "{error}");
}

#[tokio::test]
async fn a_low_visibility_timeout_is_warned_about() {
    let mut config = shop(Speed::Max);
    config.functions[0].timeout = Duration::from_secs(6);
    let local = Local::start(config).await.unwrap();
    assert_eq!(
        local.warnings(),
        [
            "queue orders: visibility timeout 30 s is below the recommended 36 s, six times the timeout of function \
          worker and the batching window"
        ]
    );
    local.stop().await;
}

#[tokio::test]
async fn stopping_ends_every_process_even_one_that_hangs() {
    let mut config = shop(Speed::Max);
    config.functions[0].timeout = Duration::from_secs(30);
    let mut local = Local::start(config).await.unwrap();
    let mut events = local.take_events();
    local.send("orders", message("hang")).unwrap();
    let mut pid = None;
    while let Some(event) = events.recv().await {
        if let EventKind::Output { line, .. } = event.kind {
            match line.strip_prefix("started ") {
                Some(started) => pid = Some(started.to_owned()),
                // It has its message.
                None => break,
            }
        }
    }
    let totals = local.stop().await;
    assert_eq!(totals.left, 1);
    let alive = Command::new("kill").args(["-0", &pid.unwrap()]).output().unwrap();
    assert!(!alive.status.success());
}
