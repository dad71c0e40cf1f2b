//! The configuration of a function.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A function: an executable that speaks the Lambda Runtime API, unmodified.
#[derive(Debug, Clone)]
pub struct FunctionConfig {
    /// Its name.
    pub name: String,
    /// The executable, such as a `bootstrap`. It gets only the environment that Lambda would give it.
    ///
    /// Its Runtime API is below a secret path: `AWS_LAMBDA_RUNTIME_API` is `127.0.0.1:PORT/PATH`, and clients put `http://`
    /// before it. Rust's lambda_runtime accepts a path only with a scheme, so for it the variable includes `http://`. So it
    /// does for a script that does not name the variable, because that may start a Rust function. AWS's clients for Go,
    /// Java, .NET and C++ keep the path, and so does Python's, except for errors before the first invocation. The one for
    /// Node.js does not accept it.
    pub command: PathBuf,
    /// Its arguments, such as the command of a runtime for a wrapper.
    pub arguments: Vec<String>,
    /// The directory of the function's code, in which it also runs. None for that of the executable.
    pub folder: Option<PathBuf>,
    /// Its own environment variables, which override those set for it.
    pub environment: BTreeMap<String, String>,
    /// How long an invocation may take, in real time. After that the process is killed and replaced.
    pub timeout: Duration,
    /// Most invocations at once, over all mappings (`ReservedConcurrentExecutions`). None leaves the limit to the mappings. A
    /// batch beyond it is throttled: it waits until its messages are visible again, which uses up one of their deliveries.
    pub reserved_concurrency: Option<usize>,
    /// Value of `AWS_LAMBDA_FUNCTION_MEMORY_SIZE`, in MB. It is not enforced.
    pub memory_mb: u32,
    /// True if its lines on stdout and stderr become [`EventKind::Output`](crate::EventKind::Output).
    pub show_output: bool,
    /// The log group of its lines (`LoggingConfig`), by default `/aws/lambda/NAME`.
    pub log_group: Option<String>,
}

/// Lambda's defaults: 3 s and 128 MB.
impl Default for FunctionConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            command: PathBuf::new(),
            arguments: Vec::new(),
            folder: None,
            environment: BTreeMap::new(),
            timeout: Duration::from_secs(3),
            reserved_concurrency: None,
            memory_mb: 128,
            show_output: false,
            log_group: None,
        }
    }
}

impl FunctionConfig {
    pub(crate) fn log_group(&self) -> String {
        self.log_group.clone().unwrap_or_else(|| format!("/aws/lambda/{}", self.name))
    }
}
