//! From a [`Config`] to a running [`Local`].

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sdk_sqs::config::Credentials;
use redrive_sqs::queue_name;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::driver::Driver;
use super::server;
use super::state_folder::StateFolder;
use super::worker::{Order, Worker};
use super::{Config, Local, QueueConfig, WorkerConfig, World};
use crate::account::Account;
use crate::clock::{Clock, Speed};
use crate::cloudformation::CloudFormation;
use crate::gate;
use crate::lambda::Lambda;
use crate::logs::Logs;
use crate::mapping;
use crate::mapping::MappingConfig;
use crate::protocol::AwsError;
use crate::runtime_api::FunctionConfig;
use crate::runtime_api::{Access, AddressForm, Function};
use crate::sqs::Sqs;

/// The reason why a [`Local`] could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The port is taken.
    #[error("port {0} is in use; choose another one, or 0 for any that is free")]
    PortInUse(u16),
    /// The server cannot listen on the address for another reason.
    #[error("could not listen on {address}")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// SQS refuses a queue.
    #[error("SQS does not accept the queue {name}")]
    Queue {
        /// The queue's name.
        name: String,
        /// SQS's error.
        source: AwsError,
    },
    /// A function's executable does not exist.
    #[error("function {name}: no executable at {}", command.display())]
    Command {
        /// The function's name.
        name: String,
        /// The expected path.
        command: std::path::PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The folder for the state cannot be used.
    #[error("could not use the state folder {}", folder.display())]
    State {
        /// The folder.
        folder: std::path::PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another setting is not allowed. The text names it and the allowed values.
    #[error("{0}")]
    Invalid(String),
}

/// The access key of functions and workers, which distinguishes their calls from those of other clients.
pub(super) const ACCESS_KEY: &str = "redrive-local";

pub(super) async fn start(config: Config) -> Result<Local, StartError> {
    let (sqs, start, folder) = queues(&config)?;
    let clock = Clock::new(checked(config.speed)?, start);
    let account = account(&config, sqs, clock.now())?;
    let warnings =
        check_mappings(&config.mappings, &config.functions, |queue| account.visibility_timeout(queue))?;

    let listener = listen(config.listen).await?;
    let address =
        listener.local_addr().map_err(|source| StartError::Listen { address: config.listen, source })?;
    let endpoint_url = format!("http://{}", reachable(address));
    let access = Access {
        endpoint_url: Some(endpoint_url.clone()),
        credentials: Credentials::new(ACCESS_KEY, "local", Some("local".into()), None, "redrive-local"),
    };
    let located = |function| located(function, &config.region, &config.account, &access);
    let functions = config.functions.iter().map(located).collect::<Result<Vec<_>, _>>()?;

    let workers = workers(&config, &endpoint_url, &access)?;

    let (world, events) = World::new(clock, account);
    let world = Arc::new(world);
    if let (Some(mut folder), Some(path)) = (folder, config.state) {
        let kept = world.act(|state, now| {
            let saved = folder.save(&state.account.sqs, now);
            state.folder = Some(folder);
            saved
        });
        kept.map_err(|source| StartError::State { folder: path, source })?;
    }
    let mapped_queues = config.mappings.iter().map(|mapping| mapping.queue.clone());
    let worked_queues = config.workers.iter().map(|worker| worker.queue.clone());
    let mapped_queues: BTreeSet<_> = mapped_queues.chain(worked_queues).collect();
    let routes = server::router(Arc::clone(&world));
    let mut serving = JoinSet::new();
    serving.spawn(gate::serve_hosts(listener, routes, hosts(config.hosts, address.ip()), &server::PUBLIC));
    let (order, ordered) = watch::channel(Order::Work);
    let mut working = JoinSet::new();
    for worker in workers {
        world.act(|state, _| state.messages.worked.add(&worker.queue));
        let idle = world.clock.running();
        working.spawn(worker.run(Arc::clone(&world), idle, ordered.clone()));
    }
    let (stop, stopped) = watch::channel(false);
    let mut driver = JoinSet::new();
    let (drives, driving) = watch::channel(());
    let driven = Driver::new(Arc::clone(&world), functions, stopped);
    driver.spawn(async move {
        let _drives = drives;
        driven.run().await;
    });
    Ok(Local {
        world,
        endpoint_url,
        account: config.account,
        mapped_queues: mapped_queues.into_iter().collect(),
        warnings,
        events: Some(events),
        stop,
        driving,
        driver,
        order,
        workers: working,
        server: serving,
    })
}

pub(super) fn checked(speed: Speed) -> Result<Speed, StartError> {
    match speed {
        Speed::Times(times) if !(times > 0.0 && times <= 1_000_000.0) => {
            Err(StartError::Invalid(format!("speed {times} is not above 0 and at most 1000000")))
        }
        Speed::Times(_) | Speed::Max => Ok(speed),
    }
}

/// Returns the queues of the state folder, the time on the clock, and the folder.
fn queues(config: &Config) -> Result<(Sqs, SystemTime, Option<StateFolder>), StartError> {
    let new = Sqs::new(&config.region, &config.account);
    let Some(folder) = &config.state else { return Ok((new, SystemTime::now(), None)) };
    if !config.functions.is_empty() || !config.workers.is_empty() || config.speed != Speed::Times(1.0) {
        let reason = "a state folder keeps queues in real time, and cannot be used with functions, workers or another speed";
        return Err(StartError::Invalid(reason.to_owned()));
    }
    let opened = StateFolder::open(folder, new);
    let (opened, sqs, at) = opened.map_err(|source| StartError::State { folder: folder.clone(), source })?;
    match sqs.arn("") == Sqs::new(&config.region, &config.account).arn("") {
        true => Ok((sqs, at, Some(opened))),
        false => {
            let why = format!("its queues are {}*, which is another region or account", sqs.arn(""));
            Err(StartError::State { folder: folder.clone(), source: io::Error::other(why) })
        }
    }
}

fn account(config: &Config, sqs: Sqs, now: SystemTime) -> Result<Account, StartError> {
    let Config { region, account: id, functions, mappings, workers, alarms, stack, .. } = config;
    let mut account = Account::in_region(region, id);
    account.sqs = sqs;
    for QueueConfig { name, attributes } in dead_letter_queues_first(&config.queues) {
        // The state folder may have the queue, whose attributes the template may have changed.
        let created = match account.sqs.exists(name) {
            true => account.sqs.replace_attributes(name, attributes, now),
            false => {
                account.sqs.forget_deleted(name);
                account.sqs.create(name, attributes, now)
            }
        };
        created.map_err(|source| StartError::Queue { name: name.clone(), source })?;
    }
    for alarm in alarms {
        account.put_alarm(alarm.clone(), now).map_err(StartError::Invalid)?;
    }
    let programs = workers.iter().map(|worker| &worker.program);
    let groups = functions.iter().chain(programs).map(FunctionConfig::log_group);
    account.lambda = Lambda::new(region, id, functions, mappings, now);
    account.logs = Logs::new(region, id, groups, now);
    account.cloudformation = CloudFormation::new(region, id, stack.clone(), now);
    Ok(account)
}

/// Returns the queues in an order in which SQS accepts them: a redrive policy can only name a queue that exists.
fn dead_letter_queues_first(queues: &[QueueConfig]) -> Vec<&QueueConfig> {
    let (mut ordered, mut rest) = (Vec::new(), queues.iter().collect::<Vec<_>>());
    while !rest.is_empty() {
        let waits = |queue: &&QueueConfig| {
            let policy = queue.attributes.get("RedrivePolicy").map_or("", String::as_str);
            let policy = serde_json::from_str::<serde_json::Value>(policy).unwrap_or_default();
            let target = queue_name(policy["deadLetterTargetArn"].as_str().unwrap_or_default());
            rest.iter().any(|other| other.name == target && other.name != queue.name)
        };
        let (waiting, ready): (Vec<_>, Vec<_>) = rest.iter().copied().partition(waits);
        // SQS refuses queues that wait for each other.
        let is_stuck = ready.is_empty();
        ordered.extend(if is_stuck { &waiting } else { &ready });
        rest = if is_stuck { Vec::new() } else { waiting };
    }
    ordered
}

/// Returns the workers, after checking that their queues exist.
fn workers(config: &Config, endpoint_url: &str, access: &Access) -> Result<Vec<Worker>, StartError> {
    let Config { region, account, queues, workers, .. } = config;
    let worker = |WorkerConfig { program, queue, grace }: &WorkerConfig| {
        if !queues.iter().any(|config| config.name == *queue) {
            return Err(StartError::Invalid(format!("worker {}: there is no queue {queue}", program.name)));
        }
        Ok(Worker {
            function: Arc::new(located(program, region, account, access)?),
            queue: queue.clone(),
            queue_url: format!("{endpoint_url}/{account}/{queue}"),
            grace: *grace,
        })
    };
    workers.iter().map(worker).collect()
}

/// Checks mappings against queues and functions, and returns warnings.
pub(crate) fn check_mappings(
    mappings: &[MappingConfig],
    functions: &[FunctionConfig],
    visibility_timeout: impl Fn(&str) -> Option<Duration>,
) -> Result<Vec<String>, StartError> {
    let mut seen = BTreeSet::new();
    let mut warnings = Vec::new();
    for mapping in mappings {
        let MappingConfig { queue, function, .. } = mapping;
        let invalid = |what: &str| {
            StartError::Invalid(format!(
                "mapping of queue {queue} to function {function}: there is no such {what}"
            ))
        };
        let visibility_timeout = visibility_timeout(queue).ok_or_else(|| invalid("queue"))?;
        let found = functions.iter().find(|each| each.name == *function);
        let FunctionConfig { timeout, .. } = found.ok_or_else(|| invalid("function"))?;
        if !seen.insert((queue, function)) {
            return Err(StartError::Invalid(format!("queue {queue} is mapped to function {function} twice")));
        }
        mapping::check(mapping, visibility_timeout, *timeout).map_err(StartError::Invalid)?;
        warnings.extend(mapping::warnings(mapping, visibility_timeout, *timeout));
    }
    warnings.extend(functions.iter().filter_map(|function| throttle_warning(function, mappings)));
    Ok(warnings)
}

/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html>
fn throttle_warning(function: &FunctionConfig, mappings: &[MappingConfig]) -> Option<String> {
    let FunctionConfig { name, reserved_concurrency, .. } = function;
    let reserved = (*reserved_concurrency)?;
    let of_it = mappings.iter().filter(|mapping| mapping.enabled && mapping.function == *name);
    let wanted: usize = of_it.map(MappingConfig::concurrency).sum();
    (wanted > reserved).then(|| {
        format!(
            "function {name}: its mappings may run {wanted} invocations at once, more than its reserved \
             concurrency of {reserved}: messages that are throttled too often become dead letters"
        )
    })
}

async fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => StartError::PortInUse(address.port()),
        _ => StartError::Listen { address, source },
    })
}

/// Returns the names by which clients call a server on this address, by which functions call it too.
fn hosts(named: Vec<String>, address: IpAddr) -> Vec<String> {
    let own = (!address.is_loopback() && !address.is_unspecified()).then(|| match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    });
    named.into_iter().chain(own).collect()
}

/// Returns the address at which processes of this machine reach a server that listens there.
pub(crate) fn reachable(listen: SocketAddr) -> SocketAddr {
    let loopback = match listen.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        address => address,
    };
    SocketAddr::new(loopback, listen.port())
}

/// Returns a function with the absolute path of its executable, because it runs in its own directory.
pub(crate) fn located(
    function: &FunctionConfig,
    region: &str,
    account: &str,
    access: &Access,
) -> Result<Function, StartError> {
    let FunctionConfig { name, command, .. } = function;
    // The path is not canonical, because an executable may act by the name of its link.
    let command = std::fs::metadata(command)
        .and_then(|_| std::path::absolute(command))
        .map_err(|source| StartError::Command { name: name.clone(), command: command.clone(), source })?;
    Ok(Function {
        address_form: AddressForm::of(&command),
        config: FunctionConfig { command, ..function.clone() },
        region: region.into(),
        account: account.into(),
        access: access.clone(),
    })
}
