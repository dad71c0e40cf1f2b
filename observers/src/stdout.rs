//! Standard output and error without the locks of `std`: a handler may hold a lock, and the response must not wait for it.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::LazyLock;

static STDOUT: LazyLock<Option<File>> =
    LazyLock::new(|| std::io::stdout().as_fd().try_clone_to_owned().ok().map(File::from));

/// Writes whole lines at once. What cannot be written is lost.
pub fn write(lines: &[u8]) {
    if let Some(mut stdout) = STDOUT.as_ref() {
        let _ = stdout.write_all(lines);
    }
}

/// The same to standard error.
pub fn write_error(line: &str) {
    if let Ok(stderr) = std::io::stderr().as_fd().try_clone_to_owned() {
        let _ = File::from(stderr).write_all(line.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_held_lock_delays_no_output() {
        let held = std::io::stdout().lock();
        let (sender, receiver) = channel();
        let writing = std::thread::spawn(move || {
            super::write(b"");
            sender.send(()).unwrap();
        });
        let written = receiver.recv_timeout(Duration::from_secs(10));
        drop(held);
        writing.join().unwrap();
        assert_eq!(written, Ok(()));
    }
}
