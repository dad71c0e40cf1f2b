//! `redrive man`, and the text below the flags of `--help`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Ran, command};

/// All pages by their names, such as `redrive-send.1`.
fn pages() -> BTreeMap<String, String> {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("man1");
    Ran::of(&mut command(&["man", path.to_str().expect("it is text")])).told(0, "");
    let files = fs::read_dir(path).expect("it was made").map(|file| file.expect("it is there"));
    files
        .map(|file| {
            let name = file.file_name().into_string().expect("it is text");
            (name, fs::read_to_string(file.path()).expect("it is text"))
        })
        .collect()
}

/// Names like `redrive-dlq-list(1)`, where roff escapes hyphens.
fn named(page: &str) -> Vec<String> {
    let plain = page.replace("\\-", "-");
    let names = plain.split("(1)").map(|before| {
        let name = before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).next();
        format!("{}.1", name.unwrap_or_default())
    });
    names.take(plain.matches("(1)").count()).collect()
}

#[test]
fn each_page_has_what_pages_have_and_names_only_pages_that_exist() {
    let pages = pages();
    for verb in [
        "redrive",
        "redrive-local",
        "redrive-send",
        "redrive-dlq",
        "redrive-dlq-retry",
        "redrive-queue-attach",
    ] {
        assert!(pages.contains_key(&format!("{verb}.1")), "{verb}: {:?}", pages.keys());
    }
    for (name, page) in &pages {
        let sections: Vec<_> = page.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
        for section in ["NAME", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"] {
            assert_eq!(
                sections.iter().filter(|it| it.trim_matches('"') == section).count(),
                1,
                "{section} of {name}"
            );
        }
        assert!(!sections.contains(&"EXTRA"), "{name}");
        let related = named(page);
        assert!(!related.is_empty(), "{name} leads nowhere");
        for other in related {
            assert!(pages.contains_key(&other), "{name} names {other}, which does not exist");
        }
    }
    let retry = &pages["redrive-dlq-retry.1"];
    for words in ["redrive.origin", "StartMessageMoveTask", "VISUAL, EDITOR", "Conditions:", "130"] {
        assert!(retry.contains(words), "{words}");
    }
}

#[test]
fn groff_has_nothing_to_say_about_a_page() {
    for (name, page) in pages() {
        let file = tempfile::NamedTempFile::new().expect("there is room for a file");
        fs::write(file.path(), page).expect("it is ours");
        // Where there is no groff, nobody can say anything.
        let Ok(output) = Command::new("groff").args(["-man", "-ww", "-Tutf8"]).arg(file.path()).output()
        else {
            return;
        };
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}");
    }
}

#[test]
fn a_link_in_the_folder_is_replaced_and_not_followed() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let (own, man) = (folder.path().join("own"), folder.path().join("man1"));
    fs::create_dir(&man).expect("it is new");
    fs::write(&own, "mine").expect("it is new");
    std::os::unix::fs::symlink(&own, man.join("redrive.1")).expect("it is new");
    for _ in 0..2 {
        Ran::of(&mut command(&["man", man.to_str().expect("it is text")])).told(0, "");
        assert_eq!(fs::read_to_string(&own).expect("it is there"), "mine");
    }
    let page = fs::symlink_metadata(man.join("redrive.1")).expect("it is there");
    assert!(page.is_file() && page.permissions().mode() & 0o044 == 0o044, "{page:?}");
    for file in fs::read_dir(&man).expect("it is there") {
        let name = file.expect("it is there").file_name();
        assert!(name.to_string_lossy().ends_with(".1"), "{name:?} was left");
    }
}

#[test]
fn one_page_is_printed_by_its_name() {
    Ran::of(&mut command("man")).ended(0).stdout_has(".TH redrive 1");
    Ran::of(&mut command("man --page dlq-retry")).ended(0).stdout_has(".TH redrive-dlq-retry 1");
    Ran::of(&mut command("man --page retry"))
        .refused(2, "redrive: --page is \"retry\", allowed: local, doctor, schedule, plan, dlq, dlq-list, ");
    Ran::of(&mut command("man /dev/null/man")).refused(1, "");
}

#[test]
fn the_longest_footers_have_ten_lines_and_name_their_page() {
    for verb in ["retry", "import", "triage"] {
        let help = Ran::of(&mut command(&["dlq", verb, "--help"])).stdout;
        let footer = &help[help.find("\nExample").expect("it has examples") + 1..];
        assert!(footer.lines().count() <= 10, "{footer}");
        assert!(
            footer.contains(&format!("\nMore: man redrive-dlq-{verb}, or redrive man --page dlq-{verb}")),
            "{footer}"
        );
    }
}

#[test]
fn the_first_page_lists_each_exit_code() {
    let pages = pages();
    for name in ["redrive.1", "redrive-dlq.1"] {
        let codes = pages[name].split(".SH \"EXIT STATUS\"").nth(1).expect("it has them");
        let codes = codes.split(".SH").next().unwrap_or_default();
        for code in ["0", "1", "2", "3", "130"] {
            assert!(codes.contains(&format!("\\fB{code}\\fR")), "{code} in {name}: {codes}");
        }
    }
}

#[test]
fn help_of_retry_explains_conditions_and_warns_of_double_charges() {
    let ran = Ran::of(&mut command("dlq retry --help"));
    let help = ran.ended(0).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in ["FIELD is body.PATH, body, attribute.NAME, reason, error,", "charge twice"] {
        assert!(help.contains(expected), "{help}");
    }
}
