//! Tries to pause the mapping when it is the process's turn.
#![expect(
    clippy::disallowed_methods,
    reason = "impure: it reads the clock, the environment and random numbers"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use aws_config::BehaviorVersion;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use redrive::{OnOutage, Outage};
use redrive_sqs::pause_schedules;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tracing::warn;

use crate::attempt::{Answer, Attempt, End, REST, Time};
use crate::aws::Aws;
use crate::turn::Turn;

/// Between two tries to change a mapping that Lambda is changing.
const BUSY: Duration = Duration::from_secs(5);
/// Lambda may have frozen the process since an older connection was used.
const CONNECTION_LASTS: Duration = Duration::from_secs(10);
/// The longest that a batch is kept: the messages in it are hidden for a minute or more.
const KEEPS: Duration = Duration::from_secs(30);

/// Pauses the event source mapping of the function, for [`Consumer::on_outage`](redrive::Consumer::on_outage).
///
/// After an outage of one to two minutes, one process disables the mapping for 5 minutes. EventBridge Scheduler then enables
/// it with a maximum concurrency of 2, and restores the original concurrency 3 minutes later. If the dependency is still down
/// in these 3 minutes, the mapping is paused again. If a call fails, the function goes on without a pause, and tries again
/// after 5 minutes.
///
/// While the mapping is being paused, the function keeps a batch that it could not handle for up to 30 s or 80 % of the time
/// left, because Lambda may deliver for a while.
#[derive(Debug)]
pub struct Pause(Option<Inner>);

#[derive(Debug)]
struct Inner {
    aws: Aws,
    turn: Mutex<Turn>,
}

impl Pause {
    /// Pauses with these clients. Each call is made once and may take up to 5 s. EventBridge Scheduler assumes the role with
    /// this ARN; it needs `lambda:UpdateEventSourceMapping`.
    #[must_use]
    pub fn new(
        lambda: &aws_sdk_lambda::Client,
        scheduler: &aws_sdk_scheduler::Client,
        role_arn: impl Into<String>,
    ) -> Self {
        let aws = Aws::new(lambda, scheduler, role_arn.into());
        Self(Some(Inner { aws, turn: Mutex::default() }))
    }

    /// Takes the role from `REDRIVE_PAUSE_ROLE`, and region, credentials and endpoints from the environment. Without
    /// the variable, the hook does nothing.
    pub async fn from_env() -> Self {
        let Some(role_arn) = std::env::var("REDRIVE_PAUSE_ROLE").ok().filter(|arn| !arn.is_empty()) else {
            return Self(None);
        };
        let http = Builder::new()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .pool_idle_timeout(CONNECTION_LASTS)
            .build_https();
        let config = aws_config::defaults(BehaviorVersion::latest()).http_client(http).load().await;
        Self::new(&aws_sdk_lambda::Client::new(&config), &aws_sdk_scheduler::Client::new(&config), role_arn)
    }
}

impl OnOutage for Pause {
    async fn on_outage(&self, outage: Outage) {
        let Some(inner) = &self.0 else { return };
        let called = Instant::now();
        let now = || since_epoch(outage.now) + called.elapsed();
        let until = Instant::from_std(outage.until);
        if inner.turn().is_due(since_epoch(outage.began), now(), fastrand::f64()) {
            // What is under way when the time ends may be done or not.
            let ended = timeout_at(until, inner.attempt(&outage, now)).await;
            let end = ended.unwrap_or_else(|_| {
                warn!("the invocation ended before the event source mapping was paused");
                End::Failed
            });
            inner.turn().ended(end, now());
        }
        if inner.turn().keeps_batches() {
            let now = Instant::now();
            let left = until.saturating_duration_since(now);
            sleep_until(now + left.mul_f64(0.8).min(KEEPS)).await;
        }
    }
}

impl Inner {
    async fn attempt(&self, outage: &Outage, now: impl Fn() -> Time) -> End {
        let [_, name] = pause_schedules(&outage.queue_arn, &outage.function_arn);
        let mut attempt = Attempt::begin(name, now());
        let mut error = "Lambda is changing the mapping, or the calls took too long".to_owned();
        loop {
            let call = match attempt.next(now()) {
                Ok(call) => call,
                Err(end) => {
                    let queue = &outage.queue_arn;
                    match end {
                        End::Paused => warn!(
                            queue,
                            "the event source mapping is paused for {} minutes, because a dependency is down",
                            REST.as_secs() / 60
                        ),
                        End::Failed => warn!(queue, error, "the event source mapping could not be paused"),
                        End::NotNeeded => {}
                    }
                    return end;
                }
            };
            let answer = self.aws.answer(call, outage).await.unwrap_or_else(|why| {
                error = why;
                Answer::Failed
            });
            if answer == Answer::Busy {
                sleep(BUSY).await;
            }
            attempt.on(answer);
        }
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn since_epoch(time: SystemTime) -> Time {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
