//! The hooks of a consumer, and its observers of messages.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::yield_now;
use tracing::warn;

use super::{Delivery, Hook, Next};
use crate::failure::Failure;
use crate::message::record::Record;
use crate::telemetry::message_report::MessageReport;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The number of messages after which other tasks may run.
const AT_A_TIME: usize = 10;

/// The hooks of a consumer, in the order in which they were added, and its observers, which only get message reports.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    hooks: Arc<[Arc<dyn AnyHook>]>,
    observers: Arc<[Arc<dyn AnyHook>]>,
}

/// A hook that gets message reports, and does not run around handlers.
struct Observer<O>(O);

impl<O: Fn(&MessageReport) + Send + Sync + 'static> Hook for Observer<O> {
    fn settled(&self, message: &MessageReport) {
        (self.0)(message);
    }
}

/// A [`Hook`] of any type.
trait AnyHook: Send + Sync {
    fn around<'a>(&'a self, delivery: &'a Delivery<'a>, next: Next<'a>) -> Next<'a>;
    fn settled(&self, message: &MessageReport);
    fn flush(&self, until: Instant) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

impl<H: Hook> AnyHook for H {
    fn around<'a>(&'a self, delivery: &'a Delivery<'a>, next: Next<'a>) -> Next<'a> {
        // A hook may run code before it returns its future. That code must not run before the outer hook awaits this one.
        Next::new(async move { Hook::around(self, delivery, next).await })
    }

    fn settled(&self, message: &MessageReport) {
        Hook::settled(self, message);
    }

    fn flush(&self, until: Instant) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(Hook::flush(self, until))
    }
}

impl Hooks {
    pub(crate) fn add(&mut self, hook: impl Hook) {
        add(&mut self.hooks, hook);
    }

    pub(crate) fn observe(&mut self, observer: impl Fn(&MessageReport) + Send + Sync + 'static) {
        add(&mut self.observers, Observer(observer));
    }

    /// Returns true if there is neither a hook nor an observer.
    pub(crate) fn nobody_listens(&self) -> bool {
        self.hooks.is_empty() && self.observers.is_empty()
    }

    /// Runs a call of the handler within the hooks.
    pub(crate) async fn around<F>(
        &self,
        records: &[&Record<'_>],
        call: impl FnOnce() -> F,
    ) -> Result<(), Failure>
    where
        F: Future<Output = Result<(), Failure>> + Send,
    {
        if self.hooks.is_empty() {
            return call().await;
        }
        let delivery = Delivery::new(records);
        self.hooks.iter().rev().fold(Next::new(call()), |next, hook| hook.around(&delivery, next)).await
    }

    /// Returns a task for each hook and observer that reports the messages, and then flushes if `flushes`. The tasks are
    /// separate, so that a failing hook does not affect the others.
    pub(crate) fn told(&self, messages: Vec<MessageReport>, until: Instant, flushes: bool) -> Vec<Task> {
        let messages: Arc<[MessageReport]> = messages.into();
        let told = |hook: &Arc<dyn AnyHook>| -> Task {
            let (hook, messages) = (Arc::clone(hook), Arc::clone(&messages));
            Box::pin(async move {
                tell(&messages, until, &*hook).await;
                if flushes {
                    hook.flush(until).await;
                }
            })
        };
        self.hooks.iter().chain(&*self.observers).map(told).collect()
    }
}

fn add(hooks: &mut Arc<[Arc<dyn AnyHook>]>, hook: impl Hook) {
    *hooks = hooks.iter().cloned().chain([Arc::new(hook) as Arc<dyn AnyHook>]).collect();
}

/// Reports the messages to a hook, as long as there is time.
async fn tell(messages: &[MessageReport], until: Instant, hook: &dyn AnyHook) {
    for (at, message) in messages.iter().enumerate() {
        if at > 0 {
            if at % AT_A_TIME == 0 {
                yield_now().await;
            }
            if Instant::now() >= until {
                warn!(
                    untold = messages.len() - at,
                    "no time left to notify a hook or an observer of the other messages in this batch"
                );
                return;
            }
        }
        hook.settled(message);
    }
}
