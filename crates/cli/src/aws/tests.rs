//! Tests requests to AWS itself: real clients without an endpoint, whose requests end on this machine.

use std::collections::BTreeMap;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use redrive_local::{Config, Local, QueueConfig};

use super::*;
use crate::ask::{Consent, DryRun, Yes};
use crate::flags::Account;

/// Sends each request to another address than its URL's, as a name server or a proxy does.
#[derive(Debug, Clone)]
struct Elsewhere {
    inner: SharedHttpClient,
    url: String,
}

#[derive(Debug)]
struct Connector(SharedHttpConnector, String);

impl HttpClient for Elsewhere {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Connector(inner, self.url.clone()))
    }
}

impl HttpConnector for Connector {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        request.set_uri(format!("{}/", self.1)).unwrap();
        self.0.call(request)
    }
}

#[tokio::test]
async fn on_aws_itself_yes_needs_the_account_that_is_reached() {
    let queue = QueueConfig { name: "dead".to_owned(), attributes: BTreeMap::new() };
    let (region, account) = ("eu-west-1".to_owned(), "123456789012".to_owned());
    let config = Config { region: region.clone(), account, queues: vec![queue], ..Config::default() };
    let local = Local::start(config).await.unwrap();
    let place = Place { region: Some(region), endpoint_url: Some(local.endpoint_url()), ..Place::default() };
    let emulated = Aws::connect(&place).await.unwrap();
    let real = |endpoint: Option<&str>| {
        let inner = emulated.config.http_client().unwrap();
        let wire = Wire::around(
            SharedHttpClient::new(Elsewhere { inner, url: local.endpoint_url() }),
            Duration::from_secs(30),
        );
        let mut config = emulated.config.to_builder().http_client(wire.clone());
        config.set_endpoint_url(endpoint.map(str::to_owned));
        Aws { config: config.build(), wire, profile: None, identity: Arc::default() }
    };
    let consent = |yes, run| Consent { dry: DryRun { run }, sure: Yes { yes } };
    // A company's own name may lead to AWS.
    let own = "https://sqs.corp.internal";
    for (aws, endpoint, is_aws) in [
        (&emulated, local.endpoint_url(), false),
        (&real(None), "https://sqs.eu-west-1.amazonaws.com".to_owned(), true),
        (&real(Some(own)), own.to_owned(), true),
    ] {
        let queue = Queue::find(aws, "dead").await.unwrap();
        assert_eq!(aws.place(&queue.arn), format!("account 123456789012, eu-west-1, {endpoint}"));
        let check = |id, consent| Account::given(id).check(aws, &queue, consent).is_ok();
        assert_eq!(check(None, consent(true, false)), !is_aws, "{endpoint}");
        // The question shows the account, and a dry run deletes nothing.
        assert!(check(None, consent(false, false)) && check(None, consent(true, true)));
        assert!(check(Some("123456789012"), consent(true, false)));
        assert!(!check(Some("210987654321"), consent(true, false)));
    }
    local.stop().await;
}
