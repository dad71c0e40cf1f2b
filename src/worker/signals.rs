//! The signals that tell a worker to end.

use std::io;

use futures_util::stream::{self, Stream};

/// Each SIGTERM and SIGINT by its name, from now on.
#[cfg(unix)]
pub(super) fn signals() -> io::Result<impl Stream<Item = &'static str> + Send + Unpin> {
    use tokio::signal::unix::{SignalKind, signal};

    let each = |kind, name| -> io::Result<_> {
        let mut signal = signal(kind)?;
        Ok(stream::poll_fn(move |context| signal.poll_recv(context).map(|came| came.map(|()| name))))
    };
    Ok(stream::select(each(SignalKind::terminate(), "SIGTERM")?, each(SignalKind::interrupt(), "SIGINT")?))
}

/// Each Ctrl-C.
#[cfg(not(unix))]
pub(super) fn signals() -> io::Result<impl Stream<Item = &'static str> + Send + Unpin> {
    let came = |()| async { tokio::signal::ctrl_c().await.ok().map(|()| ("Ctrl-C", ())) };
    Ok(Box::pin(stream::unfold((), came)))
}
