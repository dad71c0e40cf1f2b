//! The job of the hand-written consumer with redrive.

use redrive::Failure;
pub use service::Order;

/// Handles a message.
///
/// # Errors
/// The order says so.
pub async fn take(order: Order) -> Result<(), Failure> {
    if std::hint::black_box(order).fail {
        return Err("poison".into());
    }
    Ok(())
}
