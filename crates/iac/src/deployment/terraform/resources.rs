//! Turns Terraform's resources into those of a template.
//! <https://registry.terraform.io/providers/hashicorp/aws/latest/docs>

use super::attributes::{Attributes, document, list, map, text, unknown};
use super::names::name;
use super::policies;
use crate::deployment::{HOLDERS, RECEIVERS};
use crate::{Node, Value};

/// A resource of a template.
pub(super) struct Resource {
    pub(super) id: String,
    pub(super) kind: &'static str,
    pub(super) properties: Vec<(String, Node)>,
}

/// An attribute, which may be in a block, and its property: `ScalingConfig.MaximumConcurrency`.
type Row = (&'static str, &'static str);

const QUEUE: &[Row] = &[
    ("visibility_timeout_seconds", "VisibilityTimeout"),
    ("message_retention_seconds", "MessageRetentionPeriod"),
    ("max_message_size", "MaximumMessageSize"),
    ("delay_seconds", "DelaySeconds"),
    ("fifo_queue", "FifoQueue"),
    ("content_based_deduplication", "ContentBasedDeduplication"),
    ("kms_master_key_id", "KmsMasterKeyId"),
];

const FUNCTION: &[Row] = &[
    ("runtime", "Runtime"),
    ("handler", "Handler"),
    ("timeout", "Timeout"),
    ("memory_size", "MemorySize"),
    ("reserved_concurrent_executions", "ReservedConcurrentExecutions"),
    ("environment.variables", "Environment.Variables"),
    ("role", "Role"),
    ("dead_letter_config.target_arn", "DeadLetterConfig.TargetArn"),
    ("vpc_config.subnet_ids", "VpcConfig.SubnetIds"),
    ("layers", "Layers"),
    ("image_config.entry_point", "ImageConfig.EntryPoint"),
];

const MAPPING: &[Row] = &[
    ("event_source_arn", "EventSourceArn"),
    ("function_name", "FunctionName"),
    ("batch_size", "BatchSize"),
    ("enabled", "Enabled"),
    ("function_response_types", "FunctionResponseTypes"),
    ("maximum_batching_window_in_seconds", "MaximumBatchingWindowInSeconds"),
    ("scaling_config.maximum_concurrency", "ScalingConfig.MaximumConcurrency"),
    ("provisioned_poller_config.minimum_pollers", "ProvisionedPollerConfig.MinimumPollers"),
    ("provisioned_poller_config.maximum_pollers", "ProvisionedPollerConfig.MaximumPollers"),
    ("metrics_config.metrics", "MetricsConfig.Metrics"),
    ("destination_config.on_failure.destination_arn", "OnFailure.Destination"),
];

const ALARM: &[Row] = &[
    ("alarm_description", "AlarmDescription"),
    ("namespace", "Namespace"),
    ("metric_name", "MetricName"),
    ("statistic", "Statistic"),
    ("extended_statistic", "ExtendedStatistic"),
    ("period", "Period"),
    ("evaluation_periods", "EvaluationPeriods"),
    ("datapoints_to_alarm", "DatapointsToAlarm"),
    ("threshold", "Threshold"),
    ("comparison_operator", "ComparisonOperator"),
    ("treat_missing_data", "TreatMissingData"),
    ("alarm_actions", "AlarmActions"),
    ("actions_enabled", "ActionsEnabled"),
];

const COMPOSITE: &[Row] = &[("alarm_rule", "AlarmRule"), ("alarm_actions", "AlarmActions")];

const TABLE: &[Row] = &[
    ("ttl.enabled", "TimeToLiveSpecification.Enabled"),
    ("ttl.attribute_name", "TimeToLiveSpecification.AttributeName"),
];

const SUBSCRIPTION: &[Row] = &[("topic_arn", "TopicArn"), ("protocol", "Protocol"), ("endpoint", "Endpoint")];

const PERMISSION: &[Row] = &[("function_name", "FunctionName"), ("principal", "Principal")];

