//! A DynamoDB table, used with two actions. An item has the partition key `id`, the sort key `at`, JSON lines as in a file, the
//! user who wrote it, and the time after which DynamoDB may delete it.

use std::collections::HashMap;
use std::mem;
use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::QueryOutput;
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};
use tokio::time::{Instant, sleep, timeout};

use super::region_of;
use crate::aws::{Aws, DescribeError};
use crate::history::user;

/// Most items of one call.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html>
const MOST: usize = 25;

/// Timeout of a call, short because letters are leased meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);
/// Timeout of all calls of a write.
const LONGEST: Duration = Duration::from_secs(20);

/// Pause before unprocessed items are sent again.
const PAUSE: Duration = Duration::from_millis(50);

type Item = HashMap<String, AttributeValue>;

#[derive(Debug, Clone)]
pub(crate) struct Table {
    client: Client,
    name: String,
    /// Account and region, in words.
    place: String,
}

/// A change of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) id: String,
    pub(crate) at: String,
    /// The lines and the time of their expiry. None deletes the item.
    pub(crate) lines: Option<(String, SystemTime)>,
}

impl Table {
    /// Connects to a table, in the region of its ARN if it has one.
    pub(super) fn new(aws: &Aws, name: String) -> Self {
        let region = region_of(&name);
        let place = region.map_or_else(|| aws.here(), str::to_owned);
        Self { client: aws.dynamodb(region), name, place }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// # Errors
    /// The table cannot be read.
    pub(crate) async fn check(&self, id: &str) -> anyhow::Result<()> {
        self.page(id, Some(1), None).await.map(drop)
    }

    /// Returns `at` and the lines of the items with an id, the last first.
    ///
    /// # Errors
    /// The table cannot be read.
    pub(crate) async fn read(&self, id: &str, most: usize) -> anyhow::Result<Vec<(String, String)>> {
        let (mut found, mut start) = (Vec::new(), None);
        loop {
            let page = self.page(id, i32::try_from(most - found.len()).ok(), start).await?;
            found.extend(page.items.unwrap_or_default().iter().filter_map(read_item));
            start = page.last_evaluated_key.filter(|key| !key.is_empty() && found.len() < most);
            if start.is_none() {
                return Ok(found);
            }
        }
    }

    async fn page(&self, id: &str, limit: Option<i32>, start: Option<Item>) -> anyhow::Result<QueryOutput> {
        // This fails for a table without a sort key, which would keep one item for each id.
        let query =
            self.client.query().table_name(&self.name).key_condition_expression("id = :id AND #at > :least");
        let query = query.expression_attribute_names("#at", "at");
        let query = query.expression_attribute_values(":least", AttributeValue::S(" ".to_owned()));
        let query = query.expression_attribute_values(":id", AttributeValue::S(id.to_owned()));
        let query = query.scan_index_forward(false).consistent_read(true).set_limit(limit);
        let doing = format!("read the table {}", self.name);
        // Boxed, because rustc limits the nesting of futures.
        let answer = Box::pin(query.set_exclusive_start_key(start).send()).await;
        answer.describe_error_in(&self.place, &doing, "dynamodb:Query")
    }

    /// # Errors
    /// The table cannot be written in time.
    pub(crate) async fn write(&self, changes: Vec<Change>) -> anyhow::Result<()> {
        let doing = format!("write to the table {}", self.name);
        let (mut changes, mut rest, mut pause) = (changes.into_iter().map(request), vec![], PAUSE);
        let until = Instant::now() + LONGEST;
        loop {
            let taken = MOST - rest.len();
            rest.extend(changes.by_ref().take(taken));
            if rest.is_empty() {
                return Ok(());
            }
            let count = rest.len();
            let call = self.client.batch_write_item().request_items(&self.name, mem::take(&mut rest));
            let answer = timeout(PATIENCE, Box::pin(call.send())).await;
            let answer = answer.map_err(|_| anyhow!("could not {doing}: it did not answer in time"))?;
            let answer = answer.describe_error_in(&self.place, &doing, "dynamodb:BatchWriteItem")?;
            rest.extend(answer.unprocessed_items.unwrap_or_default().into_values().flatten());
            pause = if rest.len() < count { PAUSE } else { 2 * pause };
            if pause > PATIENCE / 2 || Instant::now() > until {
                return Err(anyhow!("could not {doing}: it did not take all of it in time"));
            }
            if !rest.is_empty() {
                sleep(pause).await;
            }
        }
    }
}

/// Reads an item. Returns none for items of other programs.
fn read_item(item: &Item) -> Option<(String, String)> {
    let text = |name| item.get(name)?.as_s().ok().cloned();
    Some((text("at")?, text("lines")?))
}

fn request(Change { id, at, lines }: Change) -> WriteRequest {
    let mut item =
        HashMap::from([("id".to_owned(), AttributeValue::S(id)), ("at".to_owned(), AttributeValue::S(at))]);
    let Some((lines, until)) = lines else {
        let delete = DeleteRequest::builder().set_key(Some(item)).build().expect("it has a key");
        return WriteRequest::builder().delete_request(delete).build();
    };
    let until = until.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    item.insert("lines".to_owned(), AttributeValue::S(lines));
    item.insert("user".to_owned(), AttributeValue::S(user()));
    item.insert("expiration".to_owned(), AttributeValue::N(until.to_string()));
    let put = PutRequest::builder().set_item(Some(item)).build().expect("it has an item");
    WriteRequest::builder().put_request(put).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_has_its_lines_and_expires() {
        let until = SystemTime::UNIX_EPOCH + Duration::from_millis(1_800_000_000_500);
        let change = |lines| Change { id: "snoozes".to_owned(), at: "arn:dead".to_owned(), lines };
        let put = request(change(Some(("{}\n".to_owned(), until)))).put_request.unwrap();
        assert_eq!(put.item["id"].as_s().unwrap(), "snoozes");
        assert_eq!(put.item["expiration"].as_n().unwrap(), "1800000000");
        assert_eq!(read_item(&put.item), Some(("arn:dead".to_owned(), "{}\n".to_owned())));
        let request = request(change(None));
        let key = request.delete_request.unwrap().key;
        assert_eq!((key.len(), read_item(&key)), (2, None), "what others wrote is nothing");
        assert!(request.put_request.is_none());
    }
}
