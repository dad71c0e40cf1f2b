//! Reads all queues of an account and region, with their functions and alarms.

use std::collections::BTreeSet;

use futures_util::{StreamExt, stream};
use redrive_iac::deployment::{Arn, Deployment, Function};

use super::groups::groups;
use super::unseen::Unseen;
use super::{Queue, alarms, functions, mappings, queues};
use crate::aws::Aws;
use crate::counted::counted;
use crate::output::Progress;

/// Number of functions that are read at the same time. Lambda allows 15 such calls a second.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html#api-requests>
const FUNCTIONS_AT_ONCE: usize = 4;

/// Attempts for each call. With many queues, AWS may throttle for minutes.
const ATTEMPTS: u32 = 8;

#[derive(Debug)]
pub(crate) struct Account {
    /// Its name, such as `14 queues of account 123456789012, eu-west-1`, and the parts that were not read.
    pub(crate) whole: Deployment,
    /// Its queues, grouped with those that belong together.
    pub(crate) groups: Vec<Deployment>,
}

impl Account {
    /// Reads everything that the credentials allow, up to 10,000 queues, mappings and alarms.
    ///
    /// # Errors
    /// The credentials do not allow listing the queues.
    pub(crate) async fn read(aws: &Aws) -> anyhow::Result<Self> {
        let progress = Progress::spinner("{spinner} {msg} ({elapsed})");
        let (mut unseen, mut others) = (Unseen::default(), Unseen::default());
        progress.set_message("listing the queues");
        let (urls, is_cut) = queues::list(aws).await?;
        if is_cut {
            unseen.add(queues::MOST.note("other queues"));
        }
        let aws = &aws.with_attempts(ATTEMPTS);
        progress.set_message("listing the event source mappings");
        let listed = unseen.or_note("which functions the queues feed", mappings::read(aws, None).await);
        let knows_mappings = listed.as_ref().is_some_and(|(_, is_cut)| !is_cut);
        let (mappings, is_cut) = listed.unwrap_or_default();
        if is_cut {
            unseen.add(mappings::MOST.note("other event source mappings"));
        }
        progress.set_message(format!("reading {}", counted(urls.len(), "queue")));
        let mut queues = queues::read(aws, urls, &mappings, &mut unseen).await;
        let names: BTreeSet<&str> =
            mappings.iter().filter_map(|mapping| mapping.function.as_deref()).collect();
        progress.set_message(format!("reading {}", counted(names.len(), "function")));
        let functions = read_functions(aws, names, &mut unseen).await;
        for queue in &mut queues {
            queue.takes_other_letters =
                functions.iter().any(|function| function.asynchronous_dead_letters.contains(&queue.arn));
            // A function that was not read may watch it.
            queue.may_be_watched_elsewhere = !knows_mappings;
        }
        progress.set_message("reading the alarms");
        let alarms = others.or_note("alarms", alarms::list(aws).await);
        let hides_alarms = alarms.as_ref().is_some_and(|alarms| alarms.hides_some(&mut others));
        if !functions.is_empty() {
            others.add("the permissions of roles: pass --stack or --function".to_owned());
        }
        if functions.iter().any(|function| function.process.idempotency_tables().next().is_some()) {
            others.add("idempotency tables: pass --stack or --function".to_owned());
        }
        let name = name(aws, &queues);
        let mut groups = groups(queues, functions, mappings);
        for group in &mut groups {
            group.alarms = alarms.as_ref().map(|alarms| alarms.of(&group.queues, &group.functions, &[]));
            group.hides_alarms = hides_alarms;
        }
        Ok(Self {
            whole: Deployment { name, not_seen: super::not_read(unseen, others), ..Deployment::default() },
            groups,
        })
    }
}

async fn read_functions(aws: &Aws, names: BTreeSet<&str>, unseen: &mut Unseen) -> Vec<Function> {
    let read = stream::iter(names).map(|name| async move {
        let mut unseen = Unseen::default();
        let function = functions::read(aws, name, &mut unseen).await;
        (unseen.or_note(&format!("the function {name}"), function), (name.to_owned(), unseen))
    });
    let read: Vec<_> = read.buffered(FUNCTIONS_AT_ONCE).collect().await;
    let (functions, notes): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    unseen.fold(notes);
    functions.into_iter().flatten().collect()
}

fn name(aws: &Aws, queues: &[Queue]) -> String {
    let account = queues.first().and_then(|queue| Arn::parse(&queue.arn)).map(|arn| arn.account);
    let of = account.map(|account| format!("account {account}, ")).unwrap_or_default();
    format!("{} of {of}{}", counted(queues.len(), "queue"), aws.region())
}
