use std::time::{Duration, SystemTime};

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName};
use proptest::prelude::*;

use super::*;
use crate::letters::letter::Logged;

const NOTE: &str = r#"{"reason":"rejected","error":"card refused: no credit","exception":"orders::Refused",
    "failed_at":"2026-11-21T07:50:00.000Z","attempts":3,"message_id":"a1","function":"shop-orders",
    "source":"arn:aws:sqs:eu-central-1:123456789012:orders","sent_at":"2026-11-21T06:00:00.000Z"}"#;
const BODY: &str = r#"{"id": 9007199254740993, "total": 12.50, "code": "007", "paid": true, "gift": null,
    "customer": {"name": "Zoë", "e mail": "z@example.org"}, "lines": [{"sku": "A"}, {"sku": "B"}]}"#;

fn text(data_type: &str, value: &str) -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type(data_type).string_value(value).build().unwrap()
}

fn letter() -> Letter {
    let binary = MessageAttributeValue::builder().data_type("Binary").binary_value(Blob::new([0, 255, 7]));
    let message = Message::builder()
        .message_id("b2")
        .body(BODY)
        .attributes(MessageSystemAttributeName::SentTimestamp, "1795248000000")
        .attributes(MessageSystemAttributeName::MessageGroupId, "g-1")
        .message_attributes("redrive.dead-letter", text("String", NOTE))
        .message_attributes("tenant", text("String", "acme"))
        .message_attributes("weight", text("Number.kg", "70.0"))
        .message_attributes("raw", binary.build().unwrap());
    Letter::new(message.build())
}

/// Returns the time 90 minutes after the message was sent.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_246_200)
}

fn holds(condition: &str) -> bool {
    let condition: Condition = condition.parse().unwrap_or_else(|error| panic!("{condition}: {error:#}"));
    condition.judge(&letter(), now()) == Verdict::Holds
}

