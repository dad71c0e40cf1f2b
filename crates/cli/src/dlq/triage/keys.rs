//! Reads one key without Enter. The terminal is in raw mode only while it waits for a key.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use super::suspend::{self, Reading};
use crate::dlq::blocking::until_stopped;
use crate::output;
use crate::problem::INTERRUPT;
use crate::sqs::LetterLease;

/// Timeout of a read in tenths of a second, after which it checks whether a key is still wanted.
const TENTHS: u8 = 1;

/// A pressed key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Enter,
    Other,
    /// Ctrl-D, or the end of the input.
    End,
    /// Ctrl-C, or a signal.
    Stop,
}

/// Asks for a key.
///
/// # Errors
/// The terminal cannot be read or written.
pub(super) async fn ask(prompt: &str, lease: &LetterLease) -> anyhow::Result<Key> {
    let key = {
        let raw = Raw::enter()?;
        output::ask(prompt).context("could not write to the terminal")?;
        press(raw, prompt, lease).await?
    };
    match key {
        Key::Char(c) => output::tell(c),
        Key::Enter | Key::Other | Key::End => output::tell(""),
        Key::Stop => {
            lease.stop().request(INTERRUPT);
            output::tell("");
        }
    }
    Ok(key)
}

/// Waits for a key. Keys still raise signals, so Ctrl-C arrives through the lease.
async fn press(raw: Raw, prompt: &str, lease: &LetterLease) -> anyhow::Result<Key> {
    let prompt = prompt.to_owned();
    let key = until_stopped(lease.stopped(), move |over| raw.read(&prompt, over)).await?;
    suspend::now_if_wanted();
    Ok(if lease.is_stopped() { Key::Stop } else { key.context("could not read the terminal")? })
}

/// Raw mode of the terminal, until dropped.
struct Raw {
    terminal: File,
    before: Termios,
    raw: Termios,
    // Dropped last: until the terminal is restored, only `read` may suspend the process.
    _reading: Reading,
}

impl Raw {
    fn enter() -> anyhow::Result<Self> {
        let doing = "could not read single keys from the terminal";
        let terminal = open().context(doing)?;
        let _reading = Reading::begin();
        let before = tcgetattr(&terminal).context(doing)?;
        let mut raw = before.clone();
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = TENTHS;
        tcsetattr(&terminal, OptionalActions::Now, &raw).context(doing)?;
        Ok(Self { terminal, before, raw, _reading })
    }

    fn read(mut self, prompt: &str, over: &AtomicBool) -> io::Result<Key> {
        let mut byte = [0];
        while !over.load(Ordering::Relaxed) {
            if suspend::is_wanted() {
                tcsetattr(&self.terminal, OptionalActions::Now, &self.before)?;
                suspend::now_if_wanted();
                tcsetattr(&self.terminal, OptionalActions::Now, &self.raw)?;
                // The shell has printed something meanwhile.
                let _ = output::ask(prompt);
            }
            match self.terminal.read(&mut byte) {
                // If the terminal is gone, reads return immediately until the signal arrives.
                Ok(0) => std::thread::sleep(Duration::from_millis(5)),
                Ok(_) => {
                    let key = Key::of(byte[0]);
                    if key == Key::Other {
                        // Skips the rest of the bytes of an arrow key or a letter beyond ASCII.
                        let _ = self.terminal.read(&mut [0; 32])?;
                    }
                    return Ok(key);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
        }
        Ok(Key::Stop)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // It fails only if the terminal is gone.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

/// Returns true if there is a terminal to read keys from.
pub(super) fn has_keys() -> bool {
    open().is_ok()
}

/// Opens the terminal, even if stdin is a pipe with ids. It is unbuffered, because the editor reads from it too.
fn open() -> io::Result<File> {
    match io::stdin().is_terminal() {
        true => io::stdin().as_fd().try_clone_to_owned().map(File::from),
        false => File::open("/dev/tty"),
    }
}

impl Key {
    fn of(byte: u8) -> Self {
        match byte {
            4 => Self::End,
            b' '..=b'~' => Self::Char(byte.into()),
            b'\n' | b'\r' => Self::Enter,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_with_control_is_not_the_key() {
        let keys = [b'd', 4, b'?', b'\r', 0x1b, 0x12, 0xc3].map(Key::of);
        let expected =
            [Key::Char('d'), Key::End, Key::Char('?'), Key::Enter, Key::Other, Key::Other, Key::Other];
        assert_eq!(keys, expected);
    }
}
