use std::time::UNIX_EPOCH;

use aws_sdk_sqs::types::Message;
use proptest::prelude::*;

use super::*;

fn tracker(most: Option<u64>) -> MessageTracker {
    MessageTracker::new(Scope::new(UNIX_EPOCH, 100, 100), Folding::ByMessage, most)
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
fn deletes_treat_letters_of_one_message_separately() {
    let mut tracker = MessageTracker::new(Scope::new(UNIX_EPOCH, 100, 100), Folding::ByLetter, None);
    assert_eq!(tracker.judge(&letter("m"), None, Ok(())), Decision::Wanted);
    tracker.done(&letter("m"), None);
    let second = letter_of("l", "m");
    assert_eq!(
        tracker.judge(&second, None, Err(LeftReason::NotWanted)),
        Decision::Left(LeftReason::NotWanted)
    );
    assert_eq!(tracker.judge(&letter_of("k", "m"), None, Ok(())), Decision::Wanted);
}

#[test]
fn the_second_letter_of_a_message_is_wanted_once_the_first_was_given_up() {
    let mut tracker = tracker(None);
    let (first, second) = (letter("m"), letter_of("l", "m"));
    assert_eq!(tracker.judge(&first, None, Ok(())), Decision::Wanted);
    tracker.give_up(&first, None);
    assert_eq!(tracker.judge(&second, None, Ok(())), Decision::Wanted);
}

#[test]
fn letters_that_arrived_after_the_start_stay() {
    let scope = Scope::new(UNIX_EPOCH, 1, 1);
    let mut tracker = MessageTracker::new(scope, Folding::ByMessage, None);
    assert_eq!(tracker.judge(&letter("1"), None, Ok(())), Decision::Wanted);
    assert_eq!(tracker.judge(&letter("2"), None, Ok(())), Decision::Left(LeftReason::CameLater));
    let unwanted = tracker.judge(&letter("3"), None, Err(LeftReason::NotWanted));
    assert_eq!(unwanted, Decision::Left(LeftReason::NotWanted), "nobody asks when it came");
}

#[test]
fn a_duplicate_leaves_no_place_for_a_letter_that_came_after_the_start() {
    let mut tracker = MessageTracker::new(Scope::new(UNIX_EPOCH, 3, 3), Folding::ByMessage, None);
    assert_eq!(tracker.judge(&letter("m"), None, Ok(())), Decision::Wanted);
    assert_eq!(tracker.judge(&letter_of("l", "m"), None, Ok(())), Decision::DuplicateInWork);
    tracker.done(&letter("m"), Some("n"));
    assert_eq!(tracker.judge(&letter_of("k", "m"), None, Ok(())), Decision::Duplicate);
    assert_eq!(tracker.scope.unseen(), 0);
    assert_eq!(tracker.judge(&letter("late"), None, Ok(())), Decision::Left(LeftReason::CameLater));
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

/// Outcome of a wanted letter in a run.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Does,
    GivesUp,
    LeavesOpen,
}

/// A FIFO queue of letters by number: each has a group, a message of its group, and whether it is selected.
#[derive(Debug, Clone)]
struct Fifo<'letters> {
    letters: &'letters [(u8, u8, bool)],
    there: Vec<usize>,
    in_flight: Vec<usize>,
}

impl<'letters> Fifo<'letters> {
    fn new(letters: &'letters [(u8, u8, bool)]) -> Self {
        Self { letters, there: (0..letters.len()).collect(), in_flight: vec![] }
    }

    /// Receives as SQS does, from groups without letters in flight.
    fn receive(&mut self, most: usize) -> Vec<usize> {
        let is_free = |number: &usize| {
            self.in_flight.iter().all(|other| self.letters[*other].0 != self.letters[*number].0)
        };
        let received: Vec<_> = self.there.iter().copied().filter(is_free).take(most).collect();
        self.there.retain(|number| !received.contains(number));
        self.in_flight.extend(&received);
        received
    }

    fn delete(&mut self, number: usize) {
        self.in_flight.retain(|other| *other != number);
    }

    fn letter(&self, number: usize) -> (Letter, String) {
        let (group, message, _) = self.letters[number];
        (letter_of(&format!("l{number}"), &format!("m{group}-{message}")), format!("g{group}"))
    }
}

/// Parameters of a run: sizes of receives and sends, and letters that SQS refuses.
#[derive(Debug, Clone)]
struct Terms {
    receive: usize,
    send: usize,
    most: Option<u64>,
    refused: Vec<usize>,
}

/// Returns the letters that a dry run would send.
fn promise(letters: &[(u8, u8, bool)], terms: &Terms) -> Vec<usize> {
    let (mut queue, mut tracker, mut promised) = (Fifo::new(letters), tracker(terms.most), vec![]);
    while tracker.room() > 0 {
        let received = queue.receive(terms.receive);
        if received.is_empty() {
            break;
        }
        for number in received {
            let (letter, group) = queue.letter(number);
            let wanted = if letters[number].2 { Ok(()) } else { Err(LeftReason::NotWanted) };
            if tracker.judge(&letter, Some(&group), wanted) == Decision::Wanted {
                tracker.done(&letter, None);
                promised.push(number);
            }
        }
    }
    promised
}