/// Types that their rows describe completely.
const PLAIN: &[(&str, &str, &[Row])] = &[
    ("aws_appconfig_environment", "AWS::AppConfig::Environment", &[("monitor.alarm_arn", "AlarmArn")]),
    (
        "aws_codedeploy_deployment_group",
        "AWS::CodeDeploy::DeploymentGroup",
        &[("alarm_configuration.alarms", "Alarms")],
    ),
    ("aws_ecs_service", "AWS::ECS::Service", &[("alarms.alarm_names", "AlarmNames")]),
    ("aws_lambda_permission", "AWS::Lambda::Permission", PERMISSION),
    (
        "aws_cloudwatch_event_target",
        "AWS::Events::Rule",
        &[("dead_letter_config.arn", "DeadLetterConfig.Arn")],
    ),
    (
        "aws_scheduler_schedule",
        "AWS::Scheduler::Schedule",
        &[("target.dead_letter_config.arn", "DeadLetterConfig.Arn")],
    ),
    ("aws_vpc_endpoint", "AWS::EC2::VPCEndpoint", &[("service_name", "ServiceName")]),
    ("aws_nat_gateway", "AWS::EC2::NatGateway", &[]),
    ("aws_vpc_peering_connection", "AWS::EC2::VPCPeeringConnection", &[]),
    ("aws_ec2_transit_gateway_vpc_attachment", "AWS::EC2::TransitGatewayVpcAttachment", &[]),
];

/// All tables, to find the attributes of properties in messages.
const ROWS: [&[Row]; 7] = [QUEUE, FUNCTION, MAPPING, ALARM, COMPOSITE, TABLE, PERMISSION];

/// Types that are not read, with their types in a template, which are not read there either.
const NOT_READ: [(&str, &str); 15] = [
    ("aws_api_gateway_", "AWS::ApiGateway::Method"),
    ("aws_apigatewayv2_", "AWS::ApiGatewayV2::Integration"),
    ("aws_apprunner_service", "AWS::AppRunner::Service"),
    ("aws_batch_job_definition", "AWS::Batch::JobDefinition"),
    ("aws_cloudformation_stack", "AWS::CloudFormation::Stack"),
    ("aws_elastic_beanstalk_", "AWS::ElasticBeanstalk::Environment"),
    ("aws_glue_crawler", "AWS::Glue::Crawler"),
    ("aws_instance", "AWS::EC2::Instance"),
    ("aws_launch_configuration", "AWS::AutoScaling::LaunchConfiguration"),
    ("aws_launch_template", "AWS::EC2::LaunchTemplate"),
    ("aws_lightsail_", "AWS::Lightsail::Instance"),
    ("aws_osis_pipeline", "AWS::OSIS::Pipeline"),
    ("aws_pipes_pipe", "AWS::Pipes::Pipe"),
    ("aws_sfn_state_machine", "AWS::StepFunctions::StateMachine"),
    ("aws_spot_", "AWS::EC2::SpotFleet"),
];

/// Returns another resource that can hold a queue, a function or a mapping, with the queues that it refers to.
pub(super) fn not_read(attributes: &Attributes<'_>) -> Option<Resource> {
    let instance = attributes.instance;
    let kind = instance.kind.as_str();
    let own = NOT_READ.iter().find(|(start, _)| kind.starts_with(start)).map(|(_, own)| *own);
    let known = || HOLDERS.iter().chain(&RECEIVERS).map(|(start, _)| *start);
    let known = || known().find(|start| kind.starts_with(start));
    let other = || (!kind.starts_with("aws_")).then_some("another provider");
    let kind = own.or_else(known).or_else(other)?;
    let (queues, may_be_more) = attributes.queues();
    let is_empty = queues.is_empty() && !may_be_more && instance.values.is_null();
    let may_hold = HOLDERS.iter().any(|(start, _)| kind.starts_with(start));
    // An instance may be the way out of a VPC.
    if is_empty && !may_hold && kind != "AWS::EC2::Instance" {
        return None;
    }
    let source = Some(&queues[..]).filter(|_| kind == "AWS::Pipes::Pipe" && !may_be_more);
    let source = source.and_then(|queues| <&[_; 1]>::try_from(queues).ok()).map(|[queue]| text(queue));
    let more = may_be_more.then(unknown);
    let references = queues.into_iter().map(text).chain(more).collect();
    let values = Node::of_json(1, &instance.values);
    let mut properties = vec![("References".to_owned(), list(references))];
    properties.extend(source.map(|source| ("Source".to_owned(), source)));
    match values.value {
        Value::Map(entries) => properties.extend(entries),
        _ => properties.push(("Values".to_owned(), values)),
    }
    Some(Resource { id: instance.address.clone(), kind, properties })
}

