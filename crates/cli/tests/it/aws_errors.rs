//! Errors of AWS: each is one line with the remedy.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;

use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, REGION, Ran, command, command_at, on, spawn};

fn refusal(ran: &Ran, code: i32, expected: &str) {
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (code, "", 1), "{ran:?}");
    assert!(
        ran.stderr.starts_with("redrive: ") && ran.stderr.contains(expected),
        "no {expected:?} in {ran:?}"
    );
}

#[test]
fn a_queue_is_found_by_url_arn_stack_and_function() {
    let aws = Aws::with_shop(false);
    let url = aws.queue_url("orders");
    let arn = format!("arn:aws:sqs:{REGION}:123456789012:orders");
    for which in [
        ["--queue", &url],
        ["--queue", &arn],
        ["--queue", "orders-dead"],
        ["--stack", "shop"],
        ["--function", "worker"],
    ] {
        let report = aws.redrive(&[&["queue", "status", "--json"], &which[..]].concat()).json();
        assert_eq!(
            (&report["queue"]["name"], &report["dead_letter_queue"]["name"]),
            (&"orders".into(), &"orders-dead".into())
        );
    }
}

#[test]
fn nobody_at_the_endpoint_is_one_line() {
    let ran = Ran::of(&mut command_at("http://127.0.0.1:1", "queue detach --queue orders"));
    refusal(&ran, 1, "no connection (");
    refusal(&ran, 1, "is the region or --endpoint-url right?");
    let ran = Ran::of(&mut command_at("127.0.0.1:1", "queue detach --queue orders"));
    refusal(&ran, 2, "--endpoint-url is \"127.0.0.1:1\", allowed: http://HOST:PORT");
}

#[test]
fn an_answer_that_is_not_from_aws_is_named_with_its_status_and_url() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    for (status, kind, body) in [
        (500, "text/plain", "boom"),
        (200, "text/html", "<html><h1>Log in</h1></html>"),
        (502, "text/html", "<html><title>502 Bad Gateway</title></html>"),
        (200, "application/x-amz-json-1.0", "{\"QueueUrls\": \"no"),
    ] {
        let listener =
            runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port is free");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let code = StatusCode::from_u16(status).expect("it is a status");
        let app = Router::new().fallback(move || async move { (code, [(CONTENT_TYPE, kind)], body) });
        runtime.spawn(async move { axum::serve(listener, app).await });
        let status = format!("the response is not from AWS (status {status} from {url}");
        refusal(&Ran::of(&mut command_at(&url, "queue detach --queue orders")), 1, &status);
        let ran = Ran::of(&mut command_at(&url, "fleet"));
        ran.ended(1).stdout_has(&status).stdout_starts("no dead-letter queue was read: ");
    }
}

#[test]
fn an_endpoint_that_never_answers_is_named_and_left() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", silent.local_addr().expect("it is bound"));
    let runs = [
        "queue status --queue orders",
        "queue attach --queue orders",
        "queue detach --queue orders",
        "queue pause --queue orders",
        "send --queue orders --body x",
        "dlq list --queue orders",
        "dlq retry --stack shop --yes",
        "dlq delete --all --function worker --yes",
        "dlq purge --queue orders --yes",
        "doctor --stack shop",
        "doctor --all",
        "dlq list --all",
    ];
    let runs = runs.map(|line| (line, spawn(&url, &format!("{line} --timeout 2"), Path::new("."))));
    for (line, child) in runs {
        let ran = Ran::end(child);
        assert_eq!(ran.code, 1, "{line}: {ran:?}");
        let silence = format!("redrive: no answer from {url} for 1 s; waiting up to 2 s (--timeout)\n");
        assert_eq!(ran.stderr.matches(&silence).count(), 1, "{line}: {ran:?}");
        ran.stderr_has("no answer in time: is the endpoint right? --timeout waits longer");
    }
}

#[test]
fn a_receive_without_an_answer_ends_the_run_with_a_warning() {
    let aws = Aws::with_orders(false);
    aws.letter("1");
    let proxy = Proxy::start(&aws.url, on("ReceiveMessage", Fate::Delayed(Duration::from_secs(20))));
    for line in ["list", "export -", "retry --yes", "delete --all --yes"] {
        let began = Instant::now();
        let ran = proxy.redrive(&format!("dlq {line} --queue orders --timeout 2"));
        ran.ended(1).stderr_count("retrying", 0).stderr_has(
            "redrive: could not receive from orders-dead: no answer in time: is the endpoint right? --timeout waits longer; \
             letters that SQS may have handed out stay hidden for up to 60 s",
        );
        assert!(began.elapsed() < Duration::from_secs(10), "{line}: {:?}", began.elapsed());
    }
}

#[test]
fn the_wait_for_letters_does_not_count_against_the_limit() {
    let aws = Aws::with_orders(false);
    // There are no letters: SQS waits for one for a second on top.
    for (milliseconds, told) in [(300, 0), (1_500, 1)] {
        let slow = Fate::Delayed(Duration::from_millis(milliseconds));
        let proxy = Proxy::start(&aws.url, on("ReceiveMessage", slow));
        let ran = proxy.redrive("dlq list --queue orders --timeout 2");
        ran.ended(0).stderr_count("no answer", told).stderr_ends("no letters are visible in orders-dead\n");
    }
}

