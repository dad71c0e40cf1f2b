//! Panics of the user's code, as text.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the message of a panic, cut to 256 characters.
#[must_use]
pub fn panic_text(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic without a message").chars().take(256).collect();
    // A panic's own value may panic when it is dropped.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
    text
}

/// Runs user code that may panic.
///
/// # Errors
/// The message of its panic.
pub fn catch<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(panic_text)
}
