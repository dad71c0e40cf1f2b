//! The arguments of `redrive local`. `plan` interprets them.

use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

use crate::Speed;

/// Runs a template's queues, functions and alarms on this machine, on a simulated clock.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  redrive local --demo --until-idle
      runs the built-in demo: shows twelve messages, their retries and their dead letters, and ends with a table
  redrive local --send events/demo.jsonl --speed 60 --until-idle
      sends some messages, runs 60 times faster than real time, and ends with a table
  redrive local --port 9324
      runs until Ctrl-C; meanwhile: aws --endpoint-url http://127.0.0.1:9324 sqs list-queues
      and: aws --endpoint-url http://127.0.0.1:9324 logs describe-log-groups
  redrive local --empty --listen 0.0.0.0:4566 --allow-host redrive
      serves SQS to other containers, which call http://redrive:4566 and create their queues; --state FOLDER keeps these
  redrive local --send events/demo.jsonl --speed 10 --ui
      serves a page with every message on a time axis, charts and alarms, where you can send, retry and pause the clock
  redrive local --example state --send examples/state.jsonl --speed max --until-idle
      runs an example of the package instead of the binary that the template names
  redrive local --worker --parameter MessageTimeLimit=5 --send events/demo.jsonl --speed 60 --until-idle
      runs the same binary as a worker, which polls its queue itself; only the time limit ends a handler that hangs
  redrive local --aws --stack shop
      runs the functions of the stack on this machine, with messages from its queues on AWS