/// Returns the letters that a run sends, and those that it deletes.
fn run(letters: &[(u8, u8, bool)], terms: &Terms) -> (Vec<usize>, HashSet<usize>) {
    let (mut queue, mut tracker, mut sent) = (Fifo::new(letters), tracker(terms.most), vec![]);
    let mut deleted = HashSet::new();
    while tracker.room() > 0 {
        let received = queue.receive(terms.receive);
        if received.is_empty() {
            break;
        }
        let (mut wanted, mut same) = (vec![], vec![]);
        for number in received {
            let (letter, group) = queue.letter(number);
            let is_wanted = if letters[number].2 { Ok(()) } else { Err(LeftReason::NotWanted) };
            match tracker.judge(&letter, Some(&group), is_wanted) {
                Decision::Wanted => wanted.push(number),
                Decision::DuplicateInWork | Decision::Duplicate => same.push(number),
                _ => (),
            }
        }
        let mut over = vec![];
        for chunk in wanted.chunks(terms.send) {
            for number in chunk {
                let (letter, group) = queue.letter(*number);
                if tracker.overtakes(&letter, Some(&group)) || terms.refused.contains(number) {
                    tracker.give_up(&letter, Some(&group));
                } else {
                    tracker.done(&letter, None);
                    sent.push(*number);
                    over.push(*number);
                }
            }
        }
        over.extend(same.into_iter().filter(|number| tracker.is_done(&queue.letter(*number).0)));
        for number in over {
            queue.delete(number);
            deleted.insert(number);
        }
    }
    (sent, deleted)
}

fn letters() -> impl Strategy<Value = Vec<(u8, u8, bool)>> {
    prop::collection::vec((0..3_u8, 0..12_u8, prop::bool::weighted(0.8)), 0..60)
}

fn terms() -> impl Strategy<Value = Terms> {
    let refused = prop::collection::vec(0..60_usize, 0..4);
    let most = prop::option::of(1..20_u64);
    (1..=10_usize, 1..=10_usize, most, refused).prop_map(|(receive, send, most, refused)| Terms {
        receive,
        send,
        most,
        refused,
    })
}

proptest! {
    #[test]
    fn a_run_sends_the_letters_that_its_dry_run_promised(letters in letters(), terms in terms()) {
        let undisturbed = Terms { refused: vec![], ..terms };
        let promised = promise(&letters, &undisturbed);
        let (sent, _) = run(&letters, &undisturbed);
        // If there are more letters than the maximum, the queue decides which ones are sent.
        prop_assert!(promised.len() <= sent.len(), "{promised:?} {sent:?}");
        let all = Terms { most: None, ..undisturbed };
        let (promised, (sent, _)) = (promise(&letters, &all), run(&letters, &all));
        prop_assert!(promised.iter().all(|number| sent.contains(number)), "{promised:?} {sent:?}");
    }

    #[test]
    fn a_sent_letter_has_overtaken_none_of_its_group(letters in letters(), terms in terms()) {
        let (sent, deleted) = run(&letters, &terms);
        prop_assert!(terms.most.is_none_or(|most| sent.len() <= usize::try_from(most).unwrap()));
        for number in &sent {
            let group = letters[*number].0;
            let before = (0..*number).filter(|other| letters[*other].0 == group);
            prop_assert!(before.clone().all(|other| deleted.contains(&other)), "{number} of {sent:?}");
        }
        for group in 0..3 {
            prop_assert!(sent.iter().filter(|number| letters[**number].0 == group).is_sorted());
        }
        let messages: HashSet<_> = sent.iter().map(|number| (letters[*number].0, letters[*number].1)).collect();
        prop_assert_eq!(messages.len(), sent.len(), "each message once");
    }

    #[test]
    fn each_message_is_done_once_and_overtakes_no_letter_that_stays(
        seen in prop::collection::vec(
            (
                0..12_usize,
                "[ab]",
                any::<bool>(),
                prop_oneof![Just(Deed::Does), Just(Deed::GivesUp), Just(Deed::LeavesOpen)],
            ),
            0..60,
        ),
        most in 0..8_u64,
    ) {
        let mut tracker = tracker(Some(most));
        let (mut done, mut open, mut left) = (HashSet::new(), HashSet::new(), HashSet::new());
        let (mut stopped, mut wanted_so_far, mut taken) = (HashSet::new(), 0, HashSet::new());
        for (number, group, is_wanted, deed) in seen {
            // Two letters of each message.
            let (letter, message) = (letter_of(&format!("l{number}"), &format!("m{}", number / 2)), number / 2);
            let wanted = if is_wanted { Ok(()) } else { Err(LeftReason::NotWanted) };
            let is_new = !left.contains(&number) && !taken.contains(&number);
            let decision = tracker.judge(&letter, Some(&group), wanted);
            prop_assert_eq!(is_new, !matches!(decision, Decision::Again | Decision::Repeated));
            match decision {
                Decision::Wanted => {
                    wanted_so_far += 1;
                    taken.insert(number);
                    prop_assert!(is_wanted && !left.contains(&number) && !stopped.contains(&group));
                    prop_assert!(!done.contains(&message) && !open.contains(&message));
                    match deed {
                        Deed::Does => {
                            tracker.done(&letter, None);
                            done.insert(message);
                        }
                        Deed::GivesUp => {
                            tracker.give_up(&letter, Some(&group));
                            left.insert(number);
                            stopped.insert(group);
                        }
                        Deed::LeavesOpen => drop(open.insert(message)),
                    }
                }
                Decision::Duplicate => {
                    prop_assert!(done.contains(&message));
                    taken.insert(number);
                }
                Decision::DuplicateInWork => {
                    prop_assert!(open.contains(&message));
                    taken.insert(number);
                }
                Decision::Repeated => prop_assert!(taken.contains(&number)),
                Decision::Left(_) => {
                    left.insert(number);
                    stopped.insert(group);
                }
                Decision::Again => prop_assert!(left.contains(&number)),
            }
            prop_assert!(wanted_so_far <= most);
        }
    }
}
