//! Handlers on their own threads, in real time, because a blocked thread would stop tokio's paused clock too.

use std::future::Future;

use tokio::runtime::{Builder, Handle, Runtime};

/// A runtime for handlers and one for the test. Dropping it waits for no thread that is still blocked.
pub(crate) struct Runtimes {
    workers: Option<Runtime>,
    ours: Runtime,
}

impl Runtimes {
    pub(crate) fn new(threads: usize) -> Self {
        Self::with(Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap())
    }

    pub(crate) fn with(workers: Runtime) -> Self {
        let ours = Builder::new_current_thread().enable_all().build().unwrap();
        Self { workers: Some(workers), ours }
    }

    pub(crate) fn workers(&self) -> Handle {
        self.workers.as_ref().unwrap().handle().clone()
    }

    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.ours.block_on(future)
    }
}

impl Drop for Runtimes {
    fn drop(&mut self) {
        self.workers.take().unwrap().shutdown_background();
    }
}
