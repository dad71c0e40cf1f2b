//! Forged letters: a note counts only if redrive wrote it.
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html>

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use aws_sdk_sqs::types::MessageAttributeValue;
use redrive::Origin;
use serde_json::Value;

use crate::dlq_retry::letters::{bodies, take};
use crate::letters::{DEAD, note, text};
use crate::support::{Aws, Ran, command_at};

const NOTE: &str = "redrive.dead-letter";
const ORIGIN: &str = "redrive.origin";
const FORGED: &str = "safe to delete";
const PAID: &str = "a payment that was made";

impl Aws {
    /// Sends a message to the orders, as anybody may who may send there.
    fn order(&self, body: &str, attributes: &[(&str, MessageAttributeValue)]) -> String {
        let send = self.sqs.send_message().queue_url(self.queue_url("orders")).message_body(body);
        let send =
            attributes.iter().fold(send, |send, (name, value)| send.message_attributes(*name, value.clone()));
        self.wait(send.send()).expect("it is sent").message_id.expect("it has an id")
    }

    /// Receives the orders until their redrive policy has moved them all.
    fn all_fail(&self) {
        let url = self.queue_url("orders");
        self.wait(async {
            loop {
                let receive = self.sqs.receive_message().queue_url(&url).max_number_of_messages(10);
                let received = receive.visibility_timeout(0).send().await.expect("it can be received from");
                if received.messages().is_empty() {
                    return;
                }
            }
        });
    }
}

/// A victim's order and twelve of somebody who names it in a note; all of them have failed.
fn attacked() -> (Aws, String) {
    let aws = Aws::with_orders(false);
    let victim = aws.order("the victim's order", &[]);
    for number in 0..12 {
        aws.order(&format!("evil {number}"), &[(NOTE, note(&victim, FORGED, FORGED))]);
    }
    aws.all_fail();
    assert_eq!((aws.counts("orders"), aws.counts(DEAD)), ((0, 0), (13, 0)));
    (aws, victim)
}

#[test]
fn a_forged_note_hides_nobody_and_its_words_are_shown_nowhere() {
    let (aws, victim) = attacked();
    let show = format!("dlq show --queue orders {victim} --no-logs");
    for (look, expected) in [
        ("dlq list --queue orders", &*victim),
        ("dlq list --queue orders --where 'attribute.redrive.dead-letter exists'", ""),
        ("dlq list --queue orders --where 'error ~ safe'", ""),
        ("dlq export --queue orders -", &victim),
        (&show, "the victim's order"),
        ("dlq retry --queue orders --dry-run", &victim),
    ] {
        let ran = aws.redrive(look);
        ran.ended(0).stdout_has(expected);
        assert!(!expected.is_empty() || ran.stdout.is_empty(), "{ran:#?}");
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("safe to"), "{ran:#?}");
    }
    for line in aws.redrive("dlq list --queue orders --json").json_lines() {
        assert_eq!((&line["message_id"], &line["reason"]), (&line["id"], &Value::from("redrive-policy")));
        assert!(!line.to_string().contains("safe"), "{line}");
    }
    aws.redrive_with("dlq delete --queue orders --yes --ids - --dry-run", &victim)
        .stdout_starts(format!("{victim} redrive-policy\n1 would be deleted from orders-dead"));
}

#[test]
fn letters_go_back_without_forged_notes_also_from_a_file() {
    let (aws, victim) = attacked();
    let exported = aws.redrive("dlq export --queue orders -").stdout;
    aws.redrive_with("dlq import --queue orders --yes -", &exported).ended(0);
    aws.redrive("dlq retry --queue orders --yes")
        .printed(0, "13 sent from orders-dead to orders, 13 duplicates deleted\n");
    for message in take(&aws, "orders") {
        let attributes = message.message_attributes.unwrap();
        let origin = attributes["redrive.origin"].string_value().unwrap();
        assert!(!attributes.contains_key(NOTE));
        assert_eq!(origin.contains(&victim), message.body.unwrap().starts_with("the victim"), "{origin}");
    }
}

