//! Holds tokio's paused clock during real waits.

use std::future::Future;
use std::sync::mpsc;

/// Holds tokio's paused clock while `future` waits for something other than the clock: a socket, a database, another thread.
/// Timers stand still meanwhile, so `future` needs its own time limit.
///
/// ```
/// use std::time::Duration;
/// use redrive_local::kit::in_real_time;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
/// let began = tokio::time::Instant::now();
/// let (say, heard) = tokio::sync::oneshot::channel();
/// std::thread::spawn(move || {
///     std::thread::sleep(Duration::from_millis(50));
///     say.send("done")
/// });
/// let answer = tokio::time::timeout(Duration::from_secs(1), in_real_time(heard)).await;
/// assert_eq!(answer.unwrap(), Ok("done"));
/// assert_eq!(began.elapsed(), Duration::ZERO);
/// # });
/// ```
pub async fn in_real_time<F: Future>(future: F) -> F::Output {
    // tokio does not advance a paused clock while a blocking task runs.
    let (end, ended) = mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || ended.recv());
    let output = future.await;
    drop(end);
    output
}
