//! The plan of `redrive local`: its files are read and checked, but nothing is started.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use redrive_iac::Surroundings;
use redrive_iac::deployment::template::not_yet;
use redrive_iac::deployment::terraform::is_terraform;
use redrive_iac::nearest::{list, or_known};
use redrive_sqs::Quoted;

use super::addressed::{self, Addressed, Queues};
use super::executable::Executable;
use super::stack::{self, Stack};
use super::workers;
use crate::command::arguments::{LocalArguments, address, host};
use crate::command::aws::endpoint;
use crate::command::input;
use crate::command::problem::{OrProblem, Problem};
use crate::command::shell::word;
use crate::run::reachable;
use crate::{Config, RemoteQueue, Speed, StackConfig};

/// The account that local queues belong to, as in other emulators.
const ACCOUNT: &str = "000000000000";

pub(super) const REGION: &str = "us-east-1";

/// The variables of a container that only serves.
const LISTEN: &str = "REDRIVE_LOCAL_LISTEN";
const ALLOW_HOST: &str = "REDRIVE_LOCAL_ALLOW_HOST";
const STATE: &str = "REDRIVE_LOCAL_STATE";

/// The template of an account that is empty at first.
const EMPTY: &str = "Resources: {}\n";

/// A plan: what the command runs, sends and prints.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) template: PathBuf,
    source: String,
    parameters: Vec<(String, String)>,
    set: Vec<(String, String)>,
    pub(super) region: Option<String>,
    stack_name: String,
    pub(super) queues: QueuesAt,
    /// Seconds that a call to real queues may take.
    pub(super) timeout: Option<u64>,
    /// The stack, read for an address that is not known yet.
    pub(super) stack: Stack,
    pub(super) messages: Vec<Addressed>,
    /// Executables that need not be built, by the logical ids of their functions.
    pub(super) binaries: BTreeMap<String, PathBuf>,
    /// Cargo's examples to build for functions, by their logical ids.
    pub(super) examples: BTreeMap<String, String>,
    pub(super) release: bool,
    pub(super) speed: Speed,
    pub(super) listen: SocketAddr,
    /// Names by which other machines call the endpoint.
    pub(super) hosts: Vec<String>,
    /// The folder that keeps the queues.
    pub(super) state: Option<PathBuf>,
    /// True if there is no template.
    is_empty: bool,
    pub(super) until_idle: bool,
    /// True if the functions' executables poll their queues by themselves.
    pub(super) worker: bool,
    /// True if the command does not ask.
    pub(super) yes: bool,
    pub(super) output: Output,
    pub(super) show_output: bool,
    /// The port of the page, if one was requested.
    pub(super) ui: Option<u16>,
}

/// The place of the queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QueuesAt {
    /// In this process.
    Here,
    Endpoint(String),
    Aws,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Lines,
    Json,
}

