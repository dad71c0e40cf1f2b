//! The reader on templates that nobody would write.

use std::path::Path;

use proptest::prelude::*;
use redrive_template::subject::template::{Source, read};

use super::checks::ALL;

const OURS: &str = include_str!("../../../template.yaml");
const WORKER: &str = include_str!("../../../deploy/worker.yaml");
const MANIFESTS: &str = include_str!("../../../deploy/worker.k8s.yaml");
const FAULTLESS: &str = include_str!("../../tests/doctor/faultless.yaml");
const WITH_A_ROLE: &str = include_str!("../../tests/doctor/plain.yaml");

/// What people write elsewhere in a template, in a place where it does not belong.
const ODD: [&str; 14] = [
    "!Ref Nothing",
    "!GetAtt OrdersQueue.Color",
    "!If [IsFifo, a]",
    "!If [PutsMetrics, !Ref AWS::NoValue, [x]]",
    "!Sub '${'",
    "!Join [!Ref Fifo]",
    "!ImportValue x",
    "[]",
    "{}",
    "~",
    "-1",
    "99999999999999999999",
    "'{{resolve:ssm:x}}'",
    "arn:aws:sqs",
];

/// A line is dropped, doubled, moved inwards, or has another value.
fn mutate(text: &str, mutations: &[(prop::sample::Index, u8, prop::sample::Index)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (at, kind, odd) in mutations {
        let at = at.index(lines.len());
        let line = lines[at].clone();
        match kind {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, line),
            2 => lines[at] = format!("  {line}"),
            _ => {
                let key = line.split(": ").next().unwrap_or_default();
                lines[at] = format!("{key}: {}", ODD[odd.index(ODD.len())]);
            }
        }
    }
    lines.join("\n")
}

proptest! {
    #[test]
    fn no_template_makes_the_reader_panic(
        text in prop::sample::select(&[OURS, FAULTLESS, WITH_A_ROLE, WORKER, MANIFESTS][..]),
        mutations in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..8, any::<prop::sample::Index>()), 1..6),
    ) {
        let text = mutate(text, &mutations);
        let file = |_: &Path| Some("[profile]\nrelease = { panic = 1 }".to_owned());
        let read = read(&Source { file: &file, ..Source::new(Path::new("t.yaml"), &text, &[]) });
        if let Ok(subject) = read {
            for check in ALL {
                check.findings(&subject);
            }
        }
    }
}
