//! `redrive dlq delete` and `redrive dlq purge`.

use crate::dlq_retry::letters::{DEAD, ORDERS, bodies, note, with_letters};
use crate::proxy::Proxy;
use crate::support::{Aws, Ran};
use crate::terminal::Terminal;

fn delete(aws: &Aws, more: &str) -> Ran {
    aws.redrive(&format!("dlq delete --queue orders {more}"))
}

#[test]
fn which_letters_must_be_said() {
    let aws = Aws::with_orders(false);
    delete(&aws, "--yes").told(2, "redrive: which letters? Pass --where, --ids or --all\n");
    assert_eq!(delete(&aws, "--yes --all --where 'reason = panic'").code, 2);
    assert_eq!(delete(&aws, "--yes --max 1").code, 2);
}

#[test]
fn chosen_letters_are_deleted_and_the_others_are_visible_again() {
    let aws = with_letters(25, &["rejected", "panic"]);
    delete(&aws, "--where 'reason = panic' --dry-run --json").stdout_count("\"would-delete\"", 12);
    assert_eq!(aws.counts(DEAD), (25, 0));
    let ran = delete(&aws, "--where 'reason = panic' --yes");
    ran.told(0, "");
    assert_eq!(ran.stdout, "12 deleted from orders-dead, 13 not selected\n");
    assert_eq!(aws.counts(DEAD), (13, 0));
    assert!(bodies(&aws, DEAD).iter().all(|body| body.parse::<u32>().unwrap() % 2 == 0));
    assert_eq!(aws.counts(ORDERS), (0, 0));
}

#[test]
fn letters_are_deleted_by_id() {
    let aws = with_letters(3, &["panic"]);
    aws.redrive_with("dlq delete --queue orders --ids - --yes", "m1\n")
        .printed(0, "1 deleted from orders-dead, 2 not selected\n");
    assert_eq!(bodies(&aws, DEAD), ["0", "2"]);
}

#[test]
fn the_other_letter_of_a_message_is_not_deleted_with_it() {
    let aws = Aws::with_orders(false);
    let first = aws.letter_with("b", [("redrive.dead-letter", note("m", "panic"))]);
    aws.letter_with("b", [("redrive.dead-letter", note("m", "rejected"))]);
    delete(&aws, "--where 'reason = panic' --yes").printed(0, "1 deleted from orders-dead, 1 not selected\n");
    let ran = aws.redrive_with("dlq delete --queue orders --ids - --yes", &first);
    assert_eq!((ran.code, ran.stderr), (1, format!("redrive: not found: {first}\n")));
    assert_eq!(aws.counts(DEAD), (1, 0));
}

#[test]
fn all_letters_are_those_that_were_there_at_the_start() {
    let aws = with_letters(120, &["panic"]);
    delete(&aws, "--all --yes").printed(0, "120 deleted from orders-dead\n");
    assert_eq!(aws.counts(DEAD), (0, 0));
}

#[test]
fn a_purge_empties_the_queue_after_its_name_was_typed() {
    let aws = with_letters(7, &["panic"]);
    aws.redrive("dlq purge --queue orders --dry-run")
        .printed(0, "about 7 letters would be deleted from orders-dead\n");
    let proxy = Proxy::listening(&aws.url);
    let mut terminal = Terminal::redrive(&aws, "dlq purge --queue orders");
    terminal.expect("Type orders-dead to confirm");
    terminal.enter(DEAD);
    terminal.ends(0);
    terminal.shows("about 7 letters deleted from orders-dead");
    assert_eq!(aws.counts(DEAD), (0, 0));
    proxy.redrive("dlq purge --queue orders --yes").ended(1).stderr_has("it was purged less than 60 s ago");
    assert_eq!(proxy.entries(&["PurgeQueue"]).len(), 1);
}

#[test]
fn a_purge_of_a_queue_with_a_redrive_policy_of_its_own_is_refused() {
    let aws = with_letters(1, &["rejected"]);
    aws.send(ORDERS, "alive");
    aws.redrive("dlq purge --dead-letter-queue orders --yes")
        .refused(2, "orders has a redrive policy of its own");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((1, 0), (1, 0)));
}

#[test]
fn nothing_is_deleted_in_another_account_than_was_meant() {
    let aws = with_letters(3, &["panic"]);
    for verb in ["purge", "delete --all"] {
        let proxy = Proxy::listening(&aws.url);
        proxy.redrive(&format!("dlq {verb} --queue orders --yes --account 210987654321")).told(
            2,
            format!(
                "redrive: orders-dead (account 123456789012, eu-west-1, {}): --account is 210987654321, the queue's is \
                 123456789012; nothing was deleted\n",
                proxy.url
            ),
        );
        assert_eq!(proxy.entries(&["PurgeQueue", "DeleteMessageBatch"]), []);
        proxy
            .redrive(&format!("dlq {verb} --queue orders --yes --account 1"))
            .ended(2)
            .stderr_has("12 digits");
    }
    assert_eq!(aws.counts(DEAD), (3, 0));
    delete(&aws, "--all --max 1 --yes --account 123456789012").printed(0, "1 deleted from orders-dead\n");
    aws.redrive("dlq purge --queue orders --yes --account 123456789012").ended(0);
    assert_eq!(aws.counts(DEAD), (0, 0));
}

