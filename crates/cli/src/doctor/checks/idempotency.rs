//! The table in which a consumer records the messages that it has handled.

use std::time::Duration;

use redrive_iac::deployment::{Deployment, Seen, Table};

use crate::doctor::feed::{Consumer, consumers, redrive_consumers};
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::{All, Each, Redrive};
use crate::span::lasting;

const TTL: &str = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html";

/// Attributes of a record that DynamoDB must know. Powertools has the same.
const KEY: &str = "id";
const EXPIRATION: &str = "expiration";

/// Time for which redrive remembers a finished message.
const RECORDS_LAST: Duration = Duration::from_secs(22 * 86_400);

pub(in crate::doctor) const IDEMPOTENCY_TTL: Check = Check {
    code: "idempotency-ttl",
    level: Level::Warning,
    title: "Records of handled messages never expire",
    why: All(
        "DynamoDB deletes a record only if the table's TimeToLiveSpecification names the attribute that holds the time. \
         Without it the table grows with every message, and you pay for it.",
    ),
    link: TTL,
    fix: Each {
        redrive: "Set TimeToLiveSpecification: {AttributeName: expiration, Enabled: true} on the table.",
        other: "Set TimeToLiveSpecification: {AttributeName: NAME, Enabled: true} on the table, where NAME is the attribute in \
                which your code stores when a record expires. Powertools stores it in expiration unless you choose a name.",
    },
    find: |deployment| {
        let everlasting = tables(deployment).into_iter().filter_map(|table| {
            let mut named = consumers(deployment).filter_map(|consumer| consumer.idempotency_table());
            let is_of_redrive =
                named.any(|name| deployment.table(name).is_some_and(|named| named.id == table.id));
            let what = match &table.ttl_attribute {
                // Other libraries let their users choose the attribute.
                Seen::There(_) if !is_of_redrive => return None,
                Seen::There(attribute) if attribute == EXPIRATION => return None,
                Seen::There(other) => {
                    format!("The TTL of {} is on {other}, but records have {EXPIRATION}.", table.id)
                }
                Seen::Absent => format!("{} has no TTL.", table.id),
                Seen::Unknown => return None,
            };
            let fix = IDEMPOTENCY_TTL.fix.to(is_of_redrive);
            Some(Found::at(table, what).fixed_by(Some(fix)))
        });
        everlasting.collect()
    },
};

pub(in crate::doctor) const IDEMPOTENCY_KEY: Check = Check {
    code: "idempotency-key",
    level: Level::Error,
    title: "The key of the idempotency table is not id",
    why: Redrive(
        "redrive finds the record of a message by the partition key id, and nothing else. DynamoDB rejects every \
         write, so redrive handles no message: all are retried until they are dead letters.",
    ),
    link: "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html",
    fix: Redrive(
        "Create the table with KeySchema: [{AttributeName: id, KeyType: HASH}]. A key cannot be changed.",
    ),
    find: |deployment| {
        let other = redrive_consumers(deployment).filter_map(|consumer| {
            let table = deployment.table(consumer.idempotency_table()?)?;
            let keys = table.keys.there().filter(|keys| *keys != &[KEY])?;
            let what =
                format!("The key of {}, which {} names, is {}.", table.id, consumer.id, keys.join(" and "));
            Some(Found::at(table, what))
        });
        other.collect()
    },
};

pub(in crate::doctor) const IDEMPOTENCY_RETENTION: Check = Check {
    code: "idempotency-retention",
    level: Level::Warning,
    title: "A record expires before its message's last delivery",
    why: Redrive(
        "redrive remembers a finished message for 22 days. A letter can be sent back until the dead-letter queue's \
         retention period ends, and the message that is sent may then wait for that of the queue. If both together \
         are longer, a late delivery is handled again.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html",
    fix: Redrive(
        "Lower the MessageRetentionPeriod of the queue, for example to 604800 (7 days). If the code calls Once::keep with \
         more, accept this finding.",
    ),
    find: |deployment| {
        let early = redrive_consumers(deployment).filter_map(|consumer| {
            let Consumer { source, id, .. } = consumer;
            consumer.idempotency_table()?;
            let dead = deployment.dead_letters_of(source)?;
            let (waiting, letters) = (source.retention?, dead.retention?);
            let what = format!(
                "{} keeps messages for {}, and {} keeps letters for {}. Records of {id} last {}.",
                source.id,
                lasting(waiting),
                dead.id,
                lasting(letters),
                lasting(RECORDS_LAST),
            );
            (waiting.saturating_add(letters) > RECORDS_LAST).then(|| Found::at(source, what))
        });
        early.collect()
    },
};

/// Returns each table of this template that a queue's consumer names.
fn tables(deployment: &Deployment) -> Vec<&Table> {
    let named = consumers(deployment).flat_map(|consumer| consumer.process.idempotency_tables());
    let mut tables: Vec<&Table> = named.filter_map(|name| deployment.table(name)).collect();
    tables.sort_by_key(|table| &table.id);
    tables.dedup_by_key(|table| &table.id);
    tables
}