/// Returns the resource of a template, or `None` if it concerns no consumer.
pub(super) fn resource(attributes: &Attributes<'_>) -> Option<Resource> {
    let instance = attributes.instance;
    let mut properties = Properties(Vec::new());
    let kind = match instance.kind.as_str() {
        "aws_sqs_queue" => {
            properties.add("QueueName", text(name(instance)));
            properties.add_rows(attributes, QUEUE);
            properties.add("RedrivePolicy", policies::redrive_policy(attributes, "redrive_policy"));
            properties.add("RedriveAllowPolicy", policies::allow_policy(attributes, "redrive_allow_policy"));
            "AWS::SQS::Queue"
        }
        "aws_lambda_function" => {
            properties.add("FunctionName", text(name(instance)));
            properties.add_rows(attributes, FUNCTION);
            // The provider calls -1 "unreserved".
            properties.0.retain(|(name, node)| {
                name != "ReservedConcurrentExecutions" || node.as_text() != Some("-1")
            });
            // A Cargo project is found from the path of a package, but not from an empty map.
            properties.add("Code", attributes.get("filename").unwrap_or_else(|| map([])));
            "AWS::Lambda::Function"
        }
        "aws_lambda_event_source_mapping" => {
            // A mapping without it is for a broker that AWS does not manage. Terraform has checked that.
            attributes.get("event_source_arn")?;
            properties.add_rows(attributes, MAPPING);
            let filters = attributes.get("filter_criteria.filter").map(|filters| filters_of(&filters));
            properties.add("FilterCriteria.Filters", filters);
            "AWS::Lambda::EventSourceMapping"
        }
        "aws_dynamodb_table" => {
            properties.add("TableName", text(name(instance)));
            properties.add_rows(attributes, TABLE);
            let key = |attribute: &str, kind: &str| {
                let name = attributes.get(attribute)?;
                Some(map([("AttributeName", name), ("KeyType", text(kind))]))
            };
            let keys = key("hash_key", "HASH").into_iter().chain(key("range_key", "RANGE"));
            properties.add("KeySchema", list(keys.collect()));
            "AWS::DynamoDB::Table"
        }
        "aws_sns_topic_subscription" => {
            properties.add_rows(attributes, SUBSCRIPTION);
            properties.add("RedrivePolicy", policies::redrive_policy(attributes, "redrive_policy"));
            "AWS::SNS::Subscription"
        }
        "aws_cloudwatch_metric_alarm" => {
            properties.add("AlarmName", text(name(instance)));
            properties.add_rows(attributes, ALARM);
            // In a state, 0 means that it is not set.
            properties.0.retain(|(name, node)| name != "DatapointsToAlarm" || node.as_text() != Some("0"));
            properties.add("Dimensions", attributes.get("dimensions").map(|it| dimensions(&it)));
            let queries = attributes
                .get("metric_query")
                .filter(|it| it.as_list().is_none_or(|items| !items.is_empty()));
            properties.add("Metrics", queries.map(|queries| metrics(&queries)));
            "AWS::CloudWatch::Alarm"
        }
        "aws_cloudwatch_composite_alarm" => {
            properties.add("AlarmName", text(name(instance)));
            properties.add_rows(attributes, COMPOSITE);
            "AWS::CloudWatch::CompositeAlarm"
        }
        "aws_sqs_queue_policy" => {
            properties.add("Queues", attributes.get("queue_url"));
            properties.add("PolicyDocument", policies::permissions(attributes, "policy"));
            "AWS::SQS::QueuePolicy"
        }
        "aws_iam_role" => {
            properties.add("RoleName", text(name(instance)));
            properties.add("ManagedPolicyArns", attributes.get("managed_policy_arns"));
            let inline = attributes.blocks("inline_policy", |get| {
                map([("PolicyDocument", get("policy").map_or_else(unknown, document))])
            });
            properties.add("Policies", list(inline));
            "AWS::IAM::Role"
        }
        "aws_iam_policy" => {
            properties.add("ManagedPolicyName", text(name(instance)));
            properties.add("PolicyDocument", policies::permissions(attributes, "policy"));
            "AWS::IAM::ManagedPolicy"
        }
        "aws_iam_role_policy" => {
            properties.add("RoleName", policies::role_name(attributes, "role"));
            properties.add("PolicyDocument", policies::permissions(attributes, "policy"));
            "AWS::IAM::RolePolicy"
        }
        kind => {
            let (_, kind, rows) = PLAIN.iter().find(|(plain, ..)| *plain == kind)?;
            properties.add_rows(attributes, rows);
            kind
        }
    };
    Some(Resource { id: instance.address.clone(), kind, properties: properties.0 })
}

struct Properties(Vec<(String, Node)>);

impl Properties {
    fn add_rows(&mut self, attributes: &Attributes<'_>, rows: &[Row]) {
        for (attribute, property) in rows {
            self.add(property, attributes.get(attribute));
        }
    }

