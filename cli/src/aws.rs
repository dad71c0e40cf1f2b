//! A connection to AWS, from which each service's client is made.

mod errors;

use aws_config::SdkConfig;

pub(crate) use errors::{DescribeError, answered_of, code_of, describe_error};
pub(crate) use redrive_stack::aws::Place;

/// What clients are made of.
#[derive(Debug, Clone)]
pub(crate) struct Aws {
    pub(crate) config: SdkConfig,
}

impl Aws {
    /// Reads the settings, without a call to any service but that which gives the credentials.
    ///
    /// # Errors
    /// No region, or no credentials.
    pub(crate) async fn connect(place: &Place) -> anyhow::Result<Self> {
        Ok(Self { config: redrive_stack::aws::connect(place).await? })
    }

    pub(crate) fn region(&self) -> &str {
        self.config.region().map_or("", AsRef::as_ref)
    }

    pub(crate) fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.config)
    }

    pub(crate) fn cloudwatch(&self) -> aws_sdk_cloudwatch::Client {
        aws_sdk_cloudwatch::Client::new(&self.config)
    }

    pub(crate) fn logs(&self) -> aws_sdk_cloudwatchlogs::Client {
        aws_sdk_cloudwatchlogs::Client::new(&self.config)
    }

    pub(crate) fn lambda(&self) -> aws_sdk_lambda::Client {
        aws_sdk_lambda::Client::new(&self.config)
    }

    pub(crate) fn cloudformation(&self) -> aws_sdk_cloudformation::Client {
        aws_sdk_cloudformation::Client::new(&self.config)
    }
}
