//! Templates laid over one without fault: each fault is found, and nothing else is, however a template is written.

use std::path::Path;

use redrive_template::subject::Subject;
use redrive_template::subject::template::{Source, of};
use redrive_template::{Gaps, Node, Resolver, Surroundings, parse};

use super::judge;
use crate::doctor::checks;
use crate::doctor::finding::Finding;
use crate::doctor::words::Words;

const FAULTS: &str = include_str!("../../tests/doctor/faults.yaml");
const FAULTLESS: &str = include_str!("../../tests/doctor/faultless.yaml");
const SHAPES: &str = include_str!("../../tests/doctor/shapes.yaml");
const PLAIN: &str = include_str!("../../tests/doctor/plain.yaml");
const OTHERS: [(&str, &str); 2] = [
    ("scheduled", include_str!("../../tests/doctor/scheduled.yaml")),
    ("literal-arns", include_str!("../../tests/doctor/literal-arns.yaml")),
];
const ABORTING: &str = "[workspace]\n\n[profile.release]\npanic = \"abort\"\n";

/// What a template is with a patch laid over it, which may say the region.
fn laid_over(base: &str, patch: &Node) -> Subject {
    let region = patch.text_at("region");
    let surroundings = Surroundings {
        region: region.map(str::to_owned),
        account: None,
        stack: None,
        endpoint: format!("https://sqs.{}.amazonaws.com", region.unwrap_or("REGION")),
        names: [].into(),
        values: [].into(),
    };
    let template = patch.over(&parse(base).unwrap());
    let resolver = Resolver::new(&template, &[], &surroundings, Gaps::Kept).unwrap();
    let file = |path: &Path| path.starts_with("panic-abort").then(|| ABORTING.to_owned());
    of(&resolver, &Source { file: &file, ..Source::new(Path::new("t.yaml"), "", &[]) }).unwrap()
}

fn text<'n>(node: &'n Node, key: &str) -> &'n str {
    node.text_at(key).unwrap_or_default()
}

#[test]
fn each_code_has_a_fault_for_which_it_alone_is_found() {
    let (faults, mut wrong) = (parse(FAULTS).unwrap(), Vec::new());
    // No template alone can drift: tools/faults.py shows it in a stack.
    let mut codes: Vec<_> = checks::ALL.iter().map(|check| check.code).collect();
    let of_workers = super::workers::codes();
    codes.retain(|code| {
        let is_shown = faults.get(code).is_some() || of_workers.iter().any(|of| of == code);
        *code != "stack-drifts" && !is_shown
    });
    assert!(codes.is_empty(), "no fault for {codes:?}");
    for (code, fault) in faults.entries() {
        let without = text(fault, "without");
        assert!(without.is_empty() || FAULTLESS.matches(without).count() == 1, "{code}");
        let base = if without.is_empty() { FAULTLESS.to_owned() } else { FAULTLESS.replace(without, "") };
        let subject = laid_over(&base, fault);
        let findings = judge(&subject);
        let found: Vec<_> = findings.iter().map(|it| (it.check.code, it.found.what.as_str())).collect();
        if found != [(code.as_str(), text(fault, "says"))] {
            wrong.push(format!("{code}: {found:?}, not seen {:?}", subject.not_seen));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_found_does_not_depend_on_how_a_template_is_written() {
    let mut wrong = Vec::new();
    for shape in parse(SHAPES).unwrap().as_list().unwrap() {
        let other = OTHERS.iter().find(|(name, _)| *name == text(shape, "over"));
        let subject = laid_over(other.map_or(PLAIN, |(_, other)| other), shape);
        let findings = judge(&subject);
        let is_misled = |it: &&Finding| !it.runs_redrive && matches!(it.check.fix, Words::Redrive(_));
        wrong.extend(findings.iter().find(is_misled).map(|it| format!("line {}: {it:?}", shape.line)));
        let mut found: Vec<_> = findings.iter().map(|finding| finding.check.code).collect();
        found.sort_unstable();
        found.dedup();
        let expected = shape.items_at("finds");
        let is_named = |note: &str| note.is_empty() || subject.not_seen.iter().any(|it| it.contains(note));
        if !found.iter().copied().eq(expected.iter().filter_map(Node::as_text))
            || !is_named(text(shape, "not_seen"))
        {
            wrong.push(format!("line {}: found {found:?}, not seen {:?}", shape.line, subject.not_seen));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
