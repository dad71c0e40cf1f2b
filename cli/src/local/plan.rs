//! What `redrive local` was asked to do: files read and checked, nothing done yet.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use redrive_local::{Config, NewMessage, Speed};

use crate::arguments::LocalArguments;
use crate::messages;
use crate::problem::{OrProblem, Problem};
use crate::template::{self, Stack, Surroundings};

/// The account that local queues belong to, as in other emulators.
const ACCOUNT: &str = "000000000000";

/// What to run, send and print.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) template: PathBuf,
    source: String,
    parameters: Vec<(String, String)>,
    region: String,
    stack_name: String,
    /// As read for a port not yet known.
    pub(super) stack: Stack,
    /// The queue that messages are sent to.
    pub(super) queue: String,
    pub(super) messages: Vec<Sending>,
    pub(super) binary: Option<PathBuf>,
    pub(super) release: bool,
    pub(super) speed: Speed,
    pub(super) port: u16,
    pub(super) until_idle: bool,
    pub(super) output: Output,
    show_output: bool,
}

/// A message and the file and line it comes from.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) place: String,
    pub(super) message: NewMessage,
}

/// How events are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Lines,
    Json,
}

impl Plan {
    pub(super) fn new(arguments: &LocalArguments) -> Result<Self, Problem> {
        let template = arguments.template.clone();
        let source = std::fs::read_to_string(&template)
            .with_context(|| format!("could not read the template {}", template.display()))
            .or_input()?;
        let surroundings = surroundings(&arguments.region, &arguments.stack, 0);
        let stack = read(&template, &source, &arguments.parameters, &surroundings).or_input()?;
        let queue = queue(&stack, arguments.queue.as_deref(), &template).or_input()?;
        Ok(Self {
            source,
            parameters: arguments.parameters.clone(),
            region: arguments.region.clone(),
            stack_name: arguments.stack.clone(),
            queue,
            messages: sendings(&arguments.send).or_input()?,
            binary: binary(arguments.binary.as_deref(), &stack).or_input()?,
            release: arguments.release,
            speed: arguments.speed,
            port: arguments.port,
            until_idle: arguments.until_idle,
            output: if arguments.json { Output::Json } else { Output::Lines },
            show_output: arguments.show_output,
            template,
            stack,
        })
    }

    /// The configuration for a port, with an executable for each function.
    pub(super) fn config(&self, port: u16, executables: &[PathBuf]) -> anyhow::Result<Config> {
        let surroundings = surroundings(&self.region, &self.stack_name, port);
        let Stack { queues, mut functions, mappings, alarms, .. } =
            read(&self.template, &self.source, &self.parameters, &surroundings)?;
        for (function, executable) in functions.iter_mut().zip(executables) {
            function.command.clone_from(executable);
            function.show_output = self.show_output;
        }
        let Surroundings { region, account, .. } = surroundings;
        Ok(Config { region, account, queues, functions, mappings, alarms, speed: self.speed, port })
    }

    /// The dead-letter queue of each queue that has one, both by name.
    pub(super) fn dead_letter_queues(&self) -> BTreeMap<&str, String> {
        let target = |policy: &String| {
            let policy: serde_json::Value = serde_json::from_str(policy).ok()?;
            Some(policy["deadLetterTargetArn"].as_str()?.rsplit(':').next()?.to_owned())
        };
        let queues = self.stack.queues.iter();
        queues
            .filter_map(|queue| Some((queue.name.as_str(), target(queue.attributes.get("RedrivePolicy")?)?)))
            .collect()
    }

    /// The queues that feed functions.
    pub(super) fn sources(&self) -> Vec<String> {
        self.stack.mappings.iter().map(|mapping| mapping.queue.clone()).collect()
    }
}

fn surroundings(region: &str, stack: &str, port: u16) -> Surroundings {
    Surroundings {
        region: region.to_owned(),
        account: ACCOUNT.to_owned(),
        stack: stack.to_owned(),
        endpoint: format!("http://127.0.0.1:{port}"),
    }
}

fn read(
    path: &Path,
    source: &str,
    parameters: &[(String, String)],
    surroundings: &Surroundings,
) -> anyhow::Result<Stack> {
    template::read(source, parameters, surroundings)
        .map_err(|error| anyhow!("{}:{}: {}", path.display(), error.line, error.message))
}

fn queue(stack: &Stack, wanted: Option<&str>, template: &Path) -> anyhow::Result<String> {
    let template = template.display();
    let names: Vec<&str> = stack.mappings.iter().map(|mapping| mapping.queue.as_str()).collect();
    match (wanted, names.as_slice()) {
        (_, []) => bail!("{template}: no function in this template has an SQS event"),
        (Some(wanted), _) if stack.queues.iter().any(|queue| queue.name == wanted) => Ok(wanted.to_owned()),
        (Some(wanted), _) => {
            let all: Vec<&str> = stack.queues.iter().map(|queue| queue.name.as_str()).collect();
            bail!("no queue {wanted} in {template}; there are: {}", all.join(", "))
        }
        (None, [name]) => Ok((*name).to_owned()),
        (None, names) => {
            bail!("several queues feed functions, choose one with --queue: {}", names.join(", "))
        }
    }
}

fn binary(path: Option<&Path>, stack: &Stack) -> anyhow::Result<Option<PathBuf>> {
    let Some(path) = path else { return Ok(None) };
    if stack.functions.len() > 1 {
        bail!("--binary is for a template with one function, this one has {}", stack.functions.len());
    }
    let path = path.canonicalize().with_context(|| format!("no such binary: {}", path.display()))?;
    if !path.is_file() {
        bail!("not a binary: {}", path.display());
    }
    Ok(Some(path))
}

fn sendings(paths: &[PathBuf]) -> anyhow::Result<Vec<Sending>> {
    let mut sendings = Vec::new();
    for path in paths {
        let (name, text) = contents(path)?;
        let messages =
            messages::parse(&text).map_err(|error| anyhow!("{name}:{}: {}", error.line, error.message))?;
        let place = |index: usize| format!("{name}: message {}", index + 1);
        sendings.extend(
            messages.into_iter().enumerate().map(|(index, message)| Sending { place: place(index), message }),
        );
    }
    Ok(sendings)
}

fn contents(path: &Path) -> anyhow::Result<(String, String)> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("could not read stdin")?;
        return Ok(("stdin".to_owned(), text));
    }
    let name = path.display().to_string();
    let text =
        std::fs::read_to_string(path).with_context(|| format!("could not read the messages {name}"))?;
    Ok((name, text))
}
