//! `redrive queue names`: prints the arguments of AWS CLI commands as shell variables.

use std::process::ExitCode;

use anyhow::{Context, anyhow};
use clap::Args;

use super::mappings::Mapping;
use crate::aws::{Aws, Place};
use crate::dlq::logs::Logs;
use crate::find::{Of, Pair, Queue, Which};
use crate::output::{self, Line};
use crate::problem::{OrProblem, Problem};
use crate::tell::tell;
use crate::wait::wait;

const NAMES: [&str; 9] = [
    "QUEUE",
    "QUEUE_URL",
    "QUEUE_ARN",
    "DEAD_LETTER_QUEUE",
    "DEAD_LETTER_QUEUE_URL",
    "DEAD_LETTER_QUEUE_ARN",
    "FUNCTION",
    "LOG_GROUP",
    "MAPPING",
];

/// Prints the names of a queue, its dead-letter queue and its function as shell variables.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval \"$(redrive queue names --stack shop --region eu-west-1)\"
  aws lambda get-function-concurrency --function-name \"$FUNCTION\"

Sets QUEUE, QUEUE_URL, QUEUE_ARN, the same three of DEAD_LETTER_QUEUE, FUNCTION, LOG_GROUP, and MAPPING, the UUID of the
event source mapping. A variable is empty if its value does not exist or cannot be read; stderr shows the reason. On failure
all of them are unset, so that no later command uses the values of another stack.

--region, --profile and --endpoint-url apply to later commands too. They are exported as AWS_REGION and AWS_DEFAULT_REGION
(which version 1 of the AWS CLI reads), AWS_PROFILE and AWS_ENDPOINT_URL (which its aws sqs ignores: pass --endpoint-url).
On failure these do not change. --queue \"$QUEUE_ARN\" is refused in any other region.

Exit codes: 0 done, 1 failed, 2 wrong usage or input.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let values = match wait(read(&arguments.which)) {
        Ok(values) => values,
        Err(problem) => {
            forget().or_failed()?;
            return Err(problem);
        }
    };
    let place = exports(&arguments.which.place);
    let place = place.map(|(name, value)| format!("export {}", assign(name, value)));
    let names = NAMES.iter().zip(&values).map(|(name, value)| assign(name, value));
    let lines: Vec<Line> = place.chain(names).map(Line::from).collect();
    output::print_all(&lines).or_failed()
}

/// Prints commands that unset the names after wrong arguments. Otherwise `eval` would leave the names of another stack.
pub(crate) fn forget_names(code: ExitCode) -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).take(2).collect();
    if code != ExitCode::SUCCESS && words == ["queue", "names"] {
        // If stdout is gone, nobody can read an error.
        let _ = forget();
    }
    code
}

fn forget() -> std::io::Result<()> {
    output::print(format!("unset {}; false", NAMES.join(" ")))
}

/// Returns the variables of the place, if it was given: another place may have a queue of the same name.
fn exports(place: &Place) -> impl Iterator<Item = (&'static str, &str)> {
    let Place { region, profile, endpoint_url, timeout: _, otherwise: _ } = place;
    [
        ("AWS_REGION", region),
        ("AWS_DEFAULT_REGION", region),
        ("AWS_PROFILE", profile),
        ("AWS_ENDPOINT_URL", endpoint_url),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value.as_deref()?)))
}

/// Reads the values in the order of [`NAMES`].
async fn read(which: &Which) -> Result<[String; 9], Problem> {
    let (aws, pair) = which.find().await?;
    if let Some(why) = pair.not_read() {
        tell(format_args!("warning: {why}"));
    }
    let [queue, queue_url, queue_arn] = of_queue(pair.source.as_ref());
    let [dead, dead_url, dead_arn] = of_queue(pair.dead.as_ref());
    let (function, log_group, mapping) = match of_function(&aws, &pair).await {
        Ok(found) => found,
        Err(error) => {
            tell(format_args!("warning: {error:#}"));
            Default::default()
        }
    };
    Ok([queue, queue_url, queue_arn, dead, dead_url, dead_arn, function, log_group, mapping])
}

fn of_queue(queue: Option<&Queue>) -> [String; 3] {
    queue.map(|queue| [queue.name().to_owned(), queue.url.clone(), queue.arn.clone()]).unwrap_or_default()
}

/// Reads function, log group and mapping.
async fn of_function(aws: &Aws, pair: &Pair) -> anyhow::Result<(String, String, String)> {
    let source = pair.source()?;
    let function = pair.function(aws).await?;
    let function = function.with_context(|| format!("{} feeds no function", source.name()))?;
    let group = Logs::find(aws, pair, None).await?.group().to_owned();
    let mappings = Mapping::list(aws, Of::Queue(&source.arn)).await?;
    let uuids: Vec<_> = mappings.iter().filter(|it| it.function == function).map(|it| &it.uuid).collect();
    let mapping = match uuids[..] {
        [uuid] => uuid.clone(),
        _ => return Err(anyhow!("{} mappings of {} feed {function}", uuids.len(), source.name())),
    };
    Ok((function, group, mapping))
}

/// Quotes the value with single quotes, in which only a single quote is special.
fn assign(name: &str, value: &str) -> String {
    format!("{name}='{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_hostile_name_is_a_text_to_the_shell() {
        for name in ["orders", "", "it's", "'; exit 1; '", "$(exit 1)", "`exit 1`", "a\\'b", "!!", "a b\t*"] {
            assert_eq!(value_in_a_shell(name), name);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn any_text_is_what_the_variable_holds(name in "[^\0\n]*") {
            prop_assert_eq!(value_in_a_shell(&name), name);
        }
    }

    fn value_in_a_shell(name: &str) -> String {
        let script = r#"eval "$1"; printf %s "$FUNCTION""#;
        let output = Command::new("sh").args(["-c", script, "sh", &assign("FUNCTION", name)]).output();
        String::from_utf8(output.expect("a shell runs").stdout).expect("it is text")
    }
}
