//! The same work as that of the hand-written consumer, with redrive.
#![allow(clippy::disallowed_methods, reason = "its settings come from the environment")]

#[cfg(feature = "worker")]
pub mod times;

use redrive::Failure;
pub use service::Order;

/// Handles a message.
///
/// # Errors
/// The order asks to fail.
pub async fn take(order: Order) -> Result<(), Failure> {
    if std::hint::black_box(order).fail {
        return Err("poison".into());
    }
    Ok(())
}
