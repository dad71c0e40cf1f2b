use std::collections::HashMap;

use super::*;

const HOME: &str = "arn:aws:sqs:eu-west-1:1";

fn queue(name: &str, attributes: &[(QueueAttributeName, &str)]) -> Queue {
    let mut all = HashMap::from([(QueueAttributeName::MessageRetentionPeriod, "345600".to_owned())]);
    all.extend(attributes.iter().map(|(name, value)| (name.clone(), (*value).to_owned())));
    Queue::new(format!("http://127.0.0.1/1/{name}"), format!("{HOME}:{name}"), all)
}

fn with_policy(name: &str, dead: &str, count: u32) -> Queue {
    let policy = format!(r#"{{"deadLetterTargetArn":"{HOME}:{dead}","maxReceiveCount":{count}}}"#);
    let messages = (QueueAttributeName::ApproximateNumberOfMessages, "7");
    queue(name, &[(QueueAttributeName::RedrivePolicy, &policy), messages])
}

fn dead(name: &str) -> Dead {
    Dead::Is(queue(name, &[(QueueAttributeName::MessageRetentionPeriod, "1209600")]))
}

fn refusal(source: &Queue, dead: &Dead) -> String {
    Change::new(source, dead, 10).unwrap_err().to_string()
}

#[test]
fn settings_that_are_not_given_keep_their_values() {
    let wanted = |source: &Queue, count| Wanted::new(source, None, count).unwrap();
    let fresh = wanted(&queue("orders", &[]), None);
    assert_eq!((fresh.dead_letter_queue.as_str(), fresh.max_receive_count), ("orders-dead", 10));
    let fifo = wanted(&queue("orders.fifo", &[]), Some(3));
    assert_eq!((fifo.dead_letter_queue.as_str(), fifo.max_receive_count), ("orders-dead.fifo", 3));
    let kept = wanted(&with_policy("orders", "failed", 4), None);
    assert_eq!((kept.dead_letter_queue, kept.max_receive_count), (format!("{HOME}:failed"), 4));
    let long = queue(&"a".repeat(78), &[]);
    assert!(Wanted::new(&long, None, None).unwrap_err().to_string().contains("pass --dead-letter-queue"));
}

#[test]
fn current_settings_need_no_change() {
    let source = with_policy("orders", "orders-dead", 5);
    assert!(Change::new(&source, &dead("orders-dead"), 5).unwrap().is_none);
    assert!(!Change::new(&source, &dead("orders-dead"), 6).unwrap().is_none);
    assert!(!Change::new(&source, &dead("failed"), 5).unwrap().is_none);
}

#[test]
fn only_a_lower_count_moves_messages_that_are_there() {
    let warnings = |count| {
        let source = with_policy("orders", "orders-dead", 5);
        Change::new(&source, &dead("orders-dead"), count).unwrap().warnings
    };
    assert_eq!(warnings(6), [""; 0]);
    let lower = warnings(4);
    assert!(
        lower[0].starts_with("messages in orders (7 now) that were received 4 times or more"),
        "{lower:?}"
    );
}

#[test]
fn a_change_that_sqs_would_refuse_is_refused_with_the_reason() {
    let source = queue("orders", &[]);
    let itself = Dead::Is(source.clone());
    assert!(refusal(&source, &itself).contains("its own dead-letter queue"));
    assert!(refusal(&source, &dead("dead.fifo")).contains("dead.fifo is a FIFO queue and orders is not"));
    let other = Dead::Missing("orders-dead".to_owned());
    assert!(refusal(&queue("orders.fifo", &[]), &other).contains("must end in .fifo"));
    let elsewhere =
        Queue::new("q/dead".to_owned(), "arn:aws:sqs:eu-west-1:2:dead".to_owned(), HashMap::new());
    assert!(refusal(&source, &Dead::Is(elsewhere)).contains("same account and region"));
    let by_arn = Dead::Missing(format!("{HOME}:gone"));
    assert!(refusal(&source, &by_arn).contains("pass only its name"));
}

#[test]
fn an_allow_policy_that_refuses_is_answered_with_the_one_that_allows() {
    let policy = |text: &str| Dead::Is(queue("dead", &[(QueueAttributeName::RedriveAllowPolicy, text)]));
    let source = queue("orders", &[]);
    let denies = refusal(&source, &policy(r#"{"redrivePermission":"denyAll"}"#));
    assert!(denies.contains("aws sqs set-queue-attributes --queue-url http://127.0.0.1/1/dead"), "{denies}");
    assert!(denies.contains(&format!("{HOME}:orders")), "{denies}");
    // The author of the policy must not be able to make the user type a command.
    let hostile =
        json!({ "redrivePermission": "byQueue", "sourceQueueArns": [format!("{HOME}:q'; reboot; '")] });
    let quoted = refusal(&source, &policy(&hostile.to_string()));
    assert!(quoted.contains(r"q'\''; reboot; '\''") && !quoted.contains("q'; reboot"), "{quoted}");
    let arns = |count: usize| {
        let arns: Vec<_> = (0..count).map(|number| format!("{HOME}:q{number}")).collect();
        json!({ "redrivePermission": "byQueue", "sourceQueueArns": arns }).to_string()
    };
    let others = refusal(&source, &policy(&arns(2)));
    assert!(others.contains(&format!("{HOME}:q1")) && others.contains(&format!("{HOME}:orders")), "{others}");
    assert!(refusal(&source, &policy(&arns(10))).contains("orders cannot be added"));
    let named = json!({ "redrivePermission": "byQueue", "sourceQueueArns": [format!("{HOME}:orders")] });
    assert!(Change::new(&source, &policy(&named.to_string()), 10).is_ok());
    assert!(Change::new(&source, &policy(r#"{"redrivePermission":"allowAll"}"#), 10).is_ok());
}

#[test]
fn a_chain_and_letters_that_stay_behind_are_warned_of() {
    let chain = Dead::Is(with_policy("orders-dead", "graveyard", 3));
    let warnings = Change::new(&queue("orders", &[]), &chain, 10).unwrap().warnings;
    assert!(warnings[0].contains("move on to") && warnings[0].contains("graveyard"), "{warnings:?}");
    assert!(warnings[1].contains("expire before anyone sees them"), "{warnings:?}");
    let warnings = Change::new(&with_policy("orders", "old", 3), &dead("new"), 3).unwrap().warnings;
    assert_eq!(warnings, [format!("letters that are in {HOME}:old stay there")]);
}
