//! Bodies that need a schema registry: each is a list of values, and the registry knows the names of its fields.
//!
//! ```sh
//! redrive local --example bodies --send examples/bodies.jsonl --speed max --until-idle --show-output
//! ```
//!
//! The first three messages are done, and the registry is asked once for each of their two schemas. A message with an unknown
//! schema is dead-lettered at once as `unknown-schema`, and one with a value too many as `malformed`. The registry never answers
//! for the schema of the last one. That message is retried after two seconds of waiting, until the redrive policy dead-letters
//! it. Decryption with a data key from KMS looks the same: the attribute names the key, and the cache holds keys.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redrive::{Attribute, Bodies, Body, Consumer, Failure, Record};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// The names of the fields, in the order of the values.
type Schema = Arc<[String]>;

/// A cache that asks for each schema once, for all messages that wait for it.
#[derive(Default)]
struct Registry {
    schemas: Mutex<HashMap<String, Arc<OnceCell<Schema>>>>,
}

impl Bodies for Registry {
    async fn body(&self, record: &Record<'_>) -> Result<Option<Body>, Failure> {
        let attributes = record.attributes();
        let Some(id) = attributes.get("schema").and_then(Attribute::as_str) else { return Ok(None) };
        let schema = self.schema(id).await?;
        let values: Vec<Value> = serde_json::from_str(record.body()).map_err(Failure::malformed)?;
        if values.len() != schema.len() {
            return Err(Failure::malformed(format!("{} values for {} fields", values.len(), schema.len())));
        }
        let fields = schema.iter().cloned().zip(values).collect::<Map<_, _>>();
        Ok(Some(Value::from(fields).to_string().into()))
    }
}

impl Registry {
    /// Returns a schema. After an error or a timeout the message is retried, because the registry may answer next time.
    async fn schema(&self, id: &str) -> Result<Schema, Failure> {
        let schema = {
            let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(schemas.entry(id.to_owned()).or_default())
        };
        let asked = timeout(Duration::from_secs(2), schema.get_or_try_init(|| ask(id))).await;
        let schema = asked.map_err(|_| "the registry did not answer within 2 s")??;
        Ok(Arc::clone(schema))
    }
}

/// Stands for a call over the network.
async fn ask(id: &str) -> Result<Schema, Failure> {
    tracing::info!(id, "asked the registry");
    tokio::time::sleep(Duration::from_millis(20)).await;
    let names: &[&str] = match id {
        "order-1" => &["id", "cents"],
        "order-2" => &["id", "cents", "currency"],
        "order-3" => std::future::pending().await,
        _ => return Err(Failure::reject(format!("no schema {id}")).with_reason("unknown-schema")),
    };
    Ok(names.iter().map(|&name| name.to_owned()).collect())
}

#[derive(Deserialize)]
struct Order {
    id: String,
    cents: u64,
    #[serde(default = "euros")]
    currency: String,
}

fn euros() -> String {
    "EUR".to_owned()
}

async fn place(Order { id, cents, currency }: Order) -> Result<(), Failure> {
    tracing::info!(id, cents, currency, "placed");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    Consumer::new(place).bodies(Registry::default()).run().await
}
