//! The crates whose types stand in redrive's signatures, in the versions that redrive uses. A major version of one of them
//! is a major version of redrive; `CONTRIBUTING.md` says why each is there.
//!
//! ```
//! use redrive::reexports::{aws_lambda_events::sqs::SqsEvent, tokio::time::Instant};
//!
//! # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
//! async fn handled(event: SqsEvent, deadline: Instant) -> Result<usize, redrive::Error> {
//!     let response = redrive::Consumer::new(place).handle(event, deadline).await?;
//!     Ok(response.batch_item_failures.len())
//! }
//! ```

pub use {aws_lambda_events, aws_sdk_cloudwatch, aws_sdk_sqs, lambda_runtime, serde, serde_json, tokio};
