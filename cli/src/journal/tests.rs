use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn queue(name: &str) -> Queue {
    Queue::new(format!("https://localhost/1/{name}"), format!("arn:{name}"), HashMap::new())
}

fn attempt() -> Attempt {
    Attempt::new("arn:dead", "arn:orders", None)
}

fn in_folder(folder: &Path) -> Journal {
    Journal::open(Some(folder.to_owned()))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect()
}

#[test]
fn what_a_run_left_open_is_known_to_the_next_ones_until_it_is_done() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("state/redrive");
    let killed = in_folder(&folder);
    for letter in ["1", "2", "3"] {
        killed.sending(letter, &attempt());
    }
    killed.sent("1", Some("m"));
    killed.deleted("1");
    killed.kept("2");
    assert!(in_folder(&folder).earlier("3").is_none(), "it lives");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&files(&folder)[0])), (0o700, 0o600));
    drop(killed);

    let next = in_folder(&folder);
    assert_eq!(["1", "2", "3"].map(|letter| next.earlier(letter).is_some()), [false, false, true]);
    next.sending("3", &attempt());
    next.kept("3");
    next.finish(&queue("dead"), |_| false);
    let next = in_folder(&folder);
    assert!(next.earlier("3").is_some(), "an earlier run may have sent it all the same");
    next.finish(&queue("other"), |_| true);
    let next = in_folder(&folder);
    next.sending("3", &attempt());
    next.deleted("3");
    next.finish(&queue("dead"), |_| false);
    assert_eq!(files(&folder), [""; 0].map(PathBuf::from));
}

#[test]
fn a_letter_that_is_gone_is_open_no_more_though_another_of_its_run_is() {
    let folder = tempfile::tempdir().unwrap();
    let killed = in_folder(folder.path());
    killed.sending("1", &attempt());
    killed.sending("2", &attempt());
    drop(killed);
    in_folder(folder.path()).finish(&queue("dead"), |letter| letter == "1");
    let next = in_folder(folder.path());
    assert_eq!(["1", "2"].map(|letter| next.earlier(letter).is_some()), [false, true]);
}

#[test]
fn what_is_over_is_said_on_a_line_of_its_own_after_one_that_was_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let killed = in_folder(folder.path());
    killed.sending("1", &attempt());
    killed.sending("2", &attempt());
    drop(killed);
    let file = files(folder.path()).remove(0);
    File::options().append(true).open(&file).unwrap().write_all(b"{\"at\":\"20").unwrap();
    in_folder(folder.path()).finish(&queue("dead"), |letter| letter == "1");
    let next = in_folder(folder.path());
    assert_eq!(["1", "2"].map(|letter| next.earlier(letter).is_some()), [false, true]);
}

#[test]
fn files_of_others_and_old_ones_are_no_journal() {
    let folder = tempfile::tempdir().unwrap();
    let killed = in_folder(folder.path());
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
    assert!(in_folder(folder.path()).earlier("1").is_none());
    assert!(!own.exists() && others.iter().all(|other| other.exists()));
}

#[test]
fn the_folder_is_the_users_state_unless_one_is_given() {
    let folder = |flag: Option<&str>, variables: &[(&str, &str)]| {
        let variable = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        };
        super::folder(flag.map(Path::new), variable).map(|path| path.display().to_string())
    };
    let home = ("HOME", "/home/ada");
    let state = |path: &str| Some(path.to_owned());
    assert_eq!(folder(None, &[home]), state("/home/ada/.local/state/redrive"));
    assert_eq!(folder(None, &[home, ("XDG_STATE_HOME", "/state")]), state("/state/redrive"));
    assert_eq!(folder(None, &[home, ("XDG_STATE_HOME", "state")]), state("/home/ada/.local/state/redrive"));
    assert_eq!(folder(None, &[home, ("REDRIVE_JOURNAL", "/journal")]), state("/journal"));
    assert_eq!(folder(Some("here"), &[home, ("REDRIVE_JOURNAL", "off")]), state("here"));
    assert_eq!(folder(None, &[home, ("REDRIVE_JOURNAL", "off")]), None);
    assert_eq!(folder(Some("off"), &[home]), None);
    assert_eq!(folder(None, &[]), None);
}
