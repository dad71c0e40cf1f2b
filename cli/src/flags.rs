//! Flags that several verbs share.

use clap::Args;

/// For verbs whose result programs can read.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Output {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// For verbs that send letters.
#[derive(Debug, Clone, Args)]
pub(crate) struct To {
    /// Another queue to send letters to, by name, URL or ARN
    #[arg(long = "to", id = "to", value_name = "QUEUE")]
    pub(crate) queue: Option<String>,
}

/// For verbs that read the function's log.
#[derive(Debug, Clone, Args)]
pub(crate) struct LogGroup {
    /// Log group, if neither the stack nor the function names it
    #[arg(long = "log-group", id = "log_group", value_name = "NAME")]
    pub(crate) group: Option<String>,
}
