use std::time::Duration;

use serde_json::json;

use super::*;
use redrive_engine::LastDelivery;

const ORDERS: &str = "arn:aws:sqs:eu-west-1:123456789012:orders";
const RETURNS: &str = "arn:aws:sqs:eu-west-1:123456789012:returns";
const DEAD: &str = "https://sqs.eu-west-1.amazonaws.com/123456789012/dead";

fn read(code: Settings, queues: &str, others: &[(&str, &str)]) -> Result<Settings, String> {
    let variable = |name: &str| {
        let other = others.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        if name == VARIABLE { Some(queues.to_owned()) } else { other }
    };
    let settings = code.or_environment(variable).map_err(|error| error.to_string())?;
    settings.check().map_err(|error| error.to_string())?;
    Ok(settings)
}

#[test]
fn every_key_is_read_by_the_rule_of_its_variable_as_a_string_or_as_json() {
    let own = json!({
        "dead_letter_queue_url": DEAD, "max_receive_count": 7, "visibility_timeout": "480", "concurrency": 3,
        "time_limit": 2.5, "backoff": {"kind": "fixed", "delay": 9}, "overrides": "off",
        "origin_senders": "AIDAUSER", "on_panic": "retry", "on_malformed": "retry", "last_delivery": "dead-letter",
    });
    let own_variables = own.as_object().unwrap().iter().map(|(key, value)| {
        let name = format!("REDRIVE_{}", key.to_uppercase());
        (name, value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    });
    let variables: std::collections::HashMap<_, _> = own_variables.collect();
    let plain = Settings::default().or_environment(|name| variables.get(name).cloned()).unwrap();
    let settings = read(Settings::default(), &json!({ ORDERS: own }).to_string(), &[]).unwrap();
    let found = settings.of_queue(ORDERS).unwrap();
    assert_eq!(format!("{found:?}"), format!("{plain:?}"));
    assert_eq!(found.backoff, Some(crate::Backoff::fixed(Duration::from_secs(9)).unwrap()));
    for name in variables.keys() {
        let queues = json!({ ORDERS: own }).to_string();
        let variable = |asked: &str| (asked == VARIABLE).then(|| queues.clone());
        assert_eq!(variable_of_queue(ORDERS, name, variable).as_ref(), variables.get(name), "{name}");
    }
}

#[test]
fn an_entry_inherits_all_settings_except_those_of_one_queue() {
    let queues = json!({ ORDERS: { "max_receive_count": 3, "concurrency": 1 }, RETURNS: {} }).to_string();
    let others = [("REDRIVE_CONCURRENCY", "5"), ("REDRIVE_RESERVE", "1"), ("REDRIVE_METRICS", "emf")];
    let settings = read(Settings::default(), &queues, &others).unwrap();
    let of = |arn| settings.of_queue(arn).unwrap();
    assert_eq!((of(ORDERS).max_receive_count.as_deref().copied(), of(ORDERS).concurrency()), (Some(3), 1));
    assert_eq!((of(RETURNS).max_receive_count.as_deref().copied(), of(RETURNS).concurrency()), (None, 5));
    assert_eq!(
        (of(RETURNS).reserve.as_deref(), of(RETURNS).metrics),
        (settings.reserve.as_deref(), settings.metrics)
    );
}

#[test]
fn code_wins_over_an_entry_setting_by_setting() {
    let mut own = Settings::default();
    own.max_receive_count = own.keep(9);
    let code = Settings { queues: [(ORDERS.to_owned(), own)].into(), ..Settings::default() };
    let entry = json!({ ORDERS: { "max_receive_count": 3, "last_delivery": "dead-letter" }, RETURNS: {} });
    let settings = read(code, &entry.to_string(), &[]).unwrap();
    let orders = settings.of_queue(ORDERS).unwrap();
    assert_eq!(
        (orders.max_receive_count.as_deref().copied(), orders.last_delivery),
        (Some(9), Some(LastDelivery::DeadLetter))
    );
    assert!(settings.of_queue(RETURNS).is_ok());
}

#[test]
fn an_invalid_entry_is_refused_with_its_queue_key_and_allowed_values() {
    let of_orders = |own: &str| format!(r#"{{"{ORDERS}": {own}}}"#);
    let keys = "dead_letter_queue_url, max_receive_count, visibility_timeout, concurrency, time_limit, backoff, overrides, \
                origin_senders, on_panic, on_malformed, last_delivery";
    let table = [
        ("5".to_owned(), r#"REDRIVE_QUEUES is "5", allowed: JSON such as {"arn:aws:sqs:"#.to_owned()),
        (of_orders("3"), "REDRIVE_QUEUES is".to_owned()),
        (
            r#"{"orders": {}}"#.to_owned(),
            r#"a queue in REDRIVE_QUEUES is "orders", allowed: the ARN of a queue such as arn:aws:sqs:"#
                .to_owned(),
        ),
        (
            format!(r#"{{"{ORDERS} ": {{}}}}"#),
            format!(r#"a queue in REDRIVE_QUEUES is "{ORDERS} ", allowed: the ARN of a queue such as arn:aws:sqs:"#),
        ),
        (
            r#"{"arn:aws:sqs:*:123456789012:orders": {}}"#.to_owned(),
            r#"a queue in REDRIVE_QUEUES is "arn:aws:sqs:*:123456789012:orders", allowed: the ARN of a queue"#
                .to_owned(),
        ),
        (
            format!(
                r#"{{"{ORDERS}": {{"dead_letter_queue_url": "https://sqs.test/123456789012/returns"}}, "{RETURNS}": {{}}}}"#
            ),
            format!(
                r#"dead-letter queue URL of {ORDERS} is "https://sqs.test/123456789012/returns", allowed: a queue whose messages are not handled here"#
            ),
        ),
        (
            of_orders(r#"{"max_recieve_count": 5}"#),
            format!(r#"a key of {ORDERS} in REDRIVE_QUEUES is "max_recieve_count", allowed: {keys}"#),
        ),
        (of_orders(r#"{"metrics": "off"}"#), format!("a key of {ORDERS} in REDRIVE_QUEUES is \"metrics\"")),
        (
            of_orders(r#"{"max_receive_count": 0}"#),
            format!(
                r#"max_receive_count of {ORDERS} in REDRIVE_QUEUES is "0", allowed: a whole number from 1 to 1000"#
            ),
        ),
        (of_orders(r#"{"max_receive_count": null}"#), format!("max_receive_count of {ORDERS} in")),
        (
            of_orders(r#"{"backoff": {"kind": "linear"}}"#),
            format!(
                r#"backoff of {ORDERS} in REDRIVE_QUEUES is "{{\"kind\":\"linear\"}}", allowed: JSON such as"#
            ),
        ),
        (
            of_orders(r#"{"backoff": {"max": 43000}, "visibility_timeout": 480}"#),
            format!("settings of {ORDERS}: backoff is up to 43000s, allowed: delays of at most 42720 s"),
        ),
        (
            of_orders(r#"{"dead_letter_queue_url": "https://sqs.test/123456789012/dead.fifo"}"#),
            format!(
                r#"dead-letter queue URL is "https://sqs.test/123456789012/dead.fifo", allowed: a standard queue, as its source {ORDERS} is"#
            ),
        ),
        (
            of_orders(r#"{"dead_letter_queue_url": "https://sqs.test/123456789012/orders"}"#),
            format!(
                r#"dead-letter queue URL is "https://sqs.test/123456789012/orders", allowed: another queue than its source {ORDERS}"#
            ),
        ),
    ];
    for (queues, expected) in table {
        let refusal = read(Settings::default(), &queues, &[]).unwrap_err();
        assert!(refusal.starts_with(&expected), "{refusal}\n{expected}");
        assert_eq!(refusal.lines().count(), 1);
    }
}

#[test]
fn settings_of_one_queue_are_refused_beside_named_queues() {
    for (name, value) in [("REDRIVE_DEAD_LETTER_QUEUE_URL", DEAD), ("REDRIVE_MAX_RECEIVE_COUNT", "5")] {
        let refusal =
            read(Settings::default(), &json!({ ORDERS: {} }).to_string(), &[(name, value)]).unwrap_err();
        assert_eq!(
            refusal,
            format!(
                "{name} is set, allowed: not set beside REDRIVE_QUEUES and Consumer::queue, which say it for each queue"
            )
        );
    }
    let named =
        Settings { queues: [("orders".to_owned(), Settings::default())].into(), ..Settings::default() };
    assert!(named.check().unwrap_err().to_string().starts_with("a queue is \"orders\", allowed: the ARN"));
}

#[test]
fn a_queue_that_is_not_named_has_no_settings() {
    let settings = read(Settings::default(), &json!({ ORDERS: {} }).to_string(), &[]).unwrap();
    let refusal = settings.of_queue(RETURNS).unwrap_err().to_string();
    assert_eq!(
        refusal,
        format!(
            "eventSourceARN is \"{RETURNS}\", allowed: a queue that REDRIVE_QUEUES or Consumer::queue names"
        )
    );
    assert!(
        read(Settings::default(), "", &[]).unwrap().of_queue(RETURNS).is_ok(),
        "an empty variable is not set"
    );
}