#[test]
fn slow_answers_are_told_once() {
    let aws = Aws::with_orders(false);
    let proxy = Proxy::start(&aws.url, |_, _| Fate::Delayed(Duration::from_millis(1_200)));
    proxy.redrive("queue status --queue orders --timeout 2").ended(0).stderr_count("no answer from", 1);
}

#[test]
fn a_call_that_takes_its_time_is_waited_for() {
    let aws = Aws::with_orders(false);
    let proxy = Proxy::start(&aws.url, on("GetQueueUrl", Fate::Delayed(Duration::from_secs(2))));
    let ran = proxy.redrive("queue detach --queue orders --dry-run --timeout 3");
    ran.ended(0).stderr_has(format!("no answer from {} for 1 s; waiting up to 3 s", proxy.url));
}

#[test]
fn the_environment_says_where_aws_is() {
    let aws = Aws::with_orders(false);
    let status = ["queue", "status", "--queue", "orders"];
    for name in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS"] {
        let mut command = command(&status);
        let keys = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_REGION", REGION)];
        // What is for SQS alone leaves CloudWatch and Lambda where nobody is.
        let ran =
            Ran::of(command.envs(keys).env("AWS_ENDPOINT_URL", "http://127.0.0.1:1").env(name, &aws.url));
        ran.ended(0);
        assert_eq!(ran.stdout.contains("alarm                 none"), name == "AWS_ENDPOINT_URL", "{ran:?}");
    }
    let ran =
        Ran::of(command(&status).env("AWS_ENDPOINT_URL_SQS", "localhost:9324").env("AWS_REGION", REGION));
    refusal(&ran, 2, "AWS_ENDPOINT_URL_SQS is \"localhost:9324\", allowed: http://HOST:PORT");
    // Without an endpoint of its own, a verb that deletes goes where the environment says.
    Ran::of(
        command("dlq purge --queue orders --yes").env("AWS_ENDPOINT_URL", &aws.url).env("AWS_REGION", REGION),
    )
    .ended(0);
    // Nobody needs credentials for what is on this machine.
    for name in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS"] {
        let mut command = command("queue detach --queue orders --dry-run");
        Ran::of(command.env(name, &aws.url).env("AWS_REGION", REGION)).ended(0);
    }
}

#[test]
fn a_profile_says_where_aws_is() {
    let aws = Aws::with_orders(false);
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let (config, credentials) = (folder.path().join("config"), folder.path().join("credentials"));
    let text = format!(
        "[profile shop]\nregion = {REGION}\nendpoint_url = {}\n[profile far]\nregion = us-east-1\nendpoint_url = {0}\n\
         [profile bare]\nendpoint_url = http://127.0.0.1:1\nregion = {REGION}\nservices = own\n[services own]\nsqs =\n  endpoint_url = {0}\n",
        aws.url
    );
    fs::write(&config, text).expect("it is ours");
    fs::write(&credentials, "[shop]\naws_access_key_id = a\naws_secret_access_key = b\n")
        .expect("it is ours");
    let run = |arguments: &[&str], profile: Option<&str>| {
        let mut command = command(arguments);
        command.env("AWS_CONFIG_FILE", &config).env("AWS_SHARED_CREDENTIALS_FILE", &credentials);
        Ran::of(command.envs(profile.map(|profile| ("AWS_PROFILE", profile))))
    };
    let arn = format!("arn:aws:sqs:{REGION}:123456789012:orders");
    let detach = ["queue", "detach", "--dry-run", "--queue", &arn];
    assert_eq!(run(&detach, Some("shop")).code, 0);
    assert_eq!(run(&[&detach[..], &["--profile", "shop"]].concat(), None).code, 0);
    refusal(&run(&detach, Some("far")), 1, "is in eu-west-1, not in us-east-1: pass --region eu-west-1");
    assert_eq!(run(&detach, Some("bare")).code, 0, "an endpoint for SQS alone");
    run(&["dlq", "purge", "--queue", "orders", "--yes", "--profile", "shop"], None).ended(0);
    let nope = "is \"nope\", but your AWS settings have no such profile; known: bare, far, shop\n";
    let with_flag = run(&[&detach[..], &["--profile", "nope"]].concat(), None);
    with_flag.told(2, format!("redrive: --profile {nope}"));
    run(&detach, Some("nope")).told(2, format!("redrive: AWS_PROFILE {nope}"));
    let elsewhere = run(&[&detach[..], &["--profile", "nope", "--endpoint-url", &aws.url]].concat(), None);
    refusal(&elsewhere, 2, "no such profile");
    let by_name = run(&["queue", "detach", "--dry-run", "--queue", "orders"], None);
    refusal(&by_name, 2, "no region: pass --region, or set AWS_REGION");
    refusal(&run(&detach, None), 2, "no credentials for AWS: set a profile");
}