impl Plan {
    pub(super) fn new(arguments: &LocalArguments) -> Result<Self, Problem> {
        let source = match arguments.empty {
            true => EMPTY.to_owned(),
            false => input::template(&arguments.template).or_input()?,
        };
        let template = input::named(&arguments.template).to_owned();
        if is_terraform(&source) {
            let what = "what Terraform prints; redrive local runs SAM and CloudFormation templates";
            return Err(Problem::Input(anyhow!("{} is {what}", template.display())));
        }
        if let Some(what) = not_yet(&template, &source) {
            return Err(Problem::Input(anyhow!("{}: {what}", template.display())));
        }
        let queues_at = match (&arguments.endpoint_url, arguments.aws) {
            (Some(url), _) => QueuesAt::Endpoint(endpoint(url).or_input()?),
            (None, true) => QueuesAt::Aws,
            (None, false) => QueuesAt::Here,
        };
        let (listen, hosts) = match queues_at {
            QueuesAt::Here => listen(arguments).or_input()?,
            QueuesAt::Endpoint(_) | QueuesAt::Aws => (here_at(0), Vec::new()),
        };
        let state = state(arguments, queues_at == QueuesAt::Here).or_input()?;
        let surroundings = here(arguments.region.as_deref(), &arguments.stack, listen, &arguments.set);
        let mut stack = read(&template, &source, &arguments.parameters, &surroundings).or_input()?;
        if arguments.worker {
            stack.warnings.extend(workers::warnings(&stack.mappings));
        }
        let needs_functions = stack.queues.is_empty()
            || arguments.worker
            || arguments.until_idle
            || queues_at != QueuesAt::Here;
        if stack.mappings.is_empty() && needs_functions && !arguments.empty {
            let what = "no function in this template has an SQS event";
            return Err(Problem::Input(anyhow!("{}: {what}", template.display())));
        }
        if state.is_some() && !stack.functions.is_empty() {
            let name = if arguments.state.is_some() { "--state" } else { STATE };
            let what = "keeps queues, and this template has functions, which change them without a call";
            return Err(Problem::Input(anyhow!("{}: {name} {what}", template.display())));
        }
        let wanted = arguments.queue.as_deref();
        let queues = Queues::new(&stack, &arguments.stack, &template, wanted).or_input()?;
        let binaries = by_function("--binary", &arguments.binary, &stack).or_input()?;
        let examples = by_function("--example", &arguments.example, &stack).or_input()?;
        if let Some(function) = examples.keys().find(|function| binaries.contains_key(*function)) {
            return Err(Problem::Input(anyhow!("{function}: pass --binary or --example, not both")));
        }
        Ok(Self {
            source,
            parameters: arguments.parameters.clone(),
            set: arguments.set.clone(),
            region: arguments.region.clone(),
            stack_name: arguments.stack.clone(),
            queues: queues_at,
            timeout: arguments.timeout,
            messages: addressed::read(&arguments.send, &queues).or_input()?,
            binaries: binaries.into_iter().map(executable).collect::<anyhow::Result<_>>().or_input()?,
            examples,
            release: arguments.release,
            speed: arguments.speed,
            listen,
            hosts,
            state,
            is_empty: arguments.empty,
            until_idle: arguments.until_idle,
            worker: arguments.worker,
            yes: arguments.yes,
            output: if arguments.json { Output::Json } else { Output::Lines },
            show_output: arguments.show_output,
            ui: arguments.ui,
            template,
            stack,
        })
    }

    /// Returns the configuration for an address, with an executable for each function.
    pub(super) fn config(&self, listen: SocketAddr, executables: &[Executable]) -> anyhow::Result<Config> {
        let surroundings = here(self.region.as_deref(), &self.stack_name, listen, &self.set);
        let Stack { queues, functions, mut mappings, alarms, said, .. } =
            self.stack_in(&surroundings, executables)?;
        let workers = if self.worker { workers::of(&functions, &mut mappings) } else { Vec::new() };
        let region = self.region.clone().unwrap_or_else(|| REGION.to_owned());
        let (account, name) = (ACCOUNT.to_owned(), self.stack_name.clone());
        let stack = StackConfig { name, template: self.source.clone(), ..said };
        let stack = (!self.is_empty).then_some(stack);
        let (speed, hosts, state) = (self.speed, self.hosts.clone(), self.state.clone());
        Ok(Config {
            region,
            account,
            queues,
            functions,
            mappings,
            workers,
            alarms,
            speed,
            listen,
            hosts,
            state,
            stack,
        })
    }

    /// Reads the stack again for real queues. The URL of one of them gives their place.
    pub(super) fn stack_beside(
        &self,
        queue: &RemoteQueue,
        executables: &[Executable],
    ) -> anyhow::Result<Stack> {
        let (region, account) = queue.place();
        let endpoint = queue.url.strip_suffix(&format!("/{account}/{}", queue.name));
        self.stack_in(
            &Surroundings {
                region: Some(region.to_owned()),
                account: Some(account.to_owned()),
                stack: Some(self.stack_name.clone()),
                endpoint: endpoint
                    .with_context(|| format!("not the URL of a queue: {}", queue.url))?
                    .to_owned(),
                names: BTreeMap::new(),
                values: self.set.iter().cloned().collect(),
            },
            executables,
        )
    }

    fn stack_in(&self, surroundings: &Surroundings, executables: &[Executable]) -> anyhow::Result<Stack> {
        let mut stack = read(&self.template, &self.source, &self.parameters, surroundings)?;
        for (function, executable) in stack.functions.iter_mut().zip(executables) {
            executable.run_in(function);
            function.show_output = self.show_output || self.ui.is_some();
        }
        Ok(stack)
    }
}

