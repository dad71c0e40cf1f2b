use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn queue(name: &str) -> Queue {
    Queue::new(format!("https://localhost/1/{name}"), format!("arn:{name}"), HashMap::new())
}

fn attempt() -> Attempt {
    Attempt::new("arn:dead", "arn:orders", None)
}

async fn in_folder(folder: &Path) -> Journal {
    Journal::open(Store::Folder(folder.to_owned()), &queue("dead")).await.unwrap()
}

/// Returns the only open attempt.
fn earlier<'a>(journal: &'a Journal, letter: &str) -> Option<&'a Attempt> {
    journal.earlier(letter).next()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect()
}

#[tokio::test]
async fn a_letter_that_a_run_left_open_is_known_until_it_is_done() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("state/redrive");
    let killed = in_folder(&folder).await;
    for letter in ["1", "2", "3"] {
        killed.sending(letter, &attempt());
    }
    killed.sent("1", Some("m"));
    killed.deleted("1");
    killed.kept("2");
    let beside = in_folder(&folder).await;
    assert!(earlier(&beside, "3").is_some(), "it lives, and may be stopped");
    beside.finish(&queue("dead"), |_| true);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&files(&folder)[0])), (0o700, 0o600));
    drop(killed);

    let next = in_folder(&folder).await;
    assert_eq!(["1", "2", "3"].map(|letter| earlier(&next, letter).is_some()), [false, false, true]);
    next.sending("3", &attempt());
    next.kept("3");
    next.finish(&queue("dead"), |_| false);
    let next = in_folder(&folder).await;
    assert!(earlier(&next, "3").is_some(), "an earlier run may have sent it all the same");
    next.finish(&queue("other"), |_| true);
    let next = in_folder(&folder).await;
    next.sending("3", &attempt());
    next.deleted("3");
    next.finish(&queue("dead"), |_| false);
    assert_eq!(files(&folder), [""; 0].map(PathBuf::from));
}

#[tokio::test]
async fn a_line_after_one_that_was_cut_off_is_on_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let killed = in_folder(folder.path()).await;
    killed.sending("1", &attempt());
    killed.sending("2", &attempt());
    drop(killed);
    let file = files(folder.path()).remove(0);
    File::options().append(true).open(&file).unwrap().write_all(b"{\"at\":\"20").unwrap();
    in_folder(folder.path()).await.finish(&queue("dead"), |letter| letter == "1");
    let next = in_folder(folder.path()).await;
    assert_eq!(["1", "2"].map(|letter| earlier(&next, letter).is_some()), [false, true]);
}

#[tokio::test]
async fn files_of_others_and_old_ones_are_no_journal() {
    let folder = tempfile::tempdir().unwrap();
    let killed = in_folder(folder.path()).await;
    killed.sending("1", &attempt());
    drop(killed);
    let own = files(folder.path()).remove(0);
    let others = ["letters.jsonl", "letters.journal.jsonl", "target"].map(|name| folder.path().join(name));
    for other in &others {
        fs::write(other, "{\"id\":\"1\",\"body\":\"x\"}\n").unwrap();
    }
    std::os::unix::fs::symlink(&others[2], folder.path().join("link.journal.jsonl")).unwrap();
    let old = SystemTime::now() - KEPT - Duration::from_secs(1);
    for file in others.iter().chain([&own]) {
        File::options().write(true).open(file).unwrap().set_modified(old).unwrap();
    }
    assert!(earlier(&in_folder(folder.path()).await, "1").is_none());
    assert!(!own.exists() && others.iter().all(|other| other.exists()));
}

fn in_table(items: Vec<(String, String)>) -> Journal {
    let id = format!("letters#{}", queue("dead").arn);
    let journal = Journal::new(Store::Off, id, by_run(items, SystemTime::now()));
    journal.own.borrow_mut().run = "us".to_owned();
    journal
}

/// Returns the changes that a run's journal would write to a table.
fn noted(journal: &Journal, actions: &[(&str, LetterStep)]) -> BTreeMap<String, Option<String>> {
    let mut own = journal.own.borrow_mut();
    actions.iter().for_each(|(letter, action)| own.note(letter, action.clone()));
    own.changes.clone()
}

#[test]
fn an_item_of_a_table_has_what_is_open_about_a_letter() {
    let sent = || LetterStep::Sent { sent_as: Some("m".to_owned()) };
    let killed = in_table(vec![]);
    let actions = [
        ("deleted", LetterStep::Sending(attempt())),
        ("kept", LetterStep::Sending(attempt())),
        ("sent", LetterStep::Sending(attempt())),
        ("open", LetterStep::Sending(attempt())),
        ("kept", LetterStep::Kept),
        ("deleted", sent()),
        ("sent", sent()),
        ("deleted", LetterStep::Deleted),
    ];
    // The table may have this item, and lacks the others.
    killed.own.borrow_mut().tried.insert(key("deleted", "us"));
    let items = noted(&killed, &actions);
    let keys: Vec<_> = items.iter().map(|(at, lines)| (at.as_str(), lines.is_some())).collect();
    assert_eq!(keys, [("deleted#us", false), ("open#us", true), ("sent#us", true)]);
    let items: Vec<_> = items.into_iter().filter_map(|(at, lines)| Some((at, lines?))).collect();
    let junk = [("open", "{}"), ("odd#them", "{}")].map(|(at, lines)| (at.to_owned(), lines.to_owned()));
    let next = in_table(items.into_iter().chain(junk).collect());
    let open = |letter| earlier(&next, letter).map(|attempt| (attempt.is_sent, attempt.sent_as.as_deref()));
    assert_eq!(
        ["deleted", "kept", "open", "odd", "sent"].map(open),
        [None, None, Some((false, None)), None, Some((true, Some("m")))]
    );
}

#[test]
fn a_letter_of_a_table_may_arrive_twice_even_on_a_fifo_queue() {
    let now = SystemTime::now();
    let again = Attempt::new(&queue("dead").arn, &queue("orders").arn, Some("d"));
    let lines = JournalEntry::new(now, "1", LetterStep::Sending(again.clone())).line();
    let journal = in_table(vec![(key("1", "them"), lines)]);
    assert!(earlier(&journal, "1").expect("it is open").is_repeated_by(&again, now));
}

#[test]
fn items_of_a_table_stay_while_their_run_may_live() {
    let now = SystemTime::now();
    let lines = |letter: &str, at: SystemTime| {
        (key(letter, "them"), JournalEntry::new(at, letter, LetterStep::Sending(attempt())).line())
    };
    let items = vec![
        lines("young", now),
        lines("ahead", now + MAY_LIVE),
        lines("old", now - MAY_LIVE),
        lines("deleted", now),
        lines("expired", now - KEPT),
    ];
    let journal = in_table(items);
    assert!(earlier(&journal, "ahead").is_some() && earlier(&journal, "expired").is_none());
    journal.sending("deleted", &attempt());
    journal.deleted("deleted");
    journal.finish(&queue("dead"), |_| true);
    let changes = journal.own.borrow().changes.clone();
    let gone = |letter| (key(letter, "them"), None);
    assert_eq!(changes, [gone("deleted"), gone("old")].into());
}