A file to send has one message per line:
  {\"body\": {\"order_id\": \"A-1\"}, \"attributes\": {\"source\": \"web\"}, \"group_id\": \"a\", \"delay\": 5}
Only the body is required. A file may also be an event as Lambda receives it. If several queues feed functions, a message
names its queue with \"queue\": \"orders\", with or without the stack name as prefix.

Run only templates that you trust: their code is built, including build scripts, and runs on this machine as you. redrive
runs the queues, their event source mappings, the functions that they feed and the alarms. It skips and lists the rest of
the template. If an environment variable refers to a skipped resource or to another stack, redrive makes up a value, unless
you set it:
  --set Table.Arn=arn:aws:dynamodb:eu-west-1:123456789012:table/orders
      sets the value of !GetAtt Table.Arn
  --set Table=orders
      sets the name of the resource, the value of !Ref Table
  --set shop-vpc=vpc-1
      sets the value of !ImportValue shop-vpc

For each function, redrive runs the executable given with --binary, else the file `bootstrap` in its CodeUri, else a binary
that Cargo builds there. Cargo builds the example given with --example, or the binary named by
Metadata.BuildProperties.Binary or by Handler, or the only binary.

With --worker, redrive disables the mappings and invokes nothing. It starts each executable with REDRIVE_QUEUE_URL, the
function's own variables and the endpoint of this process, and the executable polls its queue itself. A worker that ends is
restarted after 1 s; the pause doubles each time, up to 30 s. If a worker ends three times in a row before it polls its
queue, the command fails. When the command ends, workers get SIGTERM. They get SIGKILL 5 s after their REDRIVE_DRAIN (25 s
by default), or at a second Ctrl-C. --speed shortens the waits for retries; time is real while a worker starts or has
messages in flight. A worker publishes metrics once a minute of real time and when it ends, so at a higher speed their
alarms go off late.

The AWS endpoint, the page and the functions' Runtime API listen on 127.0.0.1 and serve this machine only. They refuse (403)
requests that another site's page makes through your browser, and any Host other than localhost or a loopback address. With
--listen, other machines reach the endpoint by the names in --allow-host, if they sign their requests. Its /health says whether
it is ready. Each process gets an address with a secret path in AWS_LAMBDA_RUNTIME_API: 127.0.0.1:PORT/PATH, preceded by http://
for Rust functions and for scripts that do not mention the variable. AWS's runtime client for Node.js does not accept a path, so
functions that use it cannot run here.

The page (--ui) keeps the latest 20,000 messages and 5,000 invocations, with 64 MiB of bodies and 16 MiB of log lines, and
closes when the command ends, even with --until-idle. It is not available for real queues, because it needs the simulated
clock and the queues of this process.

With real queues (--endpoint-url, --aws), redrive receives messages and deletes those that succeed or match no filter.
Failed messages stay in the queue. Disable the mappings on AWS first, or Lambda receives some of the messages. Functions run
with your credentials; with single sign-on, export them with: aws configure export-credentials --format env.

Exit codes: 0 done, 1 failed, 2 wrong usage or input.")]
pub struct LocalArguments {
    /// Run the built-in demo (template, function and twelve messages) 60 times faster than real time
    #[arg(long, conflicts_with_all = ["template", "binary", "example", "release", "real"])]
    pub demo: bool,

    /// SAM or CloudFormation template; - reads stdin
    #[arg(long, value_name = "FILE", default_value = "template.yaml")]
    pub template: PathBuf,

    /// Value of a template parameter (may be repeated)
    #[arg(long = "parameter", value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub parameters: Vec<(String, String)>,

    /// Value that only AWS knows: a resource's attribute (`Table.Arn`), a resource's name (`Table`), or another stack's
    /// output (may be repeated)
    #[arg(long, value_name = "RESOURCE.ATTRIBUTE=VALUE", value_parser = key_and_value)]
    pub set: Vec<(String, String)>,

    /// Files with messages to send, - for stdin
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub send: Vec<PathBuf>,

    /// Queue for messages that do not name one; required if several queues feed functions
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,

    /// How many times faster than real time to run, or max to skip all waits; time is real while a function runs or a
    /// client has messages in flight
    #[arg(long, value_name = "TIMES", default_value = "1", default_value_if("demo", "true", "60"), value_parser = speed)]
    pub speed: Speed,

    /// Run the executables as workers that poll their queues themselves, instead of invoking them
    #[arg(long)]
    pub worker: bool,

    /// Print a summary table and exit once no messages are left
    #[arg(long)]
    pub until_idle: bool,

    /// Executable to run as the function, instead of building it (may be repeated; FUNCTION is required if there are several)
    #[arg(long, value_name = "[FUNCTION=]PATH")]
    pub binary: Vec<String>,

    /// Cargo example to build and run as the function (may be repeated; FUNCTION is required if there are several)
    #[arg(long, value_name = "[FUNCTION=]NAME")]
    pub example: Vec<String>,

    /// Build functions in release mode
    #[arg(long)]
    pub release: bool,

    /// Port on 127.0.0.1 for the AWS endpoint, 0 for any free port, which is the default
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,

    /// Address and port for the AWS endpoint, such as 0.0.0.0:4566, which other machines and containers can reach; needs
    /// --allow-host unless it is a loopback address [env: REDRIVE_LOCAL_LISTEN]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, conflicts_with = "port")]
    pub listen: Option<SocketAddr>,

    /// Names by which other machines and containers call the endpoint, such as redrive,10.0.0.7 [env:
    /// REDRIVE_LOCAL_ALLOW_HOST]
    #[arg(long, value_name = "HOST,...", value_delimiter = ',', value_parser = host)]
    pub allow_host: Vec<String>,

    /// Start without a template: clients create the queues
    #[arg(long, conflicts_with_all = ["template", "parameters", "set", "send", "queue", "worker", "until_idle", "binary", "example", "release", "demo", "real"])]
    pub empty: bool,

    /// Folder that keeps the queues with their messages for the next start, for templates without functions [env:
    /// REDRIVE_LOCAL_STATE; default: none, queues are in memory]
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["worker", "until_idle", "demo", "real", "ui", "speed"])]
    pub state: Option<PathBuf>,

    /// Serve a page on 127.0.0.1 that shows the run live, on this port or any free one
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    pub ui: Option<u16>,

    /// Region that the functions see [default: us-east-1, with --aws from your AWS settings]
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,

    /// Stack name, the prefix of the names of queues, functions and alarms
    #[arg(long, value_name = "NAME", default_value = "redrive")]
    pub stack: String,

    /// Poll the real queues at this endpoint instead, in real time
    #[arg(long, value_name = "URL", group = "real", conflicts_with_all = ["aws", "send", "queue", "speed", "worker", "until_idle", "port", "listen", "allow_host", "ui"])]
    pub endpoint_url: Option<String>,

    /// Poll the real queues of your AWS account instead, in real time
    #[arg(long, group = "real", conflicts_with_all = ["send", "queue", "speed", "worker", "until_idle", "port", "listen", "allow_host", "ui"])]
    pub aws: bool,

    /// Seconds that a call to real queues may take before the command gives up, 2 to 3600 [default: 30]
    #[arg(long, value_name = "SECONDS", requires = "real", value_parser = clap::value_parser!(u64).range(2..=3_600))]
    pub timeout: Option<u64>,

    /// Do not ask before receiving messages from queues that are not on this machine
    #[arg(long)]
    pub yes: bool,

    /// Print a JSON object for each event and one for the totals
    #[arg(long)]
    pub json: bool,

    /// Show what the functions print
    #[arg(long)]
    pub show_output: bool,
}

