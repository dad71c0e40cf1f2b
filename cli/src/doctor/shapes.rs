//! Templates in the shapes that people write, each with what must be found in it and what must be named as not seen.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::judge;
use crate::subject::template::{Source, read};

#[test]
fn what_is_found_does_not_depend_on_how_a_template_is_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doctor/shapes");
    let (mut seen, mut wrong) = (0, Vec::new());
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let said = |name: &str| {
            let lines = text.lines().filter_map(move |line| line.strip_prefix("# ")?.strip_prefix(name));
            lines.map(str::trim).collect::<Vec<_>>()
        };
        let expected: BTreeSet<&str> = said("finds:")
            .into_iter()
            .flat_map(|codes| codes.split(", "))
            .filter(|it| *it != "nothing")
            .collect();
        let subject = read(&Source::new(&path, &text, &[])).unwrap();
        let found: BTreeSet<&str> = judge(&subject).iter().map(|finding| finding.check.code).collect();
        let missing: Vec<_> = said("not seen:")
            .into_iter()
            .filter(|note| !subject.not_seen.iter().any(|seen| seen.contains(note)))
            .collect();
        if found != expected || !missing.is_empty() {
            let name = path.file_name().unwrap_or_default().display().to_string();
            wrong.push(format!("{name}: found {found:?}, not noted {missing:?} in {:?}", subject.not_seen));
        }
        seen += 1;
    }
    assert!(seen > 0 && wrong.is_empty(), "of {seen} templates:\n{}", wrong.join("\n"));
}
