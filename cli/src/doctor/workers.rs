//! What is deployed as a worker: nothing is found in our own files, and each fault put into them alone.

use std::path::Path;

use redrive_template::subject::Subject;
use redrive_template::subject::template::{Source, read};
use redrive_template::{Node, parse};

use super::judge;

const FAULTS: &str = include_str!("../../tests/doctor/worker-faults.yaml");
/// The name of a file, its text, and its parameters.
type File = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const FILES: [File; 2] = [
    ("worker.yaml", include_str!("../../../deploy/worker.yaml"), &GIVEN),
    ("worker.k8s.yaml", include_str!("../../../deploy/worker.k8s.yaml"), &[]),
];
/// The same with an app of any language beside the worker.
const OF_APPS: [File; 2] = [
    ("any/worker.yaml", include_str!("../../../templates/any/worker.yaml"), &GIVEN_FOR_APPS),
    ("any/worker.k8s.yaml", include_str!("../../../templates/any/worker.k8s.yaml"), &[]),
];
/// Parameters of worker.yaml that have no default, or none with which all can be seen.
const GIVEN: [(&str, &str); 5] = [
    ("NotificationEmail", "me@example.com"),
    ("Repository", "orders"),
    ("ImageTag", "1"),
    ("Subnets", "subnet-1"),
    ("SecurityGroups", "sg-1"),
];
const GIVEN_FOR_APPS: [(&str, &str); 6] =
    [GIVEN[0], GIVEN[1], GIVEN[2], GIVEN[3], GIVEN[4], ("RedriveImage", "redrive:1")];

fn subject(name: &str, text: &str, given: &[(&str, &str)]) -> Subject {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let given: Vec<_> = given.iter().map(owned).collect();
    read(&Source::new(Path::new(name), text, &given)).unwrap()
}

/// The code and all that is said with it, once where it is said of nothing else.
fn told(subject: &Subject) -> (String, String) {
    let findings = judge(subject);
    let mut codes: Vec<_> = findings.iter().map(|finding| finding.check.code).collect();
    codes.dedup();
    let said: Vec<_> = findings.iter().map(|finding| finding.found.what.as_str()).collect();
    (codes.join(" "), said.join(" "))
}

/// The codes that have a fault here.
pub(super) fn codes() -> Vec<String> {
    let faults = parse(FAULTS).unwrap();
    let lists = faults.entries().iter().flat_map(|(_, faults)| faults.as_list().unwrap());
    lists.map(|fault| fault.as_list().unwrap()[2].as_text().unwrap_or_default().to_owned()).collect()
}

#[test]
fn nothing_is_found_in_what_we_deploy() {
    for (name, text, given) in FILES.into_iter().chain(OF_APPS) {
        let subject = subject(name, text, given);
        assert_eq!(subject.workers.len(), 1, "{name}");
        assert_eq!(told(&subject), (String::new(), String::new()), "{name}");
    }
    for files in [FILES, OF_APPS] {
        let [ecs, kubernetes] = files.map(|(name, text, given)| subject(name, text, given));
        assert_eq!(ecs.not_seen, Vec::<String>::new());
        assert_eq!(
            kubernetes.not_seen,
            [
                "the queue of orders: https://sqs.REGION.amazonaws.com/ACCOUNT/orders is not in this file",
                "the permissions of orders: its IAM role is not in this file"
            ]
        );
    }
}

#[test]
fn each_fault_of_a_worker_is_found_and_nothing_else() {
    let (faults, mut wrong) = (parse(FAULTS).unwrap(), Vec::new());
    for (name, base, given) in FILES {
        for fault in faults.get(name).and_then(Node::as_list).unwrap() {
            let texts: Vec<_> =
                fault.as_list().unwrap().iter().map(|it| it.as_text().unwrap_or_default()).collect();
            let ([old, new, code, said], parameter) = match texts[..] {
                [old, new, code, said] => ([old, new, code, said], None),
                [old, new, code, said, parameter] => ([old, new, code, said], parameter.split_once('=')),
                _ => panic!("line {}: {texts:?}", fault.line),
            };
            assert!(base.contains(old), "{name} does not say {old:?}");
            let given: Vec<_> = given.iter().copied().chain(parameter).collect();
            let found = told(&subject(name, &base.replacen(old, new, 1), &given));
            if found != (code.to_owned(), said.to_owned()) {
                wrong.push(format!("line {}: {found:?}", fault.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
