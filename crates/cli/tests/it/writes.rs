//! Writes each line with one call, so that lines of processes that share a terminal or a log do not mix.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use crate::letters::note;
use crate::support::{Aws, Words, process};

/// What each write of a command was, to stdout and to stderr.
fn writes(url: &str, line: &(impl Words + ?Sized)) -> [Vec<String>; 2] {
    let pair = || UnixDatagram::pair().expect("there are sockets");
    let [(stdout, out), (stderr, err)] = [pair(), pair()];
    let mut command = process(url, line);
    command.stdout(OwnedFd::from(out)).stderr(OwnedFd::from(err));
    let mut child = command.spawn().expect("it runs");
    let mut writes = [vec![], vec![]];
    loop {
        let ended = child.try_wait().expect("it is ours").is_some();
        for (written, writes) in [&stdout, &stderr].into_iter().zip(&mut writes) {
            written.set_nonblocking(true).expect("it is ours");
            let mut buffer = vec![0; 100_000];
            while let Ok(read) = written.recv(&mut buffer) {
                writes.push(String::from_utf8_lossy(&buffer[..read]).into_owned());
            }
        }
        if ended {
            return writes;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn each_line_is_one_write() {
    let aws = Aws::with_orders(false);
    aws.letter_with("{\"n\":1}", [("redrive.dead-letter", note("m1", "rejected", "no such card"))]);
    for (line, stdout, stderr) in [
        ("dlq list --queue gone", 0, 1),
        ("dlq list --queue orders", 1, 1),
        ("dlq list --queue orders --json", 1, 1),
        ("dlq retry --queue orders --dry-run", 2, 0),
        ("send --queue orders --body x", 1, 0),
        ("schedule --where", 0, 1),
    ] {
        let written = writes(&aws.url, line);
        assert_eq!(written.each_ref().map(Vec::len), [stdout, stderr], "{line}: {written:#?}");
        assert!(written.iter().flatten().all(|write| write.ends_with('\n')), "{line}: {written:#?}");
    }
}