    /// Adds a property at a path, if there is a value.
    fn add(&mut self, path: &str, node: impl Into<Option<Node>>) {
        let Some(node) = node.into() else { return };
        let Some((outer, inner)) = path.split_once('.') else {
            self.0.push((path.to_owned(), node));
            return;
        };
        match self.0.iter_mut().find(|(name, _)| name == outer) {
            Some((_, Node { value: Value::Map(entries), .. })) => entries.push((inner.to_owned(), node)),
            Some(_) => {}
            None => self.0.push((outer.to_owned(), map([(inner, node)]))),
        }
    }
}

fn filters_of(filters: &Node) -> Node {
    let filter = |filter: &Node| map(filter.get("pattern").cloned().map(|pattern| ("Pattern", pattern)));
    each(filters, filter)
}

fn dimensions(dimensions: &Node) -> Node {
    if dimensions.unknown().is_some() {
        return dimensions.clone();
    }
    let dimension = |(name, value): &(String, Node)| map([("Name", text(name)), ("Value", value.clone())]);
    list(dimensions.entries().iter().map(dimension).collect())
}

fn metrics(queries: &Node) -> Node {
    each(queries, |query| {
        let metric = query.get("metric").and_then(|it| it.as_list()?.first());
        let stat = metric.map(|metric| {
            let named = [("namespace", "Namespace"), ("metric_name", "MetricName")];
            let entry = |(attribute, name)| Some((name, metric.get(attribute)?.clone()));
            let dimensions = metric.get("dimensions").map(|it| ("Dimensions", dimensions(it)));
            map([("Metric", map(named.into_iter().filter_map(entry).chain(dimensions)))])
        });
        let expression = query.get("expression").map(|it| ("Expression", it.clone()));
        map(stat.map(|stat| ("MetricStat", stat)).into_iter().chain(expression))
    })
}

fn each(items: &Node, read: impl Fn(&Node) -> Node) -> Node {
    match items.as_list() {
        Some(items) => list(items.iter().map(read).collect()),
        None => items.clone(),
    }
}

/// Attributes that have other names and are in no table.
const OTHERS: [(&str, &str); 3] =
    [("policy", "PolicyDocument"), ("role", "RoleName"), ("queue_url", "Queues")];

/// Puts attributes in the place of properties, as in `VisibilityTimeout of aws_sqs_queue.orders`, and a plan in that of a template.
pub(super) fn in_words_of_terraform(line: &str) -> String {
    let line = line.replace("in this template", "in this plan or state");
    let words: Vec<&str> = line.split(' ').collect();
    let of_resource = |at: usize| {
        words.get(at + 1) == Some(&"of") && words.get(at + 2).is_some_and(|address| address.contains("aws_"))
    };
    let told: Vec<String> = words
        .iter()
        .enumerate()
        .map(|(at, word)| if of_resource(at) { attribute(word) } else { (*word).to_owned() })
        .collect();
    told.join(" ")
}

/// Returns the attribute of a property.
fn attribute(property: &str) -> String {
    let is_it = |row: &&(&str, &str)| row.1.split('.').next_back() == Some(property);
    if let Some((path, _)) = ROWS.into_iter().flatten().chain(&OTHERS).find(is_it) {
        return (*path).to_owned();
    }
    let is_pascal = property.starts_with(|first: char| first.is_ascii_uppercase())
        && property.chars().all(|it| it.is_ascii_alphanumeric());
    if !is_pascal {
        return property.to_owned();
    }
    let mut snake = String::new();
    for (at, letter) in property.char_indices() {
        if at > 0 && letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::in_words_of_terraform;

    #[test]
    fn a_property_is_named_as_its_attribute() {
        for (line, told) in [
            (
                "VisibilityTimeout of aws_sqs_queue.orders: why",
                "visibility_timeout_seconds of aws_sqs_queue.orders: why",
            ),
            (
                "MaximumConcurrency of module.m.aws_lambda_event_source_mapping.orders: why",
                "scaling_config.maximum_concurrency of module.m.aws_lambda_event_source_mapping.orders: why",
            ),
            (
                "RedriveAllowPolicy of aws_sqs_queue.q is not JSON",
                "redrive_allow_policy of aws_sqs_queue.q is not JSON",
            ),
            ("PolicyDocument of aws_iam_role_policy.p: why", "policy of aws_iam_role_policy.p: why"),
            ("maxReceiveCount of aws_sqs_queue.q: why", "maxReceiveCount of aws_sqs_queue.q: why"),
            ("the queue of a: b is not in this template", "the queue of a: b is not in this plan or state"),
            ("The Queue of Orders", "The Queue of Orders"),
        ] {
            assert_eq!(in_words_of_terraform(line), told);
        }
    }
}
