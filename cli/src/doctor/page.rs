//! All codes as text: one explained, a list, and the page docs/doctor.md.

use std::fmt::Write;

use super::checks::ALL;
use super::finding::Check;
use super::words::Words;

const INTRODUCTION: &str = "\
# What `redrive doctor` looks for

`redrive doctor` finds every known way in which consumers of SQS lose or delay messages, whatever language they are written in.
It reads SAM and CloudFormation templates, Terraform plans and Kubernetes manifests, and makes no calls; with `--stack`,
`--function` or `--all` it reads, and never changes, what is deployed.

Functions may be written in any language. A function runs redrive if its `Cargo.toml` depends on redrive, or if it has a variable
that begins with `REDRIVE_`. Its settings and permissions are then checked too, and some fixes differ.

```sh
redrive doctor template.yaml --parameter NotificationEmail=me@example.com
redrive doctor infrastructure cdk.out --format github
redrive doctor --stack shop --region eu-west-1
redrive doctor --all --region eu-west-1
redrive doctor --json --strict
redrive doctor --explain visibility-too-short
```

A folder stands for all templates in it. [Checking templates](checking.md) shows how to run it in CI and with tools that generate
templates, and what it found in public ones.

The exit code is 1 if there are errors (with `--strict` also if there are warnings or unchecked resources), and 2 if a file
cannot be read. The last line counts the findings in all files that were read, and the files that were not.

Some resources exist only with other values of the parameters (`Condition`). If the template names such a value, in
`AllowedValues` or in the condition, the doctor checks the template with this value too: `With Stage=prod:` marks what it finds
only then. Otherwise a line counts these resources and shows the `--parameter` that checks them, and the last line says that
they were not checked. A parameter that you pass keeps its value.

Values that are known only at deployment are listed as not checked, in one line for each reason, and only if they concern a
queue: another stack's outputs, a parameter without a value, and without `--region` whatever depends on the region.

A template is read as SAM and CloudFormation read it: `yes`, `on` and `True` are `true` unless they are quoted. If a key
appears twice, the last one is used, with a note. Merge keys (`<<`) are applied with a note too: SAM and `aws cloudformation
package` apply them, CloudFormation itself does not. A rule (`Rules`) that the parameters' defaults violate is a note; one that
a value from `--parameter` violates is an error.

## Workers

A container with the variable `REDRIVE_QUEUE_URL` is a worker, which polls its queue itself: in an `AWS::ECS::TaskDefinition` of
a template, or in a Deployment or StatefulSet of manifests, with the ConfigMaps and KEDA's ScaledObjects in the same file. What
holds of functions with redrive and their queues is then checked of it too, except what concerns the mapping.

Manifests contain neither the queue nor the role nor the alarms, so these are not checked: give the template that has them
too. A chart is checked after Helm has filled it in: `helm template . | redrive doctor -`.

## Terraform

Give the JSON of a plan or of a state, from Terraform or OpenTofu:

```sh
terraform plan -out p && terraform show -json p > plan.json && redrive doctor plan.json
```

Findings use Terraform's addresses, fixes use CloudFormation's property names: `VisibilityTimeout` is
`visibility_timeout_seconds`, `MessageRetentionPeriod` is `message_retention_seconds`, and most others are the same words in
`snake_case`. A plan does not show a value that depends on a resource that does not exist yet. Such a reference is followed
through variables, outputs and `aws_iam_policy_document`; what remains unknown, such as a policy in `jsonencode`, is listed
as not checked.

## All queues of an account

`--all` checks every queue of the account in one region, with its dead-letter queue, its event source mappings, the functions
that they invoke, and the alarms. Queues that share a dead-letter queue or a function are checked as a group, named after one of
them. Groups with the most errors come first, then those with the most warnings. Text output lists only queues with findings;
JSON has an object for each group of queues, and a last one for the account.

It calls `sqs:ListQueues`, `sqs:GetQueueAttributes`, `sqs:GetQueueUrl`, `lambda:ListEventSourceMappings`,
`lambda:GetFunctionConfiguration`, `lambda:GetFunctionConcurrency`, `lambda:GetFunctionEventInvokeConfig` and
`cloudwatch:DescribeAlarms`. Only the first is required: whatever the others may not read is listed as not checked, and is not a
finding. Without the mappings, or if an alarm finds its metrics by a search expression, no dead-letter queue is reported as
unwatched. The permissions of roles are not checked; `--stack` and `--function` read them from the stack's template.

At most 10,000 queues are listed, and 100 pages of mappings and of alarms; the output says so if there are more. 16 queues and
4 functions are read at a time, and a call that AWS throttles is tried up to 8 times.

## Accepting a finding

`--only CODE` and `--except CODE` choose what is reported. To accept a finding in a template, put a comment into the resource that
it is about, or right above the resource's name with the same indentation (of a manifest, above its document); the reason is
required and is shown:

```yaml
  # redrive:accept=queue-shared: the two functions filter by tenant
  Orders:
    Type: AWS::SQS::Queue
```

In JSON, which has no comments, use the resource's `Metadata`: `redrive: {accept: {CODE: REASON}}`. Terraform plans have neither,
and `--stack`, `--function` and `--all` ignore both: use `--except` there.

## Findings

An **error** loses messages or fails the deployment, or leaves dead letters that nobody is notified of. A **warning**
loses or delays messages if something else goes wrong too. The codes are stable.
";

/// One check as its part of the page.
///
/// # Panics
/// There is no such code.
pub(super) fn explanation(code: &str) -> String {
    let check = ALL.iter().find(|check| check.code == code).expect("the code was checked as an argument");
    section(check)
}

/// A line for each check.
pub(super) fn list() -> String {
    let width = ALL.iter().map(|check| check.code.len()).max().unwrap_or_default();
    ALL.iter().fold(String::new(), |mut list, check| {
        let _ = writeln!(list, "{:width$}  {:7}  {}", check.code, check.level.word(), check.title);
        list
    })
}

/// The page docs/doctor.md.
pub(super) fn markdown() -> String {
    let mut page = format!("{INTRODUCTION}\n| code | level | what |\n| --- | --- | --- |\n");
    for Check { code, level, title, .. } in ALL {
        let _ = writeln!(page, "| [{code}](#{code}) | {} | {title} |", level.word());
    }
    for check in ALL {
        let _ = write!(page, "\n{}", section(check));
    }
    page
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

/// What is said to everybody, or what to those without redrive and then to those with it.
fn said([title, with_redrive]: [&str; 2], words: Words) -> String {
    let other = words.to(false);
    match words.of_redrive_alone() {
        None => format!("{title}{other}"),
        Some(redrive) => format!("{title}{other}\n\n{with_redrive}{redrive}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `make doctor-page` writes it anew.
    #[test]
    fn the_page_is_what_the_checks_say() {
        assert!(
            include_str!("../../../docs/doctor.md") == markdown(),
            "docs/doctor.md is old: run `make doctor-page`"
        );
    }

    #[test]
    fn codes_are_words_of_their_own_and_sentences_are_whole() {
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
