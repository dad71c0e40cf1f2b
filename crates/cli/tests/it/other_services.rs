//! `redrive local` as Lambda, CloudWatch Logs and CloudFormation: our own template and function, and real clients.

use std::io::BufReader;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use aws_sdk_sqs::types::QueueAttributeName::{
    ApproximateNumberOfMessages, ApproximateNumberOfMessagesNotVisible,
};

use crate::support::running::{PATIENCE, Running, built, free_port, root, wait_for};

/// The clients of one endpoint.
struct Clients {
    sqs: aws_sdk_sqs::Client,
    lambda: aws_sdk_lambda::Client,
    logs: aws_sdk_cloudwatchlogs::Client,
    cloudformation: aws_sdk_cloudformation::Client,
}

impl Clients {
    fn new(port: u16) -> Self {
        let credentials = Credentials::new("local", "local", None, None, "tests");
        let config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .endpoint_url(format!("http://127.0.0.1:{port}"))
            .build();
        Self {
            sqs: aws_sdk_sqs::Client::new(&config),
            lambda: aws_sdk_lambda::Client::new(&config),
            logs: aws_sdk_cloudwatchlogs::Client::new(&config),
            cloudformation: aws_sdk_cloudformation::Client::new(&config),
        }
    }

    /// An output of the stack `shop`.
    async fn output(&self, key: &str) -> String {
        let described = self.cloudformation.describe_stacks().stack_name("shop").send().await;
        let described = described.expect("there is a stack");
        let mut outputs = described.stacks()[0].outputs().iter();
        let found = outputs.find(|output| output.output_key() == Some(key));
        found.and_then(|output| output.output_value()).expect("there is such an output").to_owned()
    }

    async fn send(&self, url: &str, gateway: &str) -> String {
        let body =
            format!(r#"{{"order_id":"A-1","lines":[{{"sku":"tea","quantity":1}}],"gateway":"{gateway}"}}"#);
        let sent = self.sqs.send_message().queue_url(url).message_body(body).send().await;
        sent.expect("it is sent").message_id.expect("it has an id")
    }

    /// How many messages are visible, and how many hidden.
    async fn counts(&self, url: &str) -> (String, String) {
        let names = [ApproximateNumberOfMessages, ApproximateNumberOfMessagesNotVisible];
        let read = self.sqs.get_queue_attributes().queue_url(url);
        let read = read.set_attribute_names(Some(names.to_vec())).send().await.expect("there is a queue");
        let mut read = read.attributes.expect("there are counts");
        let [visible, hidden] = names.map(|name| read.remove(&name).expect("it is asked for"));
        (visible, hidden)
    }

    /// Enables or disables the function's mapping, and waits until it is so.
    async fn enable(&self, function: &str, enabled: bool) {
        let listed = self.lambda.list_event_source_mappings().function_name(function).send().await;
        let listed = listed.expect("there is such a function");
        let id = listed.event_source_mappings()[0].uuid().expect("it has an id");
        let update = self.lambda.update_event_source_mapping().uuid(id).enabled(enabled).send().await;
        update.expect("it can be changed");
        let wanted = Some(if enabled { "Enabled" } else { "Disabled" });
        until(async || {
            let mapping = self.lambda.get_event_source_mapping().uuid(id).send().await;
            mapping.expect("it is there").state() == wanted
        })
        .await;
    }
}

async fn until(is_so: impl AsyncFn() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("it becomes so in time");
}

#[test]
fn a_paused_mapping_lets_messages_wait_and_the_log_has_the_outcomes() {
    let port = free_port();
    let line = format!("--port {port} --stack shop --parameter MessageTimeLimit=2");
    let mut running = Running::start(&root(), &built("orders"), &line);
    let stdout = BufReader::new(running.0.stdout.take().expect("stdout is piped"));
    wait_for(port);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(async {
        let aws = Clients::new(port);
        let (url, function) = (aws.output("QueueUrl").await, aws.output("FunctionName").await);
        assert_eq!(url, format!("http://127.0.0.1:{port}/000000000000/shop-orders"));
        aws.enable(&function, false).await;
        let refused = aws.send(&url, "refuses").await;
        aws.send(&url, "up").await;
        // The function has had its chance.
        aws.lambda.get_function().function_name(&function).send().await.expect("there is such a function");
        assert_eq!(aws.counts(&url).await, ("2".to_owned(), "0".to_owned()));

        aws.enable(&function, true).await;
        until(async || aws.counts(&url).await == ("0".to_owned(), "0".to_owned())).await;
        let dead = aws.output("DeadLetterQueueUrl").await;
        assert_eq!(aws.counts(&dead).await.0, "1");

        let group = aws.output("LogGroupName").await;
        let pattern = format!("\"{refused}\"");
        until(async || {
            let found = aws.logs.filter_log_events().log_group_name(&group).filter_pattern(&pattern);
            let found = found.send().await.expect("there is such a group");
            found
                .events()
                .iter()
                .any(|event| event.message().is_some_and(|line| line.contains("card refused")))
        })
        .await;
        let resources = aws.cloudformation.describe_stack_resources().physical_resource_id(&url).send().await;
        let resources = resources.expect("the queue is of the stack");
        let mut of_stack = resources.stack_resources().iter();
        let found = of_stack.find(|resource| resource.physical_resource_id() == Some(&function));
        assert_eq!(found.and_then(|resource| resource.resource_type()), Some("AWS::Lambda::Function"));
        let template = aws.cloudformation.get_template().stack_name("shop").send().await;
        assert_eq!(
            template.expect("there is a stack").template_body(),
            Some(include_str!("../../../../template.yaml"))
        );
    });
    let totals = running.stop(stdout);
    assert_eq!((&totals["done"], &totals["left"]), (&1.into(), &0.into()), "{totals}");
}
