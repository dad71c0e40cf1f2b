//! The trait that the user's async function implements.

pub(crate) mod bulk;
pub mod hook;
pub(crate) mod other_event;

use std::future::Future;
use std::sync::Arc;

use crate::failure::Failure;

/// Handles one message. Every `async fn(M) -> Result<(), E>` whose error converts into a [`Failure`] is a handler.
///
/// A struct with state can implement it:
///
/// ```
/// use redrive::{Consumer, Failure, Handler, Message};
///
/// struct Greeter { greeting: String }
///
/// impl Handler<Message<String>> for Greeter {
///     type Error = Failure;
///
///     async fn call(&self, name: Message<String>) -> Result<(), Failure> {
///         tracing::info!(self.greeting, name.body, "greeted");
///         Ok(())
///     }
/// }
/// let greeter = std::sync::Arc::new(Greeter { greeting: "hello".into() });
/// let consumer = Consumer::new(greeter.clone()); // or the struct itself, if nothing else needs it
/// ```
///
/// An async closure that borrows what it captured (`async move |order| save(&db, order).await`) does not compile as a
/// handler, because its future borrows from the closure. Capture a `&'static` reference, clone an `Arc` before the
/// `async move` block, or implement the trait for a struct.
///
/// Under [`run`](crate::run()), several handlers run at a time, on redrive's own threads, in the context of the
/// runtime that `run` was called on. If a handler blocks its thread, only its own message fails: redrive replaces the
/// thread after 20 to 40 ms, at most 16 times. Under [`Consumer::handle`](crate::Consumer::handle) and as a tower
/// service, handlers run in the caller's task and can block it, unless [`workers`](crate::Consumer::workers) are set.
///
/// On a FIFO queue, messages of a group run one by one in order, and groups run in parallel. Messages behind a
/// retried one wait. They become visible 2 s after it, so that they use up no delivery while it fails. After a dead
/// letter the group continues, in the same batch if there is time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not handle messages of type `{M}`",
    label = "not a handler",
    note = "a handler is an `async fn(M) -> Result<(), E>` where `M` is `Deserialize`, `Message<T>`, `Text`, `Raw` or a `Bulk` of these, and any error `E` will do",
    note = "a handler with state is a struct that implements `redrive::Handler<M>`"
)]
pub trait Handler<M>: Send + Sync + 'static {
    /// The error: [`Failure`], or any type that becomes one.
    type Error: Into<Failure>;

    /// Handles one delivery of a message. `Ok` deletes it from the queue; see [`Failure`] for the rest.
    fn call(&self, message: M) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

impl<H: Handler<M>, M> Handler<M> for Arc<H> {
    type Error = H::Error;

    fn call(&self, message: M) -> impl Future<Output = Result<(), Self::Error>> + Send {
        H::call(self, message)
    }
}

impl<F, M, R, E> Handler<M> for F
where
    F: Fn(M) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), E>> + Send,
    E: Into<Failure>,
{
    type Error = E;

    fn call(&self, message: M) -> impl Future<Output = Result<(), E>> + Send {
        self(message)
    }
}
