//! Templates in the shapes that people write: what is found does not depend on how a template is written.

use std::path::Path;

use super::judge;
use crate::subject::template::{Source, of};
use crate::template::{Gaps, Node, Resolver, parse, tests::surroundings};

const SHAPES: &str = include_str!("../../tests/doctor/shapes.yaml");
const PLAIN: &str = include_str!("../../tests/doctor/plain.yaml");
const OTHERS: [(&str, &str); 2] = [
    ("scheduled", include_str!("../../tests/doctor/scheduled.yaml")),
    ("literal-arns", include_str!("../../tests/doctor/literal-arns.yaml")),
];

#[test]
fn what_is_found_does_not_depend_on_how_a_template_is_written() {
    let (shapes, mut wrong) = (parse(SHAPES).unwrap(), Vec::new());
    let surroundings = crate::template::Surroundings {
        region: "REGION".to_owned(),
        account: "ACCOUNT".to_owned(),
        ..surroundings()
    };
    for shape in shapes.as_list().unwrap() {
        let text = |key: &str| shape.get(key).and_then(Node::as_text).unwrap_or_default();
        let other = OTHERS.iter().find(|(name, _)| *name == text("over"));
        let template = shape.over(&parse(other.map_or(PLAIN, |(_, other)| other)).unwrap());
        let resolver = Resolver::new(&template, &[], &surroundings, Gaps::Kept).unwrap();
        let subject = of(&resolver, &Source::new(Path::new("t.yaml"), "", &[])).unwrap();
        let mut found: Vec<_> = judge(&subject).iter().map(|finding| finding.check.code).collect();
        found.sort_unstable();
        found.dedup();
        let expected = shape.get("finds").and_then(Node::as_list).unwrap_or_default();
        let is_named =
            |note: &str| note.is_empty() || subject.not_seen.iter().any(|seen| seen.contains(note));
        if !found.iter().copied().eq(expected.iter().filter_map(Node::as_text)) || !is_named(text("not_seen"))
        {
            wrong.push(format!("line {}: found {found:?}, not seen {:?}", shape.line, subject.not_seen));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