#[test]
fn a_selection_that_matches_nothing_is_told_by_the_exit_code() {
    let aws = with_letters(3, &["panic"]);
    let none = "--where 'reason = rejected'";
    for (verb, stdout) in [
        ("delete --yes", "0 deleted from orders-dead, 3 not selected\n"),
        ("delete --dry-run", "0 would be deleted from orders-dead, 3 not selected\n"),
        ("retry --yes", "0 sent from orders-dead to orders, 3 not selected\n"),
        ("retry --dry-run", "0 would be sent from orders-dead to orders, 3 not selected\n"),
    ] {
        let line = format!("dlq {verb} --queue orders {none}");
        let told = "redrive: no letter in orders-dead matches (reasons here: panic); --allow-none makes this a success\n";
        aws.redrive(&line).printed(3, stdout).told(3, told);
        aws.redrive(&format!("{line} --allow-none")).printed(0, stdout).told(0, "");
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let file = folder.path().join("letters.jsonl");
    let line = format!("dlq export --queue orders {none} {}", file.display());
    aws.redrive(&line).refused(3, "no letter in orders-dead matches");
    assert!(!file.exists());
    aws.redrive(&format!("{line} --allow-none")).ended(0);
    assert_eq!(std::fs::read_to_string(&file).expect("it was written"), "");
    assert_eq!(aws.counts(DEAD), (3, 0));
    // All letters of an empty queue are none.
    aws.redrive("dlq delete --all --yes --queue orders").ended(0);
    aws.redrive("dlq retry --yes --queue orders").ended(0);
}

#[test]
fn letters_in_flight_are_not_said_not_to_match() {
    let aws = with_letters(3, &["panic"]);
    let receive = aws.sqs.receive_message().queue_url(aws.queue_url(DEAD)).max_number_of_messages(10);
    aws.wait(receive.visibility_timeout(600).send()).expect("somebody looks at them");
    assert_eq!(aws.counts(DEAD), (0, 3));
    for verb in ["delete --where 'reason = panic'", "retry --where 'reason = panic' --allow-none"] {
        aws.redrive(&format!("dlq {verb} --yes --queue orders"))
            .ended(1)
            .stderr_ends("redrive: about 3 letters are in flight, and no other was selected\n");
    }
    for verb in ["delete --all", "retry"] {
        aws.redrive(&format!("dlq {verb} --yes --queue orders"))
            .ended(1)
            .stderr_has("about 3 more were in flight")
            .stderr_ends("redrive: about 3 letters remain in flight: run it again for these\n");
    }
    aws.redrive("dlq retry --yes --dry-run --queue orders")
        .ended(0)
        .stderr_has("about 3 more were in flight");
}

#[test]
fn a_field_that_no_letter_has_is_named() {
    let aws = with_letters(3, &["panic"]);
    let told = "redrive: no letter received has body.orderid, so body.orderid != A-1 holds for all of them\n";
    delete(&aws, "--where 'body.orderid != A-1' --dry-run").told(0, told);
    let told = "no letter received has attribute.tenent, so attribute.tenent !~ acme holds for all of them\n";
    aws.redrive("dlq list --queue orders --where 'attribute.tenent !~ acme'").ended(0).stderr_has(told);
    aws.redrive("dlq export --queue orders --where 'attribute.tenent !~ acme' -").ended(0).stderr_has(told);
    delete(&aws, "--where 'body.orderid = A-1' --dry-run")
        .ended(3)
        .stderr_has("redrive: no letter received has body.orderid\n");
    // Whoever asks for those without it knows.
    delete(&aws, "--where 'body.orderid missing' --dry-run").told(0, "");
}

#[test]
fn the_reasons_that_there_are_are_named_where_none_matches() {
    let aws = with_letters(4, &["panic", "malformed"]);
    let line = "redrive: no letter in orders-dead matches (reasons here: malformed, panic); --allow-none makes this a \
                success\n";
    for verb in ["delete", "retry"] {
        let line_of = format!("dlq {verb} --queue orders --dry-run --where 'reason = Panic'");
        aws.redrive(&line_of).told(3, line);
    }
    aws.redrive("dlq export --queue orders --where 'reason = pannic' -").told(3, line);
    aws.redrive("dlq list --queue orders --where 'reason = pannic'")
        .ended(0)
        .stderr_has("reasons here: malformed, panic\n");
    delete(&aws, "--where 'reason = panic' --dry-run").told(0, "");
}

#[test]
fn a_shortened_id_is_refused_in_words() {
    let aws = with_letters(2, &["panic"]);
    let id = aws.redrive("dlq list --queue orders --json --max 1").json()["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    aws.redrive_with("dlq delete --queue orders --ids - --yes", &id[..8])
        .ended(1)
        .stderr_has(format!("not found: {} (--ids takes whole ids: redrive dlq list --wide)", &id[..8]));
    assert_eq!(aws.counts(DEAD), (2, 0));
    let condition = format!("--where 'id ~ ^{}' --yes", &id[..8]);
    delete(&aws, &condition).printed(0, "1 deleted from orders-dead, 1 not selected\n");
}