/// Who may send to the dead-letter queue itself writes letters as redrive does, and still hides no other.
#[test]
fn a_letter_whose_note_names_another_id_yields_to_the_letter_with_it() {
    let aws = Aws::with_orders(false);
    let forge = |victim: &str| {
        for number in 0..12 {
            aws.letter_with(&format!("evil {number}"), [(NOTE, note(victim, FORGED, FORGED))]);
        }
    };
    let victim = aws.letter("the victim's order");
    forge(&victim);
    // Whoever looks at it puts it behind the others.
    let look = aws.sqs.receive_message().queue_url(aws.queue_url(DEAD)).visibility_timeout(0);
    let looked_at = aws.wait(look.send()).unwrap();
    assert_eq!(looked_at.messages()[0].message_id(), Some(victim.as_str()));
    let ran = aws.redrive("dlq list --queue orders");
    ran.told(0, "13 letters in orders-dead\n").stdout_has("the victim's order");
    aws.redrive(&format!("dlq show --queue orders {victim} --no-logs")).stdout_has("the victim's order");
    for verb in ["retry", "delete"] {
        let ran = aws.redrive_with(&format!("dlq {verb} --queue orders --yes --dry-run --ids -"), &victim);
        ran.ended(0).stdout_starts(format!("{victim} redrive-policy\n1 would be "));
    }
    let ran = aws.redrive_with("dlq retry --queue orders --yes --ids -", &victim);
    ran.ended(0).stdout_starts("1 sent from orders-dead to orders");
    assert_eq!((bodies(&aws, "orders"), aws.counts(DEAD)), (vec!["the victim's order".to_owned()], (12, 0)));
}