/// Returns the address of the endpoint, and the names by which other machines may call it.
fn listen(arguments: &LocalArguments) -> anyhow::Result<(SocketAddr, Vec<String>)> {
    let given = arguments.listen.or(arguments.port.map(here_at));
    let listen = match given {
        Some(listen) => listen,
        None => variable(LISTEN, address)?.unwrap_or(here_at(0)),
    };
    let hosts = match arguments.allow_host.as_slice() {
        [] => variable(ALLOW_HOST, |text| text.split(',').map(host).collect())?.unwrap_or_default(),
        given => given.to_vec(),
    };
    if !listen.ip().is_loopback() && hosts.is_empty() {
        let (name, hosts) =
            if arguments.listen.is_some() { ("--listen", "--allow-host") } else { (LISTEN, ALLOW_HOST) };
        bail!(
            "{name} is {listen}, allowed: a loopback address such as 127.0.0.1:{}, or {hosts} with the names by \
             which clients call it, because a page in a browser could call it by any other name",
            listen.port()
        );
    }
    Ok((listen, hosts))
}

/// Returns the folder that keeps the queues.
fn state(arguments: &LocalArguments, is_here: bool) -> anyhow::Result<Option<PathBuf>> {
    match &arguments.state {
        None if is_here => variable(STATE, |text| Ok(PathBuf::from(text))),
        state => Ok(state.clone()),
    }
}

fn here_at(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Reads a variable. An empty one counts as not set.
fn variable<T>(name: &str, read: impl Fn(&str) -> Result<T, String>) -> anyhow::Result<Option<T>> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    let value = value.map(|value| value.to_string_lossy().into_owned());
    let refused = |value: &str, allowed| anyhow!("{name} is {}, {allowed}", Quoted(value));
    value.map(|value| read(&value).map_err(|allowed| refused(&value, allowed))).transpose()
}

fn here(region: Option<&str>, stack: &str, listen: SocketAddr, set: &[(String, String)]) -> Surroundings {
    Surroundings {
        region: Some(region.unwrap_or(REGION).to_owned()),
        account: Some(ACCOUNT.to_owned()),
        stack: Some(stack.to_owned()),
        endpoint: format!("http://{}", reachable(listen)),
        names: BTreeMap::new(),
        values: set.iter().cloned().collect(),
    }
}

fn read(
    path: &Path,
    source: &str,
    parameters: &[(String, String)],
    surroundings: &Surroundings,
) -> anyhow::Result<Stack> {
    stack::read(source, parameters, surroundings)
        .map_err(|error| anyhow!("{}:{}: {}", path.display(), error.line, error.message))
}

/// Returns the values of a flag by the functions' logical ids.
fn by_function(flag: &str, given: &[String], stack: &Stack) -> anyhow::Result<BTreeMap<String, String>> {
    let ids: Vec<&str> = stack.builds.iter().map(|build| build.function.as_str()).collect();
    let mut values = BTreeMap::new();
    for text in given {
        let (name, value) =
            text.split_once('=').map_or((None, text.as_str()), |(name, value)| (Some(name), value));
        let build = match (name, stack.builds.as_slice()) {
            (Some(name), builds) => builds
                .iter()
                .find(|build| build.function == name || build.name == name)
                .with_context(|| format!("{flag} {text}: no function {name}{}", or_known(name, &ids)))?,
            (None, [build]) => build,
            (None, builds) => bail!(
                "{flag} {text}: which of {} functions? Pass {flag} FUNCTION={text}; {}",
                builds.len(),
                list(&ids)
            ),
        };
        if values.insert(build.function.clone(), value.to_owned()).is_some() {
            bail!("{flag} {text}: {} has one already", build.function);
        }
    }
    Ok(values)
}

fn executable((function, path): (String, String)) -> anyhow::Result<(String, PathBuf)> {
    // Symbolic links are kept, because some programs act by the name under which they are started.
    let found = std::path::absolute(&path).with_context(|| format!("--binary {path}"))?;
    let metadata = found.metadata().with_context(|| format!("--binary {path}"))?;
    if !metadata.is_file() {
        bail!("--binary {path}: not a file");
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        bail!("--binary {path}: not executable; chmod +x {} makes it so", word(&path));
    }
    Ok((function, found))
}