#[test]
fn a_body_is_read_as_far_as_its_path_goes() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for rest in [r#""half \ud83d""#, "1e400", &deep] {
        let letter = Letter { body: format!(r#"{{"id":"n-1","rest":{rest}}}"#), ..letter() };
        let holds = |condition: &str| condition.parse::<Condition>().unwrap().judge(&letter, now());
        assert_eq!(holds("body.id = n-1"), Verdict::Holds, "{rest}");
        assert_eq!(holds("body.rest exists"), Verdict::Holds, "{rest}");
        assert_eq!(holds("body.rest = 0"), Verdict::Fails, "{rest}");
    }
}

#[test]
fn each_field_is_compared_as_what_it_is() {
    for (condition, expected) in [
        ("reason = rejected", true),
        ("reason=rejected", true),
        ("reason != rejected", false),
        ("error ~ no credit$", true),
        ("error ~ ^no", false),
        ("error !~ ^no", true),
        ("error ~ \"refused: no\"", true),
        ("exception ~ ::Refused$", true),
        ("function = shop-orders", true),
        ("group = g-1", true),
        ("source = orders", true),
        ("source = arn:aws:sqs:eu-central-1:123456789012:orders", true),
        ("source = dead", false),
        ("id = b2", true),
        ("id = a1", true),
        ("id = c3", false),
        ("attempts = 3", true),
        ("attempts = 3.0", true),
        ("attempts >= 3", true),
        ("attempts > 3", false),
        ("attempts < 10", true),
        ("age > 1h", true),
        ("age = 1h 30m", true),
        ("age < 90m", false),
        ("age <= 90m", true),
        ("sent = 2026-11-21T06:00:00Z", true),
        ("sent = 2026-11-21T07:00:00+01:00", true),
        ("sent < 2026-11-21T06:00:00.001Z", true),
        ("sent >= 2026-11-21T06:00:01Z", false),
        ("body ~ \"paid\": true", true),
        ("body.id = 9007199254740993", true),
        ("body.id = 9007199254740992", false),
        ("body.id > 9007199254740992", true),
        ("body.id = \"9007199254740993\"", false),
        ("body.total = 12.5", true),
        ("body.total < 2e1", true),
        ("body.total < 9", false),
        ("body.code = 007", true),
        ("body.code = 7", false),
        ("body.code <= 7", true),
        ("body.code = \"007\"", true),
        ("body.paid = true", true),
        ("body.gift = null", true),
        ("body.gift exists", true),
        ("body.gone missing", true),
        ("body.gone exists", false),
        ("body.gone != 1", true),
        ("body.gone = 1", false),
        ("body.gone < 1", false),
        ("body.gone !~ x", true),
        ("body.customer.name = Zoë", true),
        ("body.customer.\"e mail\" ~ @example", true),
        ("body.\"customer\".name exists", true),
        ("body.lines[1].sku = B", true),
        ("body.lines[2].sku missing", true),
        ("body.lines.sku missing", true),
        ("body[0] missing", true),
        ("body.customer.name < a", true),
        ("attribute.tenant = acme", true),
        ("attribute.weight = 70", true),
        ("attribute.weight > 8", true),
        ("attribute.raw = AP8H", true),
        ("attribute.none missing", true),
        ("  attempts  >=  3  ", true),
    ] {
        assert_eq!(holds(condition), expected, "{condition}");
    }
}

#[test]
fn without_a_note_what_redrive_wrote_is_missing_and_the_rest_is_there() {
    let message = Message::builder().message_id("b2").body("not json");
    let message = message.attributes(MessageSystemAttributeName::ApproximateReceiveCount, "4").attributes(
        MessageSystemAttributeName::DeadLetterQueueSourceArn,
        "arn:aws:sqs:eu-central-1:1:orders",
    );
    let letter = Letter::new(message.build());
    let judge =
        |letter: &Letter, condition: &str| condition.parse::<Condition>().unwrap().judge(letter, now());
    let silent = Letter { logged: Some(Logged::default()), ..letter.clone() };
    for condition in ["error missing", "error != x", "error !~ x", "exception missing", "function missing"] {
        assert_eq!(judge(&letter, condition), Verdict::Unknown, "{condition}");
        assert_eq!(judge(&silent, condition), Verdict::Holds, "{condition}");
    }
    assert_eq!(judge(&letter, "error = x"), Verdict::Unknown);
    for condition in [
        "reason = redrive-policy",
        "group missing",
        "sent missing",
        "age missing",
        "body.a missing",
        "source = orders",
        "attempts = 3",
    ] {
        assert_eq!(judge(&letter, condition), Verdict::Holds, "{condition}");
    }
}

#[test]
fn an_invalid_condition_is_refused_in_one_line_with_the_allowed_forms() {
    for (condition, expected) in [
        ("", "a condition is FIELD OPERATOR VALUE"),
        ("colour = red", "no field \"colour\", allowed: body, body.PATH, attribute.NAME, reason, error"),
        ("attribute. = x", "no field \"attribute.\""),
        ("attempts", "the field attempts has no operator, allowed: =, !=, <, <=, >, >=, exists, missing"),
        ("attempts ~ 3", "the field attempts has the operator \"~\", allowed: =, !=, <, <=, >, >=, exists"),
        ("attempts = many", "the field attempts is compared with \"many\", allowed: a number"),
        ("attempts = inf", "allowed: a number"),
        ("age > yesterday", "compared with \"yesterday\", allowed: a duration such as 30m, 2h or 3d"),
        ("sent > 2026-11-21", "allowed: a time such as 2026-11-21T07:50:00Z"),
        ("error ~ (", "the field error ~ \"(\" is not a regular expression: unclosed group"),
        (
            "reason = panic or reason = rejected",
            "\"or\" does not join conditions: write reason ~ ^(A|B)$, or run the command once for each condition; inside a \
             value it needs double quotes",
        ),
        ("reason != panic OR rejected", "\"OR\" does not join conditions"),
        ("body.a exists || body.b exists", "\"||\" does not join conditions: write body.a ~ ^(A|B)$"),
        ("reason = \"panic\" or \"rejected\"", "\"or\" does not join conditions"),
        ("error ~ timeout or reset", "\"or\" does not join conditions"),
        (
            "age > 2h and reason = panic",
            "\"and\" does not join conditions: pass --where once for each condition;",
        ),
        ("attempts = 1 or 2", "\"or\" does not join conditions: run the command once for each condition;"),
        ("error like x", "the field error has the operator \"like\", allowed: =, !=, <, <=, >, >=, ~, !~"),
        ("error == x", "the field error has the operator \"==\""),
        ("error =", "needs a value: \"\" is the empty string"),
        ("error ~", "needs a value: \"\" is the empty string"),
        ("body. = 1", "a dot without a key"),
        ("body.a[x] = 1", "[x] is not a path step"),
        ("body.a]b = 1", "needs quotes"),
        ("body.\"a = 1", "a quote is not closed"),
    ] {
        let typed = Where { conditions: vec![condition.to_owned()] };
        let problem = typed.parse().expect_err(condition).to_string();
        assert!(problem.starts_with(&format!("--where {condition:?}: ")), "{problem}");
        assert!(problem.contains(expected), "{condition}: {problem}");
        assert!(!problem.contains('\n'), "{problem}");
    }
}

#[test]
fn a_conjunction_is_part_of_a_value_in_quotes_or_at_its_end() {
    for (condition, expected) in [
        ("body.state = OR", false),
        ("body.city = Portland OR", false),
        ("body.choice = or else", false),
        ("error != \"this or that\"", true),
        ("body ~ \"name\": \"this or that\"", false),
        ("reason ~ ^(panic|rejected)$", true),
        ("body.order = order", false),
    ] {
        assert_eq!(holds(condition), expected, "{condition}");
    }
}

#[test]
fn times_are_compared_to_the_millisecond() {
    for condition in ["sent = 2026-11-21T06:00:00.0000001Z", "sent <= 2026-11-21T06:00:00.0009Z"] {
        assert!(holds(condition), "{condition}");
    }
}

#[test]
fn all_conditions_must_hold() {
    let parse = |conditions: &[&str]| {
        let conditions = conditions.iter().map(|&text| text.to_owned()).collect();
        Where { conditions }.parse().unwrap()
    };
    let judge = |conditions: &[&str]| ConditionFilter::new(parse(conditions)).judge(&letter(), now());
    assert!(parse(&[]).is_empty());
    assert!(judge(&[]) == Verdict::Holds);
    assert!(judge(&["attempts = 3", "reason = rejected"]) == Verdict::Holds);
    assert!(judge(&["attempts = 3", "reason = panic"]) == Verdict::Fails);
}

fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        "reason|error|exception|group|function|source|attempts|age|sent|id|body",
        r#"body(\.[a-zA-Z0-9_é-]{1,4}|\."[^"]{0,5}"|\[[0-9]{1,3}\]){1,4}"#,
        "attribute\\.[A-Za-z0-9_.-]{1,8}",
    ]
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{1,12}",
        "\"[^\"]{0,8}\"",
        "-?[0-9]{1,20}(\\.[0-9]{1,4})?(e[0-9]{1,2})?",
        "[0-9]{1,6}(s|ms|m|h|days|weeks|years)",
        "20[0-9]{2}-0[1-9]-1[0-9]T1[0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|\\+0[0-9]:30)",
    ]
}

proptest! {
    #[test]
    fn no_text_makes_parsing_panic(text: String) {
        let _ = text.parse::<Condition>();
    }

    #[test]
    fn a_parsed_condition_judges_without_panic(
        field in field(), operator in "=|!=|<|<=|>|>=|~|!~| exists| missing", value in value(), space in "[ \t]{0,2}",
    ) {
        let value = if operator.starts_with(' ') { String::new() } else { format!(" {value}") };
        if let Ok(condition) = format!("{field}{space}{operator}{value}").parse::<Condition>() {
            condition.judge(&letter(), now());
        }
    }
}
