//! A function's process, started as Lambda starts it.

use std::path::Path;
use std::process::Stdio;

use anyhow::Context;
use tokio::process::{Child, Command};

use crate::throttle::Throttle;

/// Variables of this process that a program may need to run at all.
const INHERITED: [&str; 4] = ["PATH", "HOME", "LANG", "LD_LIBRARY_PATH"];

/// <https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html>
const LAMBDA: [(&str, &str); 13] = [
    ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
    ("AWS_DEFAULT_REGION", "eu-west-1"),
    ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512"),
    ("AWS_LAMBDA_FUNCTION_NAME", "bench"),
    ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
    ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand"),
    ("AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/bench"),
    ("AWS_LAMBDA_LOG_STREAM_NAME", "2026/01/01/[$LATEST]0"),
    ("AWS_REGION", "eu-west-1"),
    ("AWS_SECRET_ACCESS_KEY", "secret"),
    ("AWS_SESSION_TOKEN", "token"),
    ("LAMBDA_TASK_ROOT", "/var/task"),
    ("_HANDLER", "app.handler"),
];

/// Starts a program, in the control group from its first moment. It discards the program's stdout, and shares its own stderr.
pub(crate) fn spawn(
    program: &Path,
    variables: &[(&str, String)],
    throttle: Option<&Throttle>,
) -> anyhow::Result<Child> {
    let mut command = match throttle {
        None => Command::new(program),
        Some(throttle) => joining(&throttle.members(), program),
    };
    command.env_clear().envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.envs(LAMBDA).envs(variables.iter().cloned());
    command.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
    command.spawn().with_context(|| format!("cannot start {}", program.display()))
}

/// Returns a shell that joins the control group and then becomes the program.
fn joining(members: &Path, program: &Path) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", r#"echo $$ > "$0" && exec "$@""#]).arg(members).arg(program);
    shell
}
