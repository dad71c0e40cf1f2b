//! Relative links in descriptions of alarms, which lead nowhere.

use super::alarm_metric::{alarms, concerns};
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::{All, Each};

pub(in crate::doctor) const ALARM_LINK_RELATIVE: Check = Check {
    code: "alarm-link-relative",
    level: Level::Warning,
    title: "An alarm's description has a relative link",
    why: All(
        "A notification shows this description to the person on call. A relative link in it leads nowhere: mail, \
         pagers and the console do not know the folder that it is relative to.",
    ),
    link: "https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html",
    fix: Each {
        redrive: "Write the full address, beginning with https://. With redrive's template, set it in the parameter \
            RunbookUrl. If you have no address, write the command to run, such as redrive dlq list --stack \
            ${AWS::StackName} --logs.",
        other: "Write the full address, beginning with https://, or write what to do.",
    },
    find: |deployment| {
        let found =
            alarms(deployment).filter(|(_, metric)| concerns(metric, deployment)).filter_map(|(alarm, _)| {
                let link = relative_link(&alarm.description)?;
                let what =
                    format!("The description of {} links to {link}, which is a relative link.", alarm.id);
                Some(Found::at(alarm, what))
            });
        found.collect()
    },
};

/// File extensions of pages.
const PAGES: [&str; 9] = ["md", "markdown", "html", "htm", "rst", "adoc", "asciidoc", "txt", "pdf"];

/// Returns the first path to a page without a scheme and a host.
fn relative_link(description: &str) -> Option<&str> {
    let words = description.split(|c: char| c.is_whitespace() || "()[]<>\"'`|,;".contains(c));
    words.map(|word| word.trim_end_matches(['.', ':', '!', '?'])).find(|word| is_relative(word))
}

fn is_relative(word: &str) -> bool {
    let path = word.split(['#', '?']).next().unwrap_or_default();
    if word.contains("://") || path.starts_with("//") {
        return false;
    }
    if path.starts_with("./") || path.starts_with("../") {
        return true;
    }
    let (folder, file) = path.rsplit_once('/').map_or((None, path), |(folder, file)| (Some(folder), file));
    let is_page = file
        .rsplit_once('.')
        .is_some_and(|(name, end)| !name.is_empty() && PAGES.contains(&&*end.to_lowercase()));
    // Browsers and mail programs turn a host without a scheme into a link.
    let has_host =
        folder.and_then(|folder| folder.split('/').next()).is_some_and(|first| first.contains('.'));
    is_page && !has_host
}

#[cfg(test)]
mod tests {
    use super::relative_link;

    #[test]
    fn a_path_to_a_page_is_a_relative_link_and_an_address_is_not() {
        for (description, expected) in [
            ("What to do: docs/runbook.md#deadletter", Some("docs/runbook.md#deadletter")),
            ("See RUNBOOK.md.", Some("RUNBOOK.md")),
            ("[runbook](../ops/runbook.html?a=b#c)", Some("../ops/runbook.html?a=b#c")),
            ("<a href=\"/runbooks/orders.htm\">", Some("/runbooks/orders.htm")),
            ("./runbook", Some("./runbook")),
            ("docs/a.PDF, then call", Some("docs/a.PDF")),
            ("https://example.com/docs/runbook.md#deadletter", None),
            ("(https://example.com/runbook.html)", None),
            ("//example.com/runbook.html", None),
            ("wiki.example.com/runbook.html#a", None),
            ("s3://bucket/runbook.pdf", None),
            ("More than 1.5 errors/minute, e.g. and/or. Type: redrive dlq list --stack shop --logs", None),
            ("aws logs filter-log-events --log-group-name /aws/lambda/shop-orders", None),
            ("Node.js 22 and orders.fifo; .md ...", None),
            ("", None),
        ] {
            assert_eq!(relative_link(description), expected, "{description}");
        }
    }
}
