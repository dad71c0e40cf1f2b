//! Reads a deployment from SQS, Lambda, CloudWatch and CloudFormation. The permissions of roles and the containers of tasks come
//! from the stack's template, since a user who may read a queue may lack permission for IAM and ECS.
//!
//! Parts that AWS refuses to show are listed as not seen, and are not findings.

mod account;
mod alarms;
mod drift;
mod functions;
mod groups;
mod mappings;
mod queues;
mod stack;
mod unseen;

use anyhow::bail;
use redrive_iac::deployment::{Deployment, Function, MayHold, NotRead, Queue, Worker};

use crate::aws::Aws;
use crate::find::function_name;
pub(crate) use account::Account;
pub(crate) use queues::{MOST, list as list_queues};
use stack::Stack;
pub(crate) use unseen::Unseen;

/// The deployment to read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Deployed<'a> {
    Stack(&'a str),
    Function(&'a str),
}

/// Reads a stack, or a function with the queues that feed it.
///
/// # Errors
/// The stack or function does not exist, or nothing of it could be read.
pub(crate) async fn read(aws: &Aws, deployed: Deployed<'_>) -> anyhow::Result<Deployment> {
    let (mut unseen, mut others) = (Unseen::default(), Unseen::default());
    let (name, stack) = match deployed {
        Deployed::Stack(name) => (name, Some(Stack::read(aws, name, &mut unseen).await?)),
        Deployed::Function(name) => {
            let name = function_name(name);
            (name, Stack::of_function(aws, name, &mut unseen).await)
        }
    };
    let template = stack.as_ref().and_then(|stack| stack.template(&mut unseen));
    let (names, given) = match (deployed, &stack) {
        (Deployed::Stack(_), Some(stack)) => {
            (stack.functions(template.as_ref()), stack.queues(template.as_ref()))
        }
        (Deployed::Stack(_) | Deployed::Function(_), _) => (vec![name.to_owned()], vec![]),
    };

    let mut functions = Vec::new();
    for name in &names {
        match functions::read(aws, name, &mut unseen).await {
            Ok(function) => functions.push(function),
            Err(error) if matches!(deployed, Deployed::Function(_)) => return Err(error),
            Err(error) => unseen.add(format!("the function {name}: {error:#}")),
        }
    }
    let mut mappings = Vec::new();
    for name in &names {
        let read = mappings::read(aws, Some(name)).await.map(|(mappings, _)| mappings);
        mappings.extend(
            unseen.or_note(&format!("the event source mappings of {name}"), read).unwrap_or_default(),
        );
    }
    let mut queues = queues::read(aws, given, &mappings, &mut unseen).await;
    let is_listed = stack.as_ref().is_none_or(Stack::is_listed);
    let is_there = |known: &Queue| queues.iter().any(|queue| queue.arn == known.arn);
    // Permissions on a queue with a made-up name would count as missing.
    let template = template.filter(|template| is_listed || template.queues.iter().all(is_there));
    for queue in &mut queues {
        // No call to SQS shows what else uses a queue.
        if let Some(known) = template.as_ref().and_then(|template| template.queue(&queue.arn)) {
            queue.takes_other_letters = known.takes_other_letters;
            queue.senders.clone_from(&known.senders);
            queue.other_receiver.clone_from(&known.other_receiver);
            queue.may_be_watched_elsewhere = known.may_be_watched_elsewhere;
        }
    }
    for function in &mut functions {
        // No call to Lambda shows what invokes a function.
        let known = template.as_ref().and_then(|template| template.function(&function.name));
        function.invoked_asynchronously = known.is_some_and(|known| known.invoked_asynchronously);
        permit(function, template.as_ref(), &mut others);
    }
    if queues.is_empty() && functions.is_empty() {
        bail!("{}", nothing(name, &unseen));
    }
    let own = match deployed {
        Deployed::Stack(_) => stack.as_ref().map(Stack::alarms).unwrap_or_default(),
        Deployed::Function(_) => Vec::new(),
    };
    let listed = others.or_note("alarms", alarms::list(aws).await);
    let hides_alarms = listed.as_ref().is_some_and(|listed| listed.hides_some(&mut others));
    let alarms = listed.map(|listed| listed.of(&queues, &functions, &own));
    let tables = template.as_ref().map(|template| template.tables.clone()).unwrap_or_default();
    let mut subject = Deployment {
        name: name.to_owned(),
        queues,
        functions,
        mappings,
        tables,
        alarms,
        hides_alarms,
        ..Deployment::default()
    };
    match template {
        Some(template) if is_listed => {
            subject.drift = drift::between(&template, &subject);
            if matches!(deployed, Deployed::Stack(_)) {
                subject.workers =
                    template.workers.into_iter().map(|worker| Worker { line: None, ..worker }).collect();
            }
        }
        Some(_) => others.add("drift: the stack's resources could not be listed".to_owned()),
        None => (),
    }
    for function in &subject.functions {
        for table in function.process.idempotency_tables().filter(|name| subject.table(name).is_none()) {
            let what = format!("the idempotency table of {}", function.name);
            others.add(format!("{what}: {table} is not in its stack's template"));
        }
    }
    subject.not_seen = not_read(unseen, others);
    Ok(subject)
}

/// Adds the permissions of a function's role from the stack's template.
fn permit(function: &mut Function, template: Option<&Deployment>, unseen: &mut Unseen) {
    let what = format!("the permissions of {}", function.name);
    match template.map(|template| template.function(&function.name)) {
        Some(Some(known)) if known.process.statements.is_some() => {
            function.process.statements.clone_from(&known.process.statements);
        }
        Some(Some(_)) => unseen.add(format!("{what}: its stack's template does not define them")),
        Some(None) => unseen.add(format!("{what}: its stack's template does not contain the function")),
        None => unseen.add(format!("{what}: the stack's template could not be read")),
    }
}

/// Merges the notes on parts that may contain queues and functions with the others.
fn not_read(unseen: Unseen, others: Unseen) -> Vec<NotRead> {
    let unseen = unseen.0.into_iter().map(|what| NotRead::new(MayHold::Consumer, what));
    unseen.chain(others.0.into_iter().map(|what| NotRead::new(MayHold::Other, what))).collect()
}

fn nothing(name: &str, unseen: &Unseen) -> String {
    match unseen.0.first() {
        Some(first) => format!("could not read {name}: {first}"),
        None => format!("{name} has neither a queue nor a function"),
    }
}
