//! The store of handled messages.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock and the environment")]

use std::time::SystemTime;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use aws_sdk_dynamodb::types::error::ConditionalCheckFailedException;
use redrive::BoxError;
use redrive::once::{Change, Claim, Claimed, Record, Store};

use crate::MissingTable;
use crate::error::{StoreError, error_text};
use crate::expression::{CLAIM_CONDITION, Update, claim_values, names, updates};
use crate::item::{Item, item_of, record_of, text};

/// Most attempts to claim a key that is free whenever its record is read.
const TRIES: usize = 5;

/// A store of records in a DynamoDB table, in the layout of Powertools: see [the crate](crate#the-table).
///
/// ```no_run
/// # async fn charge(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// # async fn run() -> Result<(), redrive::BoxError> {
/// use redrive::Consumer;
/// use redrive_dynamodb::{DynamoDb, client};
///
/// let store = DynamoDb::from_env(client().await)?.prefix("payments");
/// Consumer::new(charge).once(store).run().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct DynamoDb {
    pub(crate) client: Client,
    table: String,
    prefix: String,
}

/// The result of a conditional write. `No` means that the condition did not hold, for an item that the answer may include.
pub(crate) enum WriteResult {
    Yes,
    No(Option<Item>),
}

impl DynamoDb {
    /// Keeps records in the table with this name or ARN.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into(), prefix: String::new() }
    }

    /// Keeps records in the table that the environment variable `REDRIVE_IDEMPOTENCY_TABLE` names.
    ///
    /// # Errors
    /// The variable is not set, or empty.
    pub fn from_env(client: Client) -> Result<Self, MissingTable> {
        let table = std::env::var("REDRIVE_IDEMPOTENCY_TABLE").unwrap_or_default();
        if table.is_empty() { Err(MissingTable) } else { Ok(Self::new(client, table)) }
    }

    /// Separates these records from those of other consumers in the same table: ids are `PREFIX#KEY`. Default: ids are keys.
    ///
    /// Each consumer needs its own table, or its own prefix without `#`. Otherwise, messages of two consumers can have the same
    /// id, and one of them is skipped. The `key_prefix` of Powertools does the same.
    #[must_use]
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: format!("{}#", prefix.into()), ..self }
    }

    /// Does the same as [`Store::claim`] at this time, for tests that do not wait.
    #[doc(hidden)]
    pub async fn claim_at(&self, claim: &Claim, now: SystemTime) -> Result<Claimed, BoxError> {
        let id = self.id(&claim.key);
        for _ in 0..TRIES {
            let WriteResult::No(item) = self.put(&id, claim, now).await? else { return Ok(Claimed::Granted) };
            let record = self.record(&id, item).await?;
            let claimed = Record::claimed(record.as_ref(), claim, now);
            if claimed != Claimed::Granted {
                return Ok(claimed);
            }
        }
        Err(StoreError::Contended { id, table: self.table.clone() }.into())
    }

    /// Does the same as [`Store::change`] at this time, for tests that do not wait.
    #[doc(hidden)]
    pub async fn change_at(
        &self,
        key: &str,
        token: &str,
        change: &Change,
        now: SystemTime,
    ) -> Result<bool, BoxError> {
        let id = self.id(key);
        let mut found = None;
        for update in updates(token, change, now) {
            let WriteResult::No(item) = self.update(&id, update).await? else { return Ok(true) };
            found = item;
        }
        if !matches!(change, Change::End { .. }) {
            return Ok(false);
        }
        // The first answer may have been lost.
        let record = self.record(&id, found).await?;
        Ok(record.is_some_and(|mut record| record.end.is_some() && record.change(token, change, now)))
    }

    pub(crate) fn id(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    async fn put(&self, id: &str, claim: &Claim, now: SystemTime) -> Result<WriteResult, StoreError> {
        let record = Record::of(claim, now);
        let call = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item_of(id.to_owned(), &record)))
            .condition_expression(CLAIM_CONDITION)
            .set_expression_attribute_names(Some(names(&[CLAIM_CONDITION])))
            .set_expression_attribute_values(Some(claim_values(claim, now)))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match call.send().await {
            Ok(_) => Ok(WriteResult::Yes),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(failed)) => {
                    Ok(WriteResult::No(item_in(failed)))
                }
                _ => Err(self.error("PutItem", &error)),
            },
        }
    }

    pub(crate) async fn update(&self, id: &str, update: Update) -> Result<WriteResult, StoreError> {
        let call = self
            .client
            .update_item()
            .table_name(&self.table)
            .key("id", text(id))
            .set_expression_attribute_names(Some(names(&[&update.expression, update.condition])))
            .update_expression(update.expression)
            .condition_expression(update.condition)
            .set_expression_attribute_values(Some(update.values))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match call.send().await {
            Ok(_) => Ok(WriteResult::Yes),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                    Ok(WriteResult::No(item_in(failed)))
                }
                _ => Err(self.error("UpdateItem", &error)),
            },
        }
    }

    /// Returns the record in the item of an answer, or the one in the table if the answer had no item.
    async fn record(&self, id: &str, item: Option<Item>) -> Result<Option<Record>, StoreError> {
        let record = self.item(id, item).await?.as_ref().map(record_of).transpose();
        record.map_err(|fault| self.fault(id, fault))
    }

    /// Returns the item of an answer, or the one in the table if the answer had none.
    pub(crate) async fn item(&self, id: &str, item: Option<Item>) -> Result<Option<Item>, StoreError> {
        if item.is_some() {
            return Ok(item);
        }
        let call = self.client.get_item().table_name(&self.table).key("id", text(id));
        let answer = call.consistent_read(true).send().await;
        Ok(answer.map_err(|error| self.error("GetItem", &error))?.item)
    }

    pub(crate) fn fault(&self, id: &str, fault: String) -> StoreError {
        StoreError::Item { id: id.to_owned(), table: self.table.clone(), fault }
    }

    fn error<E>(&self, operation: &'static str, error: &SdkError<E, HttpResponse>) -> StoreError
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        StoreError::Call { operation, table: self.table.clone(), said: error_text(error) }
    }
}

/// Returns the item of an answer. An emulator that ignores `ReturnValuesOnConditionCheckFailure` omits it, or sends an empty one.
fn item_in(failed: &ConditionalCheckFailedException) -> Option<Item> {
    failed.item().filter(|item| !item.is_empty()).cloned()
}

impl Store for DynamoDb {
    async fn claim(&self, claim: &Claim) -> Result<Claimed, BoxError> {
        self.claim_at(claim, SystemTime::now()).await
    }

    async fn change(&self, key: &str, token: &str, change: &Change) -> Result<bool, BoxError> {
        self.change_at(key, token, change, SystemTime::now()).await
    }
}
