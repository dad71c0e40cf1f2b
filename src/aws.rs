//! The AWS services that a consumer calls: their clients, and what was learnt of each.

mod endpoint;
mod http;

use std::sync::Arc;

use aws_config::{BehaviorVersion, SdkConfig};

pub(crate) use crate::aws::endpoint::{Endpoint, Heard};
use crate::aws::http::Http;

/// SQS, as settling calls it.
pub(crate) type Sqs = Service<aws_sdk_sqs::Client>;
/// CloudWatch, as metrics call it.
pub(crate) type CloudWatch = Service<aws_sdk_cloudwatch::Client>;

/// A client, and what was learnt about where its calls go: shared by all batches of a consumer and of its clones.
#[derive(Debug, Clone)]
pub(crate) struct Service<C> {
    pub(crate) client: C,
    pub(crate) endpoint: Arc<Endpoint>,
}

impl<C> Service<C> {
    /// A client of the user's, whose connections are not ours to forget.
    pub(crate) fn given(client: C) -> Self {
        Self { client, endpoint: Arc::default() }
    }
}

/// Where our clients come from: region, credentials and endpoints as the environment names them, and one HTTP client.
#[derive(Debug)]
pub(crate) struct Environment {
    config: SdkConfig,
    http: Http,
}

impl Environment {
    /// Nothing if there is no region.
    pub(crate) async fn load() -> Option<Self> {
        let http = Http::new();
        let config = aws_config::defaults(BehaviorVersion::latest()).http_client(http.clone()).load().await;
        config.region().is_some().then_some(Self { config, http })
    }

    pub(crate) fn sqs(&self) -> Sqs {
        self.service(aws_sdk_sqs::Client::new)
    }

    pub(crate) fn cloudwatch(&self) -> CloudWatch {
        self.service(aws_sdk_cloudwatch::Client::new)
    }

    fn service<C>(&self, new: impl Fn(&SdkConfig) -> C) -> Service<C> {
        Service { client: new(&self.config), endpoint: Arc::new(Endpoint::over(self.http.clone())) }
    }
}
