use std::time::UNIX_EPOCH;

use aws_sdk_sqs::types::Message;

use super::*;

fn ledger(most: Option<u64>) -> Ledger {
    Ledger::new(Scope::new(UNIX_EPOCH, 100, 100), Folding::ByMessage, most)
}

fn letter(id: &str) -> Letter {
    Letter::new(Message::builder().message_id(id).receipt_handle("h").body("b").build())
}

/// A letter that redrive wrote for a message.
fn letter_of(id: &str, message: &str) -> Letter {
    let mut letter = letter(id);
    let note = format!(
        r#"{{"reason":"rejected","failed_at":"2026-11-21T07:50:00Z","attempts":1,"message_id":"{message}","source":"q"}}"#
    );
    letter.note = serde_json::from_str(&note).ok();
    assert!(letter.note.is_some());
    letter
}

#[test]
fn the_second_letter_of_a_message_waits_for_the_first_and_is_a_duplicate_then() {
    let mut ledger = ledger(None);
    let (first, second) = (letter("m"), letter_of("l", "m"));
    assert_eq!(ledger.judge(&first, None, Ok(())), Verdict::Wanted);
    assert_eq!(ledger.judge(&second, None, Ok(())), Verdict::Twin);
    assert!(!ledger.is_done(&second));
    ledger.done(&first, Some("n"));
    assert!(ledger.is_done(&second));
    assert_eq!(ledger.judge(&second, None, Ok(())), Verdict::Duplicate);
}

#[test]
fn letters_of_one_message_with_other_bodies_are_two() {
    let mut ledger = ledger(None);
    let (first, mut second) = (letter("m"), letter_of("l", "m"));
    second.body = "another".to_owned();
    assert_eq!(ledger.judge(&first, None, Ok(())), Verdict::Wanted);
    ledger.done(&first, Some("n"));
    assert!(!ledger.is_done(&second));
    assert_eq!(ledger.judge(&second, None, Ok(())), Verdict::Wanted);
}

#[test]
fn the_second_letter_of_a_message_stays_if_it_was_not_asked_for() {
    let mut ledger = ledger(None);
    let (first, second) = (letter("m"), letter_of("l", "m"));
    assert_eq!(ledger.judge(&first, None, Ok(())), Verdict::Wanted);
    ledger.done(&first, Some("n"));
    assert_eq!(ledger.judge(&second, None, Err(Why::NotWanted)), Verdict::Left(Why::NotWanted));
}

#[test]
fn where_letters_are_deleted_each_is_for_itself() {
    let mut ledger = Ledger::new(Scope::new(UNIX_EPOCH, 100, 100), Folding::ByLetter, None);
    assert_eq!(ledger.judge(&letter("m"), None, Ok(())), Verdict::Wanted);
    ledger.done(&letter("m"), None);
    let second = letter_of("l", "m");
    assert_eq!(ledger.judge(&second, None, Err(Why::NotWanted)), Verdict::Left(Why::NotWanted));
    assert_eq!(ledger.judge(&letter_of("k", "m"), None, Ok(())), Verdict::Wanted);
}

#[test]
fn the_second_letter_of_a_message_is_wanted_once_the_first_was_given_up() {
    let mut ledger = ledger(None);
    let (first, second) = (letter("m"), letter_of("l", "m"));
    assert_eq!(ledger.judge(&first, None, Ok(())), Verdict::Wanted);
    ledger.give_up(&first, None);
    assert_eq!(ledger.judge(&second, None, Ok(())), Verdict::Wanted);
}

#[test]
fn what_came_after_the_start_stays() {
    let scope = Scope::new(UNIX_EPOCH, 1, 1);
    let mut ledger = Ledger::new(scope, Folding::ByMessage, None);
    assert_eq!(ledger.judge(&letter("1"), None, Ok(())), Verdict::Wanted);
    assert_eq!(ledger.judge(&letter("2"), None, Ok(())), Verdict::Left(Why::CameLater));
}

#[test]
fn what_this_run_sent_and_is_dead_again_stays() {
    let mut ledger = ledger(None);
    let sent = letter("m");
    ledger.judge(&sent, None, Ok(()));
    ledger.done(&sent, Some("n"));
    assert_eq!(ledger.judge(&letter("n"), None, Ok(())), Verdict::Left(Why::CameBack));
    assert_eq!(ledger.judge(&letter_of("l", "n"), None, Ok(())), Verdict::Left(Why::CameBack));
    assert_eq!(ledger.judge(&letter("n"), None, Ok(())), Verdict::Again);
}

#[test]
fn a_letter_that_stays_stops_its_group_and_no_other() {
    let mut ledger = ledger(None);
    let judge = |ledger: &mut Ledger, id: &str, group, wanted| ledger.judge(&letter(id), Some(group), wanted);
    assert_eq!(judge(&mut ledger, "1", "a", Err(Why::NotWanted)), Verdict::Left(Why::NotWanted));
    assert_eq!(judge(&mut ledger, "2", "a", Ok(())), Verdict::Left(Why::BehindInGroup));
    assert_eq!(judge(&mut ledger, "3", "b", Ok(())), Verdict::Wanted);
    ledger.give_up(&letter("3"), Some("b"));
    assert_eq!(judge(&mut ledger, "4", "b", Ok(())), Verdict::Left(Why::BehindInGroup));
}

#[test]
fn no_more_than_the_maximum_is_wanted_even_if_one_fails() {
    let mut ledger = ledger(Some(2));
    assert_eq!(ledger.judge(&letter("1"), None, Ok(())), Verdict::Wanted);
    ledger.give_up(&letter("1"), None);
    assert_eq!(ledger.judge(&letter("1"), None, Ok(())), Verdict::Again);
    assert_eq!(ledger.judge(&letter("2"), None, Ok(())), Verdict::Wanted);
    assert_eq!(ledger.judge(&letter("3"), None, Ok(())), Verdict::Left(Why::OverMaximum));
}

#[test]
fn ids_are_told_apart_whatever_they_look_like() {
    let uuid = "059f36b4-87a3-44ab-83d2-661975830a7d";
    let alike = [
        uuid.to_owned(),
        uuid.to_uppercase(),
        uuid.replace('-', ""),
        "059f36b48-7a3-44ab-83d2-661975830a7d".to_owned(),
        uuid.replacen('0', "+", 1),
        String::new(),
    ];
    let keys: HashSet<_> = alike.iter().map(|id| Key::new(id)).collect();
    assert_eq!(keys.len(), alike.len());
    assert_eq!(Key::new(uuid), Key::Uuid(0x059f_36b4_87a3_44ab_83d2_6619_7583_0a7d));
}
