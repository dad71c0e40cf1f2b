//! The crates whose types appear in redrive's signatures, in the versions that redrive uses. A new major version of such a
//! crate needs a new one of redrive; `CONTRIBUTING.md` says when a signature may have one.
//!
//! ```
//! use redrive::reexports::{aws_lambda_events::sqs::SqsEvent, lambda_runtime::LambdaEvent};
//!
//! # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
//! async fn handled(event: LambdaEvent<SqsEvent>) -> Result<usize, redrive::Error> {
//!     let response = redrive::Consumer::new(place).handle(event.payload, event.context).await?;
//!     Ok(response.batch_item_failures.len())
//! }
//! ```

pub use {aws_lambda_events, aws_sdk_cloudwatch, aws_sdk_sqs, lambda_runtime, serde, serde_json, tokio};
