//! Codes as text: the explanation of one, and a list of all.

use std::fmt::Write;

use super::checks::ALL;
use super::finding::Check;
use super::words::Words;

/// Returns the explanation of a check, with its fix.
///
/// # Panics
/// There is no such code.
pub(super) fn explanation(code: &str) -> String {
    let check = ALL.iter().find(|check| check.code == code).expect("the code was checked as an argument");
    section(check)
}

/// Returns a line for each check.
pub(super) fn list() -> String {
    let width = ALL.iter().map(|check| check.code.len()).max().unwrap_or_default();
    ALL.iter().fold(String::new(), |mut list, check| {
        let _ = writeln!(list, "{:width$}  {:7}  {}", check.code, check.level.word(), check.title);
        list
    })
}

fn section(check: &Check) -> String {
    let Check { code, level, title, why, link, fix, .. } = check;
    let (level, why, fix) = (
        level.word(),
        said(["", "With redrive: "], *why),
        said(["**Fix**: ", "**Fix with redrive**: "], *fix),
    );
    format!("## {code}\n\n{title} ({level}).\n\n{why}\n<{link}>\n\n{fix}\n")
}

/// Returns the words for everybody, or first those without redrive and then those with it.
fn said([title, with_redrive]: [&str; 2], words: Words) -> String {
    let other = words.to(false);
    match words.of_redrive_alone() {
        None => format!("{title}{other}"),
        Some(redrive) => format!("{title}{other}\n\n{with_redrive}{redrive}"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use redrive_iac::deployment::template::{Source, read};
    use redrive_iac::deployment::{HOLDERS, RECEIVERS};

    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/doctor.md");

    #[test]
    fn each_type_that_is_not_read_is_reported_and_documented() {
        let page = std::fs::read_to_string(PAGE).unwrap();
        for (start, why) in HOLDERS.iter().chain(&RECEIVERS) {
            assert!(page.contains(&format!("`{start}")), "{start} is not on {PAGE}");
            let kind =
                if start.ends_with("::") { format!("{start}Environment") } else { (*start).to_owned() };
            let text = format!(
                "Resources:
  Q: {{Type: AWS::SQS::Queue, Properties: {{QueueName: orders}}}}
  R:
    Type: {kind}
    Properties:
      ContainerDefinitions: [{{Environment: [{{Name: QUEUE, Value: !Ref Q}}]}}]
      Source: !GetAtt Q.Arn
      Definition: 'arn:aws:states:::aws-sdk:sqs:receiveMessage'
"
            );
            let deployment = read(&Source::new(Path::new("t.yaml"), &text, &[])).unwrap();
            let lines = deployment.lines_not_read();
            assert!(lines.iter().any(|it| it.starts_with('R') && it.ends_with(why)), "{kind}: {lines:?}");
            assert!(deployment.may_hold_more(), "{kind}");
        }
    }

    /// `UPDATE=1 cargo test --workspace --bin redrive doctor::page` writes the list.
    #[test]
    fn the_page_lists_all_checks() {
        let page = std::fs::read_to_string(PAGE).unwrap();
        let (head, _) = page.split_once(&format!("- `{}`: ", ALL[0].code)).unwrap();
        let mut list = String::new();
        for Check { code, title, .. } in ALL {
            let _ = writeln!(list, "- `{code}`: {title}");
        }
        let wanted = format!("{head}{list}\nNext: [Cost](cost.md).\n");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(PAGE, wanted).unwrap();
        } else {
            assert_eq!(
                page, wanted,
                "docs/doctor.md is old: run UPDATE=1 cargo test --workspace --bin redrive doctor::page"
            );
        }
    }

    #[test]
    fn codes_are_unique_and_sentences_are_complete() {
        for (at, check) in ALL.iter().enumerate() {
            let Check { code, title, why, link, fix, .. } = check;
            assert!(code.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{code}");
            assert!(!ALL[..at].iter().any(|earlier| earlier.code == *code), "{code} is there twice");
            assert!(!title.ends_with('.') && link.starts_with("https://"), "{code}");
            for words in [why, fix] {
                let said = [words.to(true), words.to(false)];
                assert!(said.iter().all(|it| it.ends_with('.') && !it.contains("  ")), "{code}");
            }
        }
    }
}
