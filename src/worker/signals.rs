//! The signals that tell a worker to end.

use std::io;

use futures_util::stream::{self, Stream, StreamExt};

/// Each SIGTERM and SIGINT by its name, from now on.
#[cfg(unix)]
pub(super) fn signals() -> io::Result<impl Stream<Item = &'static str> + Send> {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    fn each(signal: Signal, name: &'static str) -> impl Stream<Item = &'static str> + Send {
        stream::unfold(signal, move |mut signal| async move { signal.recv().await.map(|()| (name, signal)) })
            .boxed()
    }
    let terminate = each(signal(SignalKind::terminate())?, "SIGTERM");
    let interrupt = each(signal(SignalKind::interrupt())?, "SIGINT");
    Ok(stream::select(terminate, interrupt))
}

/// Each Ctrl-C.
#[cfg(not(unix))]
pub(super) fn signals() -> io::Result<impl Stream<Item = &'static str> + Send> {
    Ok(stream::unfold((), |()| async { tokio::signal::ctrl_c().await.ok().map(|()| ("Ctrl-C", ())) }).boxed())
}
