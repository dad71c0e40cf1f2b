//! The message of Lambda's console and of `sam local generate-event sqs receive-message`, which is in no queue.

use crate::record::Record;

/// SQS's own are longer and different each time.
const RECEIPT_HANDLE: &str = "MessageReceiptHandle";
const ID: &str = "19dd0b57-b21e-4ac1-bd88-01bbb068cb78";
const BODY: &str = "Hello from SQS!";

/// Whether a message with this receipt handle is in no queue.
pub(crate) fn is_sample(receipt_handle: &str) -> bool {
    receipt_handle == RECEIPT_HANDLE
}

pub(crate) fn is_sample_of(records: &[Record<'_>]) -> bool {
    records.first().is_some_and(|record| is_sample(record.receipt_handle()))
}

/// Whether the sample has the body that it comes with, which no handler expects.
pub(crate) fn is_untouched(records: &[Record<'_>]) -> bool {
    matches!(records, [record] if is_sample(record.receipt_handle()) && record.id() == ID && record.body() == BODY)
}
