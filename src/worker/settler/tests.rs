use super::*;

const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Messages received at 0 s, hidden for 30 s.
fn messages(count: usize, is_fifo: bool) -> (Settler, Leases<Key>) {
    let mut leases = Leases::new(millis(30_000));
    (0..count).for_each(|key| leases.take(key, millis(0), millis(0)));
    (Settler::new(is_fifo), leases)
}

fn delete(key: Key) -> Request {
    Request { key, at: key + 100, ask: Ask::Delete }
}

fn change(key: Key, seconds: u64) -> Request {
    Request { key, at: key + 100, ask: Ask::Change(Duration::from_secs(seconds)) }
}

fn handle(key: Key) -> Option<(Arc<str>, Duration)> {
    Some((format!("handle-{key}").into(), millis(0)))
}

/// The messages of the next call, its limit, and those that are lost.
fn next(
    settler: &mut Settler,
    leases: &Leases<Key>,
    now: Duration,
) -> Option<(Vec<Key>, Duration, Vec<Key>)> {
    let (job, lost) = settler.next(leases, now, false, handle)?;
    let keys = job.entries.iter().map(|entry| entry.key).collect();
    Some((keys, job.until, lost.iter().map(|answer| answer.key).collect()))
}

fn ended(keys: &[Key], confirmed: &[Key]) -> Settled {
    Settled { keys: keys.to_vec(), confirmed: confirmed.to_vec(), took: millis(5), lanes: Vec::new() }
}

#[test]
fn ten_deletes_make_a_call_at_once_and_fewer_after_a_tenth_of_a_second() {
    let (mut settler, mut leases) = messages(12, false);
    for key in 0..12 {
        assert_eq!(settler.ask(delete(key), &mut leases, millis(1_000)), None);
    }
    let until = millis(6_000);
    assert_eq!(next(&mut settler, &leases, millis(1_000)), Some(((0..10).collect(), until, vec![])));
    assert_eq!(next(&mut settler, &leases, millis(1_099)), None);
    assert_eq!(settler.due_at(), Some(millis(1_100)));
    assert_eq!(next(&mut settler, &leases, millis(1_100)), Some((vec![10, 11], millis(6_100), vec![])));
}

#[test]
fn those_of_a_fifo_queue_are_made_at_once_from_the_tail_of_the_group_to_its_head() {
    let (mut settler, mut leases) = messages(3, true);
    (0..3).for_each(|key| assert_eq!(settler.ask(change(key, 0), &mut leases, millis(1)), None));
    assert_eq!(next(&mut settler, &leases, millis(1)).unwrap().0, [2, 1, 0]);
}

#[test]
fn a_delay_waits_for_the_answer_to_an_extension_and_a_delete_does_not() {
    let (mut settler, mut leases) = messages(2, true);
    assert_eq!(leases.due(millis(10_000)).len(), 2);
    assert_eq!(settler.ask(change(0, 2), &mut leases, millis(10_001)), None);
    assert_eq!(settler.ask(delete(1), &mut leases, millis(10_001)), None);
    assert_eq!(next(&mut settler, &leases, millis(10_001)).unwrap().0, [1]);
    assert_eq!(next(&mut settler, &leases, millis(11_000)), None);
    assert!(!settler.is_empty());
    leases.extended(0, millis(10_000), 30);
    settler.extended(0, millis(11_500));
    assert_eq!(next(&mut settler, &leases, millis(11_500)).unwrap().0, [0]);
}

#[test]
fn nothing_is_settled_without_a_lease_whether_it_ends_before_the_request_or_before_the_call() {
    let (mut settler, mut leases) = messages(2, false);
    let lost = |key| Answered { key, at: key + 100, kind: Kind::Delete, confirmed: false };
    leases.forget(0);
    assert_eq!(settler.ask(delete(0), &mut leases, millis(1)), Some(lost(0)));
    assert_eq!(settler.ask(delete(1), &mut leases, millis(29_950)), None);
    let (job, answers) = settler.next(&leases, millis(30_050), false, handle).unwrap();
    assert!(job.entries.is_empty() && settler.is_empty());
    assert_eq!(answers, [lost(1)]);
}

#[test]
fn a_call_takes_no_longer_than_the_first_of_its_leases() {
    let (mut settler, mut leases) = messages(1, true);
    assert_eq!(settler.ask(delete(0), &mut leases, millis(27_000)), None);
    assert_eq!(next(&mut settler, &leases, millis(27_000)).unwrap().1, millis(30_000));
}

#[test]
fn a_delete_that_fails_is_tried_again_while_the_lease_holds_and_then_answered() {
    let (mut settler, mut leases) = messages(2, true);
    (0..2).for_each(|key| assert_eq!(settler.ask(delete(key), &mut leases, millis(0)), None));
    let mut now = millis(0);
    let mut tries = 0;
    let answers = loop {
        let (keys, ..) = next(&mut settler, &leases, now).unwrap();
        tries += 1;
        let confirmed: &[Key] = if tries == 1 { &[1] } else { &[] };
        let answers = settler.answered(&ended(&keys, confirmed), &mut leases, now, None);
        if tries == 1 {
            let done = Answered { key: 1, at: 101, kind: Kind::Delete, confirmed: true };
            assert_eq!(answers, [done]);
            assert_eq!((leases.until(1), settler.due_at()), (None, Some(millis(200))));
        } else if !answers.is_empty() {
            break answers;
        }
        assert!(leases.until(0).is_some_and(|until| until > now), "tried after the lease had ended");
        now = settler.due_at().unwrap();
    };
    assert_eq!(answers, [Answered { key: 0, at: 100, kind: Kind::Delete, confirmed: false }]);
    assert!(settler.is_empty() && tries > 5 && now > millis(20_000), "{tries} tries until {now:?}");
}

#[test]
fn nothing_is_tried_again_after_the_end_of_the_worker() {
    let (mut settler, mut leases) = messages(1, true);
    assert_eq!(settler.ask(delete(0), &mut leases, millis(0)), None);
    assert!(next(&mut settler, &leases, millis(0)).is_some());
    let answers = settler.answered(&ended(&[0], &[]), &mut leases, millis(100), Some(millis(250)));
    assert!(!answers[0].confirmed && settler.is_empty());
}

#[test]
fn no_message_is_hidden_for_longer_than_twelve_hours_from_its_receive() {
    let mut leases = Leases::new(Duration::from_secs(43_000));
    leases.take(0, millis(0), millis(0));
    let mut settler = Settler::new(true);
    let now = Duration::from_secs(40_000);
    assert_eq!(settler.ask(change(0, 7_200), &mut leases, now), None);
    let (job, _) = settler.next(&leases, now, false, handle).unwrap();
    assert!(matches!(job.entries[0].what, What::Change(after) if after == Duration::from_secs(3_195)));
}
