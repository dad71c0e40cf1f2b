//! A function's process, started as Lambda starts it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;
use tokio::process::{Child, Command};

use crate::throttle::Throttle;

/// What is run, from which folder, and what is added to its environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bootstrap {
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) folder: Option<PathBuf>,
}

/// What of our own environment a program may need to run at all.
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

impl Bootstrap {
    /// `KEY=VALUE` words, then a program and its arguments.
    pub(crate) fn from_words(words: &[String]) -> anyhow::Result<Self> {
        let variables =
            words.iter().map_while(|word| word.split_once('=').filter(|(key, _)| !key.contains('/')));
        let environment: Vec<_> = variables.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let (program, arguments) = words[environment.len()..]
            .split_first()
            .context("which program? redrive-bench run -- PROGRAM")?;
        Ok(Self { environment, program: program.into(), arguments: arguments.to_vec(), folder: None })
    }

    /// Starts it, in the control group from its first moment. Its log goes nowhere, what it says on stderr to ours.
    pub(crate) fn spawn(
        &self,
        variables: &[(&str, String)],
        throttle: Option<&Throttle>,
    ) -> anyhow::Result<Child> {
        let mut command = match throttle {
            None => Command::new(&self.program),
            Some(throttle) => joining(&throttle.members(), &self.program),
        };
        command.args(&self.arguments).env_clear();
        command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(LAMBDA).envs(variables.iter().cloned()).envs(self.environment.iter().cloned());
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
        command.spawn().with_context(|| format!("cannot start {}", self.program.display()))
    }
}

/// A shell that joins the control group and then becomes the program.
fn joining(members: &Path, program: &Path) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", r#"echo $$ > "$0" && exec "$@""#]).arg(members).arg(program);
    shell
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn variables_come_before_the_program() {
        let bootstrap =
            Bootstrap::from_words(&words("A=1 B=x=y target/release/orders --key=value C=3")).unwrap();
        assert_eq!(bootstrap.environment, [("A".into(), "1".into()), ("B".into(), "x=y".into())]);
        assert_eq!(bootstrap.program, Path::new("target/release/orders"));
        assert_eq!(bootstrap.arguments, ["--key=value", "C=3"]);
    }

    #[test]
    fn a_path_with_an_equals_sign_is_a_program() {
        let bootstrap = Bootstrap::from_words(&words("./a=b/orders")).unwrap();
        assert_eq!(bootstrap.program, Path::new("./a=b/orders"));
    }

    #[test]
    fn without_a_program_there_is_nothing_to_run() {
        let error = Bootstrap::from_words(&words("A=1")).unwrap_err();
        assert!(error.to_string().starts_with("which program?"), "{error}");
    }
}
