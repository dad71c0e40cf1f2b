//! Names of resources that do not exist yet.

use redrive_sqs::dns_suffix;
use serde_json::Value as Json;

use super::plan::{Instance, Plan};
use super::references::Target;
use crate::deployment::Arn;
use crate::{ACCOUNT, REGION, partition_of};

/// The place of the resources.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) region: String,
    pub(super) account: String,
    pub(super) endpoint: String,
}

impl Names {
    /// Takes the given region, else the provider's, else that of a queue that exists already, whose account it uses.
    pub(super) fn new(plan: &Plan, region: Option<&str>) -> Self {
        let existing = plan.instances.iter().filter(|it| it.kind == "aws_sqs_queue" && !it.is_data);
        let existing = existing.filter_map(|queue| Arn::parse(queue.text("arn")?)).next();
        let own = || existing.map(|arn| arn.region.to_owned());
        let region = region.map(str::to_owned).or_else(|| region_of_provider(plan)).or_else(own);
        let region = region.unwrap_or_else(|| REGION.to_owned());
        let account = existing.map_or(ACCOUNT, |arn| arn.account).to_owned();
        let suffix = dns_suffix(partition_of(&region));
        Self { endpoint: format!("https://sqs.{region}.{suffix}"), region, account }
    }

    /// Returns an attribute of a resource, as far as it is known before the resource exists. `wanted` is the attribute that uses it.
    pub(super) fn text(&self, target: &Target<'_>, wanted: &str) -> Option<String> {
        let instance = target.instance;
        let attribute = target.attribute.unwrap_or_else(|| own_attribute(instance, wanted));
        if let Some(text) = instance.text(attribute) {
            return Some(text.to_owned());
        }
        let name = || Some(name(instance));
        match (instance.kind.as_str(), attribute) {
            // Of an alias only the function matters here.
            ("aws_lambda_alias", "arn") => {
                let function = crate::deployment::function_name(instance.text("function_name")?);
                let Self { region, account, .. } = self;
                let partition = partition_of(region);
                Some(format!("arn:{partition}:lambda:{region}:{account}:function:{function}"))
            }
            (_, "arn" | "qualified_arn") | ("aws_iam_policy" | "aws_sns_topic", "id") => {
                Some(self.arn(instance))
            }
            ("aws_sqs_queue", "url" | "id") => Some(self.queue_url(instance)),
            ("aws_sqs_queue" | "aws_iam_role" | "aws_dynamodb_table", "name") => name(),
            ("aws_iam_role" | "aws_dynamodb_table", "id") => name(),
            ("aws_lambda_function", "function_name" | "id") => name(),
            ("aws_cloudwatch_metric_alarm", "alarm_name" | "id") => name(),
            _ => None,
        }
    }

    pub(super) fn arn(&self, instance: &Instance) -> String {
        let Self { region, account, .. } = self;
        let (name, partition) = (name(instance), partition_of(region));
        match instance.kind.as_str() {
            "aws_iam_role" => format!("arn:{partition}:iam::{account}:role/{name}"),
            "aws_iam_policy" => format!("arn:{partition}:iam::{account}:policy/{name}"),
            "aws_lambda_function" => format!("arn:{partition}:lambda:{region}:{account}:function:{name}"),
            "aws_dynamodb_table" => format!("arn:{partition}:dynamodb:{region}:{account}:table/{name}"),
            kind => {
                let service = kind.split('_').nth(1).unwrap_or_default();
                format!("arn:{partition}:{service}:{region}:{account}:{name}")
            }
        }
    }

    fn queue_url(&self, queue: &Instance) -> String {
        format!("{}/{}/{}", self.endpoint, self.account, name(queue))
    }
}

/// Returns the attribute that a reference means if it names none.
fn own_attribute(instance: &Instance, wanted: &str) -> &'static str {
    match (instance.kind.as_str(), wanted) {
        (_, "queue_url") => "url",
        ("aws_sqs_queue", "QueueName") => "name",
        ("aws_lambda_function", "FunctionName") => "function_name",
        _ => "arn",
    }
}

/// Returns the name that it asks for, else one made of its address.
pub(super) fn name(instance: &Instance) -> String {
    let attribute = match instance.kind.as_str() {
        "aws_lambda_function" => "function_name",
        "aws_cloudwatch_metric_alarm" | "aws_cloudwatch_composite_alarm" => "alarm_name",
        _ => "name",
    };
    instance.text(attribute).map_or_else(
        || {
            let is_fifo = instance.values.get("fifo_queue") == Some(&Json::Bool(true));
            // These characters would be taken for a pattern or a part of an ARN.
            let name = instance.address.replace(['*', '?', '/', ':'], "-");
            if is_fifo { name + ".fifo" } else { name }
        },
        str::to_owned,
    )
}

fn region_of_provider(plan: &Plan) -> Option<String> {
    let region = plan.configuration.as_ref()?.provider_config.get("aws")?.expressions.get("region")?;
    if let Some(region) = region.get("constant_value") {
        return region.as_str().map(str::to_owned);
    }
    let variable = region.get("references")?.as_array()?.first()?.as_str()?.strip_prefix("var.")?;
    plan.variables.get(variable)?.as_str().map(str::to_owned)
}
