use std::collections::HashMap;

use redrive_sqs::OriginSenders;

use super::*;
use redrive_engine::{Backoff, LastDelivery, OnFailure, Overrides, Rate};

fn read(variables: &[(&str, &str)]) -> Result<Settings, String> {
    let variables: HashMap<_, _> = variables.iter().copied().collect();
    let settings =
        Settings::default().or_environment(|name| variables.get(name).map(|value| (*value).to_owned()));
    let settings = settings.map_err(|error| error.to_string())?;
    settings.check().map_err(|error| error.to_string())?;
    Ok(settings)
}

#[test]
fn every_variable_is_read() {
    let url = "https://sqs.eu-central-1.amazonaws.com/123456789012/orders-dead";
    let settings = read(&[
        ("REDRIVE_DEAD_LETTER_QUEUE_URL", url),
        ("REDRIVE_MAX_RECEIVE_COUNT", "7"),
        ("REDRIVE_VISIBILITY_TIMEOUT", "480"),
        ("REDRIVE_CONCURRENCY", "3"),
        ("REDRIVE_TIME_LIMIT", "2.5"),
        ("REDRIVE_RESERVE", "1"),
        ("REDRIVE_BACKOFF", r#"{"kind":"fixed","delay":9}"#),
        ("REDRIVE_OVERRIDES", "900"),
        ("REDRIVE_ORIGIN_SENDERS", "AIDAUSER, AROAROLE:ci"),
        ("REDRIVE_ON_PANIC", "retry"),
        ("REDRIVE_ON_MALFORMED", "retry"),
        ("REDRIVE_LAST_DELIVERY", "dead-letter"),
        ("REDRIVE_METRICS", "emf"),
        ("REDRIVE_METRICS_NAMESPACE", "Shop/Orders"),
    ])
    .unwrap();
    assert_eq!(settings.dead_letter_queue_url.as_deref(), Some(url));
    assert_eq!((settings.max_receive_count.as_deref().copied(), settings.concurrency()), (Some(7), 3));
    assert_eq!(settings.visibility_timeout(), Duration::from_secs(480));
    assert_eq!(settings.longest(), Duration::from_secs(42_720));
    assert_eq!(
        (settings.time_limit.as_deref().copied(), settings.reserve.as_deref().copied()),
        (Some(Duration::from_millis(2_500)), Some(Duration::from_secs(1)))
    );
    assert_eq!(settings.backoff, Some(Backoff::fixed(Duration::from_secs(9)).unwrap()));
    assert_eq!(settings.overrides, Some(Overrides::UpTo(Duration::from_secs(900))));
    assert_eq!(settings.origin_senders.as_deref(), Some(&OriginSenders::new(["AIDAUSER", "AROAROLE:ci"])));
    assert_eq!((settings.on_panic, settings.on_malformed), (Some(OnFailure::Retry), Some(OnFailure::Retry)));
    assert_eq!(settings.last_delivery, Some(LastDelivery::DeadLetter));
    assert_eq!((settings.metrics, settings.namespace()), (Some(Metrics::Emf), "Shop/Orders"));
}

#[test]
fn overrides_are_a_word_or_a_number_of_seconds() {
    let overrides = |value| read(&[("REDRIVE_OVERRIDES", value)]).unwrap().overrides;
    assert_eq!(overrides("off"), Some(Overrides::Off));
    assert_eq!(overrides("less"), Some(Overrides::Less));
    assert_eq!(overrides("0.5"), Some(Overrides::UpTo(Duration::from_millis(500))));
}

#[test]
fn a_sender_that_the_code_names_and_that_is_no_unique_id_is_refused() {
    let mut named = Settings::default();
    named.origin_senders = named.keep(OriginSenders::new(["*"]));
    let refusal = named.check().unwrap_err().to_string();
    assert!(refusal.starts_with("origin sender is \"*\", allowed: the unique id"), "{refusal}");
}

#[test]
fn a_time_limit_of_the_code_is_within_what_the_variable_allows() {
    const LONGEST: Duration = Duration::from_secs(5_400);
    let of = |limit| {
        let mut settings = Settings::default();
        settings.time_limit = settings.keep(limit);
        settings.check()
    };
    assert_eq!(of(LONGEST), Ok(()));
    for limit in [Duration::ZERO, LONGEST + Duration::from_nanos(1), Duration::MAX] {
        let refusal = of(limit).unwrap_err().to_string();
        assert_eq!(refusal, format!("time limit is {limit:?}, allowed: more than 0 s, at most 5400 s"));
    }
}

#[tokio::test]
async fn all_numbers_that_the_code_sets_are_refused_in_the_same_words() {
    let consumer = || crate::Consumer::new(|_: crate::Bulk<u8>| async { Ok::<_, crate::Failure>(()) });
    for (consumer, name, allowed) in [
        (consumer().concurrency(0), "concurrency", "1 to 10000"),
        (consumer().chunks(crate::Chunks::of(0)), "chunk size", "1 to 10000"),
        (consumer().chunks(crate::Chunks::default().bytes(0)), "chunk bytes", "1 to 4294967295"),
        (consumer().max_receive_count(0), "max receive count", "1 to 1000"),
        (consumer().rate(Rate::per_second(0)), "rate", "1 to 1000000 messages a second, minute or hour"),
    ] {
        let value = if name == "rate" { "0/s" } else { "0" };
        let refused = [
            consumer.clone().handle(Default::default(), crate::Invocation::default()).await.unwrap_err(),
            consumer.connect().await.unwrap_err(),
        ];
        let expected = format!("{name} is {value}, allowed: {allowed}");
        assert_eq!(refused.map(|error| error.to_string()), [expected.clone(), expected]);
    }
}

#[test]
fn the_last_call_for_a_setting_wins() {
    let mut settings = Settings::default();
    settings.max_receive_count = settings.keep(0);
    assert_eq!(settings.check().unwrap_err().to_string(), "max receive count is 0, allowed: 1 to 1000");
    settings.max_receive_count = settings.keep(5);
    assert_eq!((settings.check(), settings.max_receive_count.as_deref()), (Ok(()), Some(&5)));
}

#[test]
fn an_empty_variable_is_not_set() {
    assert_eq!(
        read(&[("REDRIVE_MAX_RECEIVE_COUNT", "")]).unwrap().max_receive_count.as_deref().copied(),
        None
    );
}

#[test]
fn code_wins_over_the_environment() {
    let mut settings = Settings::default();
    settings.concurrency = settings.keep(2);
    let settings = settings.or_environment(|_| Some("not read".to_owned()).filter(|_| false)).unwrap();
    assert_eq!(settings.concurrency(), 2);
    let settings =
        settings.or_environment(|name| (name == "REDRIVE_CONCURRENCY").then(|| "9".to_owned())).unwrap();
    assert_eq!(settings.concurrency(), 2);
}

#[test]
fn an_invalid_variable_is_refused_with_its_name_value_and_allowed_values() {
    let table = [
        ("REDRIVE_DEAD_LETTER_QUEUE_URL", "orders-dead", "a queue URL such as"),
        (
            "REDRIVE_DEAD_LETTER_QUEUE_URL",
            "arn:aws:sqs:eu-central-1:123456789012:orders-dead",
            "a queue URL such as",
        ),
        ("REDRIVE_DEAD_LETTER_QUEUE_URL", "https://sqs.eu-west-1.amazonaws.com", "a queue URL such as"),
        ("REDRIVE_MAX_RECEIVE_COUNT", "0", "a whole number from 1 to 1000"),
        ("REDRIVE_MAX_RECEIVE_COUNT", "ten", "a whole number from 1 to 1000"),
        ("REDRIVE_MAX_RECEIVE_COUNT", "1001", "a whole number from 1 to 1000"),
        ("REDRIVE_VISIBILITY_TIMEOUT", "36001", "a number of seconds above 0, at most 36000"),
        ("REDRIVE_VISIBILITY_TIMEOUT", "-1", "a number of seconds above 0, at most 36000"),
        ("REDRIVE_CONCURRENCY", "0", "a whole number from 1 to 10000"),
        ("REDRIVE_CONCURRENCY", "2.5", "a whole number from 1 to 10000"),
        ("REDRIVE_TIME_LIMIT", "0", "a number of seconds above 0, at most 5400"),
        ("REDRIVE_TIME_LIMIT", "2s", "a number of seconds above 0, at most 5400"),
        ("REDRIVE_TIME_LIMIT", "NaN", "a number of seconds above 0, at most 5400"),
        ("REDRIVE_RESERVE", "inf", "a number of seconds above 0, at most 900"),
        ("REDRIVE_BACKOFF", "2", "JSON such as {\"kind\":\"exponential\",\"delay\":5,\"max\":900}"),
        ("REDRIVE_BACKOFF", r#"{"kind":"linear"}"#, "JSON such as"),
        (
            "REDRIVE_OVERRIDES",
            "more",
            r#""off", "less", or the longest delay in seconds, above 0 and at most 43200"#,
        ),
        ("REDRIVE_OVERRIDES", "0", "above 0 and at most 43200"),
        ("REDRIVE_OVERRIDES", "43201", "above 0 and at most 43200"),
        (
            "REDRIVE_ORIGIN_SENDERS",
            "arn:aws:iam::123456789012:role/ops",
            "the unique id of an IAM user or role",
        ),
        ("REDRIVE_ORIGIN_SENDERS", "AIDAUSER,", "several with commas (\"\")"),
        ("REDRIVE_ORIGIN_SENDERS", "", "the unique id of an IAM user or role"),
        ("REDRIVE_ON_PANIC", "ignore", r#""dead-letter" or "retry""#),
        ("REDRIVE_ON_MALFORMED", "Retry", r#""dead-letter" or "retry""#),
        ("REDRIVE_LAST_DELIVERY", "policy", r#""redrive-policy" or "dead-letter""#),
        ("REDRIVE_METRICS", "on", r#""cloudwatch" or "emf" or "off""#),
        ("REDRIVE_METRICS_NAMESPACE", "AWS/SQS", "not beginning with AWS/"),
    ];
    for (name, value, allowed) in table {
        let refusal = read(&[(name, value)]).unwrap_err();
        assert!(refusal.starts_with(&format!("{name} is {value:?}, allowed: ")), "{refusal}");
        assert!(refusal.contains(allowed), "{refusal}");
    }
}

#[test]
fn a_backoff_that_the_visibility_timeout_leaves_no_room_for_is_refused() {
    let with = |backoff| read(&[("REDRIVE_VISIBILITY_TIMEOUT", "180"), ("REDRIVE_BACKOFF", backoff)]);
    assert!(with(r#"{"max":43020}"#).is_ok());
    let refusal = with(r#"{"max":43021}"#).unwrap_err();
    assert!(refusal.contains("delays of at most 43020 s"), "{refusal}");
    assert!(with(r#"{"kind":"fixed","delay":43021}"#).is_err());
    assert!(with("{}").is_ok(), "2^attempt is clamped, not refused");
}

#[test]
fn the_reserve_is_a_tenth_of_the_time_left_within_its_bounds() {
    let reserve = |left| Settings::default().reserve_of(Duration::from_millis(left)).as_millis();
    assert_eq!([400, 2_000, 5_000, 30_000, 900_000].map(reserve), [200, 500, 500, 3_000, 5_000]);
    let with = |reserve| {
        let mut settings = Settings::default();
        settings.reserve = settings.keep(reserve);
        settings
    };
    let asked = with(Duration::from_secs(8));
    assert_eq!(asked.reserve_of(Duration::from_secs(30)), Duration::from_secs(8));
    assert_eq!(asked.reserve_of(Duration::from_secs(10)), Duration::from_secs(5), "never more than half");
    let hasty = with(Duration::from_millis(1));
    assert_eq!(hasty.reserve_of(Duration::from_secs(10)), Duration::from_millis(200), "never less than this");
}

#[test]
fn a_rate_is_a_number_of_messages_in_a_second_a_minute_or_an_hour() {
    let rate = |value| read(&[("REDRIVE_RATE", value)]).map(|settings| *settings.rate.as_deref().unwrap());
    assert_eq!(rate("50/s"), Ok(Rate::per_second(50)));
    assert_eq!(rate("3000/min"), Ok(Rate::per_minute(3_000)));
    assert_eq!(rate("10/h"), Ok(Rate::per_hour(10)));
    for wrong in ["50", "0/s", "-1/s", "1.5/s", "1000001/s", "50/second", "50 per second", "/s"] {
        let allowed = "a rate such as 50/s, 3000/min or 10/h, of 1 to 1000000 messages";
        assert_eq!(rate(wrong), Err(format!("REDRIVE_RATE is {wrong:?}, allowed: {allowed}")));
    }
}

#[test]
fn a_rate_and_its_burst_are_checked() {
    let refusal = |rate| {
        let mut settings = Settings::default();
        settings.rate = settings.keep(rate);
        settings.check().map_err(|error| error.to_string())
    };
    assert_eq!(refusal(Rate::per_second(50).burst(1)), Ok(()));
    let allowed = "1 to 1000000 messages a second, minute or hour";
    assert_eq!(refusal(Rate::per_minute(0)), Err(format!("rate is 0/min, allowed: {allowed}")));
    let allowed = "a burst of 1 to 1000000 messages";
    assert_eq!(
        refusal(Rate::per_hour(9).burst(0)),
        Err(format!("rate is 9/h with a burst of 0, allowed: {allowed}"))
    );
}

#[test]
fn a_worker_of_a_named_queue_has_the_rates_of_the_consumer() {
    const ARN: &str = "arn:aws:sqs:eu-west-1:123456789012:orders";
    let mut settings = Settings::default();
    settings.adaptive_concurrency = settings.keep(Duration::from_millis(200));
    settings.rate = settings.keep(Rate::per_second(50));
    settings.rate_of_key = settings.keep(Rate::per_second(10));
    settings.queues.insert(ARN.to_owned(), Settings::default());
    let own = settings.of_queue(ARN).unwrap();
    assert_eq!(own.rate.as_deref(), Some(&Rate::per_second(50)));
    assert_eq!(own.rate_of_key.as_deref(), Some(&Rate::per_second(10)));
    assert_eq!(own.adaptive_concurrency.as_deref(), Some(&Duration::from_millis(200)));
}