/// What a sender writes who wants its message to have the key of another one.
fn forged_origin() -> (&'static str, MessageAttributeValue) {
    (ORIGIN, text(&format!(r#"{{"message_id":"{PAID}","redrives":1}}"#)))
}

/// A dead-letter queue with an order that has a forged origin, and that order's id.
fn with_forged_origin() -> (Aws, String) {
    let aws = Aws::with_orders(false);
    let id = aws.order("one", &[forged_origin()]);
    aws.all_fail();
    (aws, id)
}

/// redrive-local has one sender, the account, as SQS says of a root user.
#[test]
fn the_origin_of_an_untrusted_sender_is_not_sent_on() {
    for (senders, is_kept) in
        [("", true), ("--origin-senders AROAOPS,123456789012", true), ("--origin-senders AROAOPS", false)]
    {
        let (aws, id) = with_forged_origin();
        aws.letter_with("two", [(NOTE, note("m2", "rejected", "no")), forged_origin()]);
        aws.redrive(&format!("dlq retry --queue orders --yes {senders}")).ended(0);
        for message in take(&aws, "orders") {
            let origin = message.message_attributes.unwrap()[ORIGIN].string_value().unwrap().to_owned();
            let origin: Origin = serde_json::from_str(&origin).unwrap();
            // What the function wrote, it has looked at.
            let expected = match is_kept || message.body.unwrap() == "two" {
                true => (PAID, 2),
                false => (id.as_str(), 1),
            };
            assert_eq!((origin.message_id.as_str(), origin.redrives), expected, "{senders}");
        }
    }
    let ran = Aws::with_orders(false)
        .redrive("dlq retry --queue orders --yes --origin-senders arn:aws:iam::1:role/ops");
    ran.refused(2, "--origin-senders: \"arn:aws:iam::1:role/ops\", allowed: unique ids");
}

#[test]
fn a_forged_origin_does_not_become_a_true_one_by_export_and_import() {
    let (aws, _) = with_forged_origin();
    let exported = aws.redrive("dlq export --queue orders - --origin-senders AROAOPS");
    exported.told(0, "exported 1 of 1 letter in orders-dead\n");
    aws.redrive_with("dlq import --queue orders --to orders -", &exported.stdout).ended(0);
    assert!(!take(&aws, "orders")[0].message_attributes.clone().unwrap_or_default().contains_key(ORIGIN));
    aws.redrive("dlq delete --queue orders --all --yes").ended(0);
    // Whatever it was, it now looks like a letter that a function wrote.
    aws.redrive_with("dlq import --queue orders -", &exported.stdout).ended(0);
    aws.redrive("dlq retry --queue orders --yes --origin-senders AROAOPS").told(0, "");
    let sent = take(&aws, "orders");
    let attributes = sent.iter().find_map(|message| message.message_attributes.clone()).unwrap();
    assert!(!attributes[ORIGIN].string_value().unwrap().contains(PAID), "{attributes:?}");
}

/// `import` and `send` read these lines.
#[test]
fn every_verb_that_writes_letters_as_json_obeys_origin_senders() {
    let (aws, id) = with_forged_origin();
    let show = format!("dlq show --queue orders {id} --no-logs --json");
    for verb in ["dlq export --queue orders -", "dlq list --queue orders --json", &show] {
        for (senders, is_kept) in
            [("", true), ("--origin-senders 123456789012", true), ("--origin-senders AROAOPS", false)]
        {
            let ran = aws.redrive(&format!("{verb} {senders}"));
            ran.ended(0).stdout_has(&id);
            assert_eq!(ran.stdout.contains(PAID), is_kept, "{ran:#?}");
        }
    }
}

#[test]
fn origins_that_nobody_has_checked_are_told_of_once() {
    let whom = "list trusted senders with --origin-senders\n";
    let one = format!("1 letter that SQS moved keeps the redrive.origin of its sender: {whom}");
    let two = format!("2 letters that SQS moved keep the redrive.origin of their senders: {whom}");
    let (aws, id) = with_forged_origin();
    aws.redrive(&format!("dlq show --queue orders {id} --no-logs --json")).told(0, &one);
    aws.order("two", &[]);
    aws.all_fail();
    aws.redrive("dlq retry --queue orders --dry-run").told(0, format!("redrive: {one}"));
    aws.redrive("dlq list --queue orders --json").told(0, format!("2 letters in orders-dead\n{one}"));
    aws.redrive("dlq list --queue orders").told(0, "2 letters in orders-dead\n");
    let exported = aws.redrive("dlq export --queue orders -");
    exported.told(0, format!("exported 2 of 2 letters in orders-dead\n{one}"));
    aws.order("three", &[forged_origin()]);
    aws.all_fail();
    aws.redrive("dlq delete --queue orders --all --dry-run").told(0, "");
    aws.redrive("dlq retry --queue orders --dry-run --origin-senders 123456789012").told(0, "");
    let ran = aws.redrive("dlq retry --queue orders --yes --json");
    ran.told(0, format!("redrive: {two}"));
    assert_eq!(ran.json_lines().len(), 4, "three letters and the totals");
    aws.letter_with("four", [(NOTE, note("m4", "rejected", "no")), forged_origin()]);
    aws.redrive("dlq retry --queue orders --yes").told(0, "");
}

#[test]
fn a_list_that_is_empty_or_no_text_does_not_mean_everybody() {
    let (aws, _) = with_forged_origin();
    for verb in ["retry --yes", "export -", "list", "show 1"] {
        let line = format!("dlq {verb} --queue orders");
        for (list, quoted) in [(b"".as_slice(), "\"\""), (b"AROA\xff", "\"AROA\u{fffd}\"")] {
            let mut command = command_at(&aws.url, &line);
            let ran = Ran::of(command.env("REDRIVE_ORIGIN_SENDERS", OsStr::from_bytes(list)));
            ran.refused(2, &format!("REDRIVE_ORIGIN_SENDERS: {quoted}, allowed: unique ids"));
        }
        aws.redrive(&format!("{line} --origin-senders=")).refused(2, "--origin-senders: \"\", allowed");
    }
    assert_eq!(aws.counts(DEAD), (1, 0));
}