pub fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("there is no = between name and value")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Reads an address with a port.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "allowed: an IP address and a port, such as 0.0.0.0:4566 or [::]:4566".to_owned())
}

/// Reads a name or an address without a port.
pub(crate) fn host(text: &str) -> Result<String, String> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_name = !text.is_empty() && !text.ends_with('.') && text.chars().all(is_legal);
    let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    // Clients write the shortest form.
    match (inside.and_then(|address| address.parse::<Ipv6Addr>().ok()), text) {
        (Some(address), _) if !address.is_unspecified() => Ok(format!("[{address}]")),
        (None, name) if is_name && name != "0.0.0.0" => Ok(name.to_owned()),
        _ => {
            Err("allowed: a name or an address without a port, such as redrive, 10.0.0.7 or [fd00::7]"
                .to_owned())
        }
    }
}

fn speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::Max);
    }
    match text.parse::<f64>() {
        Ok(times) if times > 0.0 && times <= 1_000_000.0 => Ok(Speed::Times(times)),
        _ => Err("allowed: max, or a number above 0, at most 1000000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_says_that_templates_are_built_and_run() {
        let help = LocalArguments::augment_args(clap::Command::new("local")).render_long_help().to_string();
        assert!(help.contains("Run only templates that you trust"), "{help}");
    }

    #[test]
    fn a_host_has_no_port() {
        for right in
            ["redrive", "10.0.0.7", "sqs.us-east-1.localhost.localstack.cloud", "[fd00::7]", "my_queue-1"]
        {
            assert_eq!(host(right).as_deref(), Ok(right));
        }
        assert_eq!(host("[fd00:0:0:0:0:0:0:7]").as_deref(), Ok("[fd00::7]"), "as clients write it");
        for wrong in [
            "",
            "redrive:4566",
            "redrive.",
            "0.0.0.0",
            "[::]",
            "*",
            "*.example",
            "http://redrive",
            "fd00::7",
            "[redrive]",
            "a b",
            "é",
        ] {
            assert!(host(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn speed_is_a_positive_number_or_max() {
        assert_eq!(speed("60"), Ok(Speed::Times(60.0)));
        assert_eq!(speed("0.5"), Ok(Speed::Times(0.5)));
        assert_eq!(speed("max"), Ok(Speed::Max));
        for wrong in ["0", "-1", "NaN", "inf", "fast", "", "1000001"] {
            assert!(speed(wrong).is_err(), "{wrong}");
        }
    }
}
