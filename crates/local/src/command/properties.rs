//! Properties that hold for any file, for the fuzzers of `dev/fuzz/` and for tests.

use redrive_iac::Surroundings;

use crate::command::local::stack;
use crate::command::messages::{self, Place};

/// Checks that a template is refused, or read with the same result each time.
///
/// # Panics
/// Panics if the property does not hold.
pub fn template(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let surroundings = surroundings();
    let read = || stack::read(&text, &[], &surroundings).map(|run| format!("{run:?}"));
    assert_eq!(read(), read());
}

pub(crate) fn surroundings() -> Surroundings {
    Surroundings {
        region: Some("us-east-1".to_owned()),
        account: Some("000000000000".to_owned()),
        stack: Some("local".to_owned()),
        endpoint: "http://127.0.0.1:0".to_owned(),
        ..Surroundings::default()
    }
}

/// Checks that each line of a file is a message, in order, or that the error names the first line that is not.
///
/// # Panics
/// Panics if the property does not hold.
pub fn messages(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    match messages::parse(&text) {
        Ok(found) => {
            let places: Vec<_> = found.iter().map(|message| message.place).collect();
            assert!(places.is_sorted_by(|one, next| one < next), "{places:?}");
        }
        Err(error) => {
            let Place::Line(number) = error.place else { return };
            let line = text.lines().nth(number - 1).expect("the line is there");
            assert!(!line.trim().is_empty() && !error.message.contains('\n'), "{error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::corpus::check;

    /// Returns resources, each of which is named twice after the one before.
    fn doubling(last: usize) -> String {
        let name = |queue| match queue {
            0 => "x".to_owned(),
            _ => format!("!Sub '${{Q{0}.QueueName}}-${{Q{0}.QueueName}}'", queue - 1),
        };
        let queue =
            |at| format!("  Q{at}: {{Type: AWS::SQS::Queue, Properties: {{QueueName: {}}}}}\n", name(at));
        format!("Resources:\n{}", (0..=last).map(queue).collect::<String>())
    }

    /// Returns nested texts, each of which contains the next one twice.
    fn nested(depth: usize) -> String {
        let text = (0..depth)
            .fold("x".to_owned(), |inner, _| format!("{{'Fn::Sub': ['${{a}}${{a}}', {{a: {inner}}}]}}"));
        format!("Resources: {{Q: {{Type: AWS::SQS::Queue, Properties: {{QueueName: {text}}}}}}}")
    }

    fn lists(depth: usize) -> String {
        let list = (0..depth).fold("!Split [',', !Join [',', !Ref Many]]".to_owned(), |inner, _| {
            format!("!Split [',', !Join [',', [{}]]]", vec![format!("!Join [',', {inner}]"); 10].join(", "))
        });
        let many = "x,".repeat(1_000);
        format!(
            "Parameters: {{Many: {{Type: CommaDelimitedList, Default: '{many}'}}}}\n\
             Resources: {{Q: {{Type: AWS::SQS::Queue, Properties: {{Tags: {list}}}}}}}"
        )
    }

    #[test]
    fn a_recursive_or_explosive_template_is_refused() {
        let circle = "Conditions: {A: !Condition B, B: !Not [!Condition A]}\nResources:\n  \
            P: {Type: AWS::SQS::Queue, Condition: A, Properties: {QueueName: !GetAtt Q.QueueName}}\n  \
            Q: {Type: AWS::SQS::Queue, Properties: {QueueName: !GetAtt R.QueueName}}\n  \
            R: {Type: AWS::SQS::Queue, Properties: {QueueName: !Sub '${Q.QueueName}'}}";
        let surroundings = surroundings();
        for (bomb, expected) in [
            (doubling(40), "too complex to resolve"),
            (nested(30), "too complex to resolve"),
            (lists(4), "too complex to resolve"),
            (circle.to_owned(), "refers to itself"),
        ] {
            template(bomb.as_bytes());
            let why = stack::read(&bomb, &[], &surroundings).expect_err("it is refused").to_string();
            assert!(why.contains(expected), "{why}: {}", &bomb[..bomb.len().min(200)]);
        }
    }

    #[test]
    fn the_corpora_of_the_fuzzers_hold() {
        check("template", &["crates/cli/tests/doctor/corpus"], super::template);
        check("messages", &["events"], super::messages);
    }
}
