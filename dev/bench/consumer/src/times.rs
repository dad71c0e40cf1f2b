//! How long messages took, as the workers of `make bench ONLY=worker` print it.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Mutex;
use std::time::SystemTime;

/// Counts messages by the milliseconds from their sending until they were handled.
#[derive(Debug)]
pub struct Times {
    warm_up: u64,
    messages: u64,
    taken: Mutex<(u64, BTreeMap<u128, u64>)>,
}

impl Times {
    /// Reads the number of messages that warm up the worker, and the number of all.
    ///
    /// # Errors
    /// A variable is not set, or is not a number.
    pub fn from_env() -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self { warm_up: number("WARM_UP")?, messages: number("MESSAGES")?, taken: Mutex::default() })
    }

    /// Counts a message that was sent at this time and is handled now. Prints all times after the last one.
    pub fn count(&self, sent_at: SystemTime) {
        let milliseconds = sent_at.elapsed().unwrap_or_default().as_millis();
        let mut taken = self.taken.lock().expect("nothing panics while it counts");
        let (handled, taken) = &mut *taken;
        *handled += 1;
        if *handled > self.warm_up {
            *taken.entry(milliseconds).or_default() += 1;
        }
        if *handled == self.messages {
            let taken: Vec<_> =
                taken.iter().map(|(taken, messages)| format!("[{taken},{messages}]")).collect();
            println!("[{}]", taken.join(","));
        }
    }
}

/// Reads a variable of the environment.
///
/// # Errors
/// It is not set, or is not a number.
pub fn number(variable: &str) -> Result<u64, Box<dyn Error + Send + Sync>> {
    Ok(std::env::var(variable)?.parse()?)
}
