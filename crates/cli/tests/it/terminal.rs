//! Runs the command in a pseudo-terminal, as for a user.

use std::io::{Read, Write};
use std::num::NonZero;
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};

use crate::support::running::PATIENCE;
use crate::support::{Aws, REGION, Words};

const ROWS: NonZero<u16> = NonZero::new(40).expect("not zero");
const COLUMNS: NonZero<u16> = NonZero::new(120).expect("not zero");

/// A command that believes in its terminal; killed if it is dropped before its end.
pub(crate) struct Terminal {
    pty: Arc<Pty>,
    child: Child,
    shown: Arc<Shown>,
    reader: Option<JoinHandle<()>>,
}

/// What the command wrote, and what the screen makes of it.
struct Shown {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    screen: vt100::Parser,
    bytes: Vec<u8>,
    ended: bool,
}

impl Terminal {
    /// Runs `redrive` against this AWS.
    pub(crate) fn redrive(aws: &Aws, line: &(impl Words + ?Sized)) -> Self {
        Self::run(Self::command(&aws.url, line))
    }

    /// The command, with what is at this endpoint as its AWS, and without an editor.
    pub(crate) fn command(url: &str, line: &(impl Words + ?Sized)) -> Command {
        Command::new(env!("CARGO_BIN_EXE_redrive"))
            .args(line.words())
            .args(["--endpoint-url", url, "--region", REGION])
            .env_remove("AWS_PROFILE")
            .env_remove("VISUAL")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("REDRIVE_JOURNAL", "off")
    }

    /// Runs any command, in a terminal of 40 lines of 120 characters.
    pub(crate) fn run(command: Command) -> Self {
        Self::as_wide_as(COLUMNS.get(), command)
    }

    /// Runs any command, in a terminal with lines of so many characters.
    pub(crate) fn as_wide_as(columns: u16, command: Command) -> Self {
        let (pty, pts) = open().expect("there is a pseudo-terminal");
        pty.resize(Size::new(ROWS.get(), columns)).expect("it has a size");
        let child = command.env("TERM", "xterm-256color").env_remove("NO_COLOR").spawn(pts);
        let child = child.expect("the command runs");
        let columns = NonZero::new(columns).expect("there are some");
        let screen = vt100::Parser::new(ROWS, columns, 1_000);
        let state = Mutex::new(State { screen, bytes: Vec::new(), ended: false });
        let shown = Arc::new(Shown { state, changed: Condvar::new() });
        let pty = Arc::new(pty);
        let reader = std::thread::spawn({
            let (pty, shown) = (pty.clone(), shown.clone());
            move || shown.follow(&pty)
        });
        Self { pty, child, shown, reader: Some(reader) }
    }

    /// Waits until the screen shows a text.
    pub(crate) fn expect(&self, text: &str) {
        self.wait_for(text, |state| state.contents().contains(text));
    }

    /// Waits until a text is the last on the screen, as a question is.
    pub(crate) fn expect_end(&self, text: &str) {
        let text = text.trim_end();
        self.wait_for(&format!("{text} at the end"), |state| state.contents().trim_end().ends_with(text));
    }

    /// Waits until this is true of the screen, which may be read while it is drawn.
    pub(crate) fn expect_so(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        self.wait_for(what, |state| is_so(&state.contents()));
    }

    /// Waits until the screen no longer shows a text.
    pub(crate) fn expect_gone(&self, text: &str) {
        self.wait_for(&format!("no more {text}"), |state| !state.contents().contains(text));
    }

    /// Waits until something was written at some time, even if it has been drawn over since. Colors and movements of the
    /// cursor are part of it.
    pub(crate) fn expect_written(&self, text: &str) {
        self.wait_for(text, |state| String::from_utf8_lossy(&state.bytes).contains(text));
    }

    /// Types, without Enter.
    pub(crate) fn type_in(&self, text: &str) {
        (&*self.pty).write_all(text.as_bytes()).expect("the terminal is there");
    }

    /// Types and presses Enter.
    pub(crate) fn enter(&self, text: &str) {
        self.type_in(&format!("{text}\r"));
    }

    /// Presses Ctrl-C.
    pub(crate) fn interrupt(&self) {
        self.type_in("\x03");
    }

    /// What the screen shows, without spaces at the ends of lines.
    pub(crate) fn screen(&self) -> String {
        self.shown.lock().contents()
    }

    /// Everything that was written, with colors and movements of the cursor.
    pub(crate) fn written(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().bytes).into_owned()
    }

    /// Waits for the end; returns the exit code, or 128 and the signal as shells do.
    pub(crate) fn end(&mut self) -> i32 {
        self.wait_for("the end", |state| state.ended);
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader ends with the terminal");
        }
        let status = self.child.wait().expect("the child is ours");
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        status.code().or(signal.map(|signal| 128 + signal)).expect("it ended in one of the two ways")
    }

    /// It ends with this code.
    #[track_caller]
    pub(crate) fn ends(&mut self, code: i32) {
        assert_eq!(self.end(), code, "{}", self.screen());
    }

    /// A text is on the screen now.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) {
        assert!(self.screen().contains(text), "no {text:?} in {}", self.screen());
    }

    fn wait_for(&self, what: &str, holds: impl Fn(&State) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.shown.lock();
        while !holds(&state) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no {what} in time:\n{}", state.contents());
            assert!(!state.ended, "it ended without {what}:\n{}", state.contents());
            let waited = self.shown.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended already if all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Shown {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A test that failed while it looked has failed already.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads until the last process of the terminal is gone, which Linux says by an error. It says so at times before it
    /// gives out the last bytes: those are behind the error.
    fn follow(&self, mut pty: &Pty) {
        let mut buffer = [0; 4_096];
        while let Ok(read @ 1..) = pty.read(&mut buffer).or_else(|_| pty.read(&mut buffer)) {
            let mut state = self.lock();
            state.screen.process(&buffer[..read]);
            state.bytes.extend_from_slice(&buffer[..read]);
            self.changed.notify_all();
        }
        self.lock().ended = true;
        self.changed.notify_all();
    }
}

impl State {
    fn contents(&self) -> String {
        self.screen.screen().contents()
    }
}
