//! The AWS services that a consumer calls: their clients and endpoints.

mod endpoint;
mod http;

use std::sync::Arc;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_sqs::config::StalledStreamProtectionConfig;
use aws_sdk_sqs::config::retry::RetryConfig;

pub(crate) use crate::aws::endpoint::{CallOutcome, Endpoint};
use crate::aws::http::Http;

/// SQS, as settling calls it.
pub(crate) type Sqs = Service<aws_sdk_sqs::Client>;
/// CloudWatch, as metrics call it.
pub(crate) type CloudWatch = Service<aws_sdk_cloudwatch::Client>;

/// A client and its endpoint, shared by all batches of a consumer and its clones.
#[derive(Debug, Clone)]
pub(crate) struct Service<C> {
    pub(crate) client: C,
    pub(crate) endpoint: Arc<Endpoint>,
}

/// The user's own client, whose connections redrive does not manage.
impl Sqs {
    pub(crate) fn given(client: &aws_sdk_sqs::Client) -> Self {
        Self { client: once(client.config()), endpoint: Arc::default() }
    }
}

impl CloudWatch {
    pub(crate) fn given(client: aws_sdk_cloudwatch::Client) -> Self {
        Self { client, endpoint: Arc::default() }
    }
}

/// Without the SDK's retries, which wait too long and repeat whole batches: redrive retries by itself.
fn once(config: &aws_sdk_sqs::Config) -> aws_sdk_sqs::Client {
    let config = config.to_builder().retry_config(RetryConfig::disabled());
    // It cuts off slow answers, which are bounded anyway: <https://github.com/awslabs/aws-sdk-rust/issues/1148>.
    let config = config.stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    aws_sdk_sqs::Client::from_conf(config.build())
}

/// The region, credentials and endpoints of the environment, and one HTTP client for all services.
#[derive(Debug)]
pub(crate) struct Environment {
    config: SdkConfig,
    http: Http,
}

impl Environment {
    /// `None` if there is no region.
    pub(crate) async fn load() -> Option<Self> {
        let http = Http::new();
        let config = aws_config::defaults(BehaviorVersion::latest()).http_client(http.clone()).load().await;
        config.region().is_some().then_some(Self { config, http })
    }

    pub(crate) fn sqs(&self) -> Sqs {
        Service { client: once(&(&self.config).into()), endpoint: self.endpoint() }
    }

    pub(crate) fn cloudwatch(&self) -> CloudWatch {
        Service { client: aws_sdk_cloudwatch::Client::new(&self.config), endpoint: self.endpoint() }
    }

    fn endpoint(&self) -> Arc<Endpoint> {
        Arc::new(Endpoint::over(self.http.clone()))
    }
}
