//! Detects the test message of Lambda's console and of `sam local generate-event sqs receive-message`, which is not in a queue.

use crate::message::record::Record;

/// The receipt handle of the test message. SQS's own are longer, and different each time.
const RECEIPT_HANDLE: &str = "MessageReceiptHandle";
const ID: &str = "19dd0b57-b21e-4ac1-bd88-01bbb068cb78";
const BODY: &str = "Hello from SQS!";

/// Returns true if a message with this receipt handle is not in a queue.
pub(crate) fn is_console_test(receipt_handle: &str) -> bool {
    receipt_handle == RECEIPT_HANDLE
}

pub(crate) fn is_console_test_of(records: &[Record<'_>]) -> bool {
    records.first().is_some_and(|record| is_console_test(record.receipt_handle()))
}

/// Returns true if the test message still has its original body, which no handler expects.
pub(crate) fn is_untouched(records: &[Record<'_>]) -> bool {
    matches!(records, [record] if is_console_test(record.receipt_handle()) && record.id() == ID && record.body() == BODY)
}
