//! Names of resources: `Ref`, `Fn::GetAtt`, names, ARNs and URLs.

use redrive_sqs::dns_suffix;

use super::{ENDLESS, Gaps, Resolver, Result, STEP, Surroundings, partition_of};
use crate::document::{Node, Value};
use crate::nearest::did_you_mean;
use crate::scalar;

/// Placeholders for values that are known only at deployment.
pub(crate) const REGION: &str = "REGION";
pub(crate) const ACCOUNT: &str = "ACCOUNT";
const STACK: &str = "STACK";
/// The end of a stack's id, parts of which templates use. The same as in `redrive_local`.
const STACK_UUID: &str = "a1b2c3d4-a1b2-41b2-81b2-a1b2c3d4e5f6";

/// Types that `redrive local` has under the names that it gives.
const RUN_HERE: [&str; 5] = [
    "AWS::CloudWatch::Alarm",
    "AWS::Lambda::Function",
    "AWS::Logs::LogGroup",
    "AWS::SQS::Queue",
    "AWS::Serverless::Function",
];

impl<'a> Resolver<'a> {
    /// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/pseudo-parameter-reference.html>
    pub(super) fn reference(&self, argument: &Node) -> Result<Option<Node>> {
        let name = argument.as_text().ok_or_else(|| argument.error("Ref takes a name"))?;
        let text = match name {
            "AWS::NoValue" => return Ok(None),
            "AWS::Region" => self.region().to_owned(),
            "AWS::AccountId" => self.account().to_owned(),
            "AWS::StackName" => self.stack().to_owned(),
            "AWS::StackId" => self.arn("cloudformation", &format!("stack/{}/{STACK_UUID}", self.stack())),
            "AWS::Partition" => self.said_partition().to_owned(),
            "AWS::URLSuffix" => {
                let given = self.pseudo(name);
                given.unwrap_or_else(|| dns_suffix(self.said_partition())).to_owned()
            }
            name => {
                if let Some(value) = self.parameters.get(name) {
                    return Ok(Some(Node { line: argument.line, value: value.clone() }));
                }
                if let Some(function) = self.function_published_as(name) {
                    return Ok(Some(Node::text(argument.line, self.published(function?))));
                }
                let resource = self.resource(name, argument)?;
                match kind(resource) {
                    "AWS::Lambda::Alias" | "AWS::Lambda::Version" => {
                        self.published(self.function_of(name, resource, argument)?)
                    }
                    "AWS::SQS::Queue" => self.queue_url(name, resource)?,
                    "AWS::SNS::Topic" => self.topic_arn(&self.deployed_name(name, resource)?),
                    _ => self.deployed_name(name, resource)?,
                }
            }
        };
        Ok(Some(Node::text(argument.line, text)))
    }

    pub(super) fn attribute(&self, argument: &Node) -> Result<Option<Node>> {
        let path = match argument.as_list() {
            Some(_) => self.texts(argument)?.join("."),
            None => self.text(argument)?,
        };
        let Some((id, attribute)) = path.split_once('.') else {
            return Err(argument.error(format!("Fn::GetAtt takes a resource and an attribute, not {path}")));
        };
        let resource = self.resource(id, argument)?;
        if let Some(value) = self.surroundings.values.get(&path) {
            self.requested.borrow_mut().insert(path);
            return Ok(Some(Node::text(argument.line, value)));
        }
        let name = self.physical_name(id, resource).inspect_err(|_| {
            self.requested.borrow_mut().insert(path.clone());
        })?;
        let text = match (kind(resource), attribute) {
            ("AWS::SQS::Queue", "QueueUrl") => self.queue_url(id, resource)?,
            ("AWS::SQS::Queue", "Arn") => self.arn("sqs", &name),
            ("AWS::Serverless::Function" | "AWS::Lambda::Function", "Arn") => {
                self.arn("lambda", &format!("function:{name}"))
            }
            ("AWS::Lambda::Alias", "AliasArn") | ("AWS::Lambda::Version", "FunctionArn") => {
                self.published(self.function_of(id, resource, argument)?)
            }
            ("AWS::KMS::Key", "Arn") => self.arn("kms", &format!("key/{name}")),
            ("AWS::DynamoDB::Table" | "AWS::DynamoDB::GlobalTable", "Arn") if self.gaps != Gaps::Filled => {
                self.requested.borrow_mut().insert(path.clone());
                self.table_arn(&name)
            }
            ("AWS::Logs::LogGroup", "Arn") => self.arn("logs", &format!("log-group:{name}:*")),
            ("AWS::IAM::Role", "Arn") => {
                format!("arn:{}:iam::{}:role/{name}", self.partition(), self.account())
            }
            (_, attribute) if attribute.ends_with("Name") => self.deployed_name(id, resource)?,
            (_, "Arn" | "TopicArn") if self.gaps == Gaps::Kept && self.arn_of(id).is_some() => {
                self.arn_of(id).unwrap_or_default()
            }
            ("AWS::SQS::Queue", attribute) => {
                return Err(argument.error(format!("a queue has no attribute {attribute}: {path}")));
            }
            (kind, attribute) => {
                let why = format!("{attribute} of {id} ({kind}) is known only at deployment");
                let made_up = || match attribute.ends_with("Arn") {
                    true => Ok(made_up(kind, &name, (self.partition(), self.region(), self.account()))),
                    false => Ok(format!("{name}-{attribute}")),
                };
                self.beyond(argument, &path, why, made_up)?
            }
        };
        Ok(Some(Node::text(argument.line, text)))
    }

    /// Returns the function that an alias or a version belongs to.
    /// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-lambda-alias.html>
    fn function_of(&self, id: &str, published: &Node, place: &Node) -> Result<String> {
        let function = published.get("Properties").and_then(|properties| properties.get("FunctionName"));
        let function = function.ok_or_else(|| place.error(format!("{id} has no FunctionName")))?;
        self.text(function)
    }

    /// Returns the function for which SAM makes an alias and versions: `Work.Alias`, `Work.Version` and `WorkAliasNAME`.
    /// <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-specification-generated-resources-function.html>
    fn function_published_as(&self, name: &str) -> Option<Result<String>> {
        if self.resources.contains_key(name) {
            return None;
        }
        let section = self.template.get("Resources")?;
        let functions = section.entries().iter().filter(|(_, it)| kind(it) == "AWS::Serverless::Function");
        let (id, function) = functions.clone().find(|(id, function)| {
            let Some(rest) = name.strip_prefix(id.as_str()) else { return false };
            let alias = || {
                let own = function.get("Properties").and_then(|it| it.get("AutoPublishAlias"));
                let globals = || self.template.get("Globals")?.get("Function")?.get("AutoPublishAlias");
                self.text(own.or_else(globals)?).ok()
            };
            let named = rest.strip_prefix("Alias").filter(|name| !name.is_empty());
            matches!(rest, ".Alias" | ".Version")
                || named.is_some_and(|name| alias().as_deref() == Some(name))
        })?;
        Some(self.physical_name(id, function))
    }

    /// Returns the function's ARN for its alias or version: only the function matters here.
    fn published(&self, function: String) -> String {
        if function.starts_with("arn:") {
            function
        } else {
            self.arn("lambda", &format!("function:{function}"))
        }
    }

    fn resource(&self, id: &str, place: &Node) -> Result<&'a Node> {
        let resource = self.resources.get(id).copied();
        let resource = resource.ok_or_else(|| {
            let names = |section| self.template.entries_at(section);
            let known = ["Resources", "Parameters"].into_iter().flat_map(names);
            let meant = did_you_mean(id, known.map(|(name, _)| name.as_str()));
            place.error(format!("no such parameter or resource: {id}{meant}"))
        })?;
        if self.exists(resource)? {
            Ok(resource)
        } else {
            Err(place.error(format!("{id} does not exist: its condition is false")))
        }
    }

    /// Returns the name that a resource asks for (`QueueName` of a Queue, `FunctionName` of a Function), else one from the stack
    /// and its id.
    pub(super) fn physical_name(&self, id: &str, resource: &Node) -> Result<String> {
        let name = self.chosen_name(id, resource)?;
        Ok(name.unwrap_or_else(|| self.own_name(id, resource)))
    }

    /// Returns the same, and records it as made up if nobody chose it and nothing here has it.
    fn deployed_name(&self, id: &str, resource: &Node) -> Result<String> {
        let chosen = self.chosen_name(id, resource)?;
        if chosen.is_none() && self.gaps == Gaps::Filled && !RUN_HERE.contains(&kind(resource)) {
            self.made_up.borrow_mut().insert(id.to_owned());
        }
        Ok(chosen.unwrap_or_else(|| self.own_name(id, resource)))
    }

    fn own_name(&self, id: &str, resource: &Node) -> String {
        let fifo = resource.get("Properties").and_then(|properties| self.value(properties.get("FifoQueue")?));
        let is_fifo = fifo.as_ref().and_then(Node::as_text).and_then(scalar::flag) == Some(true);
        format!("{}-{id}{}", self.stack(), if is_fifo { ".fifo" } else { "" })
    }

    /// Returns the name from the template or a flag.
    fn chosen_name(&self, id: &str, resource: &Node) -> Result<Option<String>> {
        let Surroundings { names, values, .. } = self.surroundings;
        if let Some(name) = names.get(id).or_else(|| values.get(id)) {
            return Ok(Some(name.clone()));
        }
        let property = |name: &str| self.value(resource.get("Properties")?.get(name)?);
        let kind = kind(resource).rsplit("::").next().unwrap_or_default();
        let named = match kind {
            "Rule" => "Name".to_owned(),
            "GlobalTable" | "SimpleTable" => "TableName".to_owned(),
            kind => format!("{kind}Name"),
        };
        if let Some(name) = property(&named) {
            match name.unknown() {
                None => return self.text(&name).map(Some),
                Some(why) if why.message == ENDLESS => return Err(why.clone()),
                // A function here may have any name.
                Some(why) if self.gaps == Gaps::Settable && !["Function", "Rule"].contains(&kind) => {
                    return Err(why.clone());
                }
                Some(_) => {}
            }
        }
        Ok(None)
    }

    fn queue_url(&self, id: &str, queue: &Node) -> Result<String> {
        Ok(self.queue_url_of(&self.physical_name(id, queue)?))
    }

    /// Returns the queues that are known to exist, by their logical ids, with their URLs.
    pub fn queue_ids(&self) -> Vec<(String, String)> {
        let queues = self.kinds().into_iter().filter(|(_, kind)| *kind == "AWS::SQS::Queue");
        let url = |id: &str| self.reference(&Node::text(0, id)).ok().flatten()?.as_text().map(str::to_owned);
        queues.filter_map(|(id, _)| Some((id.to_owned(), url(id)?))).collect()
    }

    /// The URL of the queue with a name.
    pub fn queue_url_of(&self, name: &str) -> String {
        format!("{}/{}/{name}", self.surroundings.endpoint, self.account())
    }

    /// The ARN of the queue with a name.
    pub fn queue_arn(&self, name: &str) -> String {
        self.arn("sqs", name)
    }

    /// The ARN of the table with a name.
    pub fn table_arn(&self, name: &str) -> String {
        self.arn("dynamodb", &format!("table/{name}"))
    }

    /// The ARN of a rule, a topic or a bucket, as far as it is known.
    pub fn arn_of(&self, id: &str) -> Option<String> {
        let resource = self.template.get("Resources")?.get(id)?;
        let property = |name: &str| self.value(resource.get("Properties")?.get(name)?);
        match kind(resource) {
            "AWS::Events::Rule" => {
                // A rule of a custom bus is called BUS|NAME.
                let name = self.physical_name(id, resource).ok()?;
                let name = name.rsplit('|').next().unwrap_or_default();
                let bus = match property("EventBusName") {
                    Some(bus) => bus.as_text()?.rsplit('/').next().map(str::to_owned),
                    None => None,
                };
                let bus = bus.filter(|bus| bus != "default").map(|bus| format!("{bus}/"));
                Some(self.arn("events", &format!("rule/{}{name}", bus.unwrap_or_default())))
            }
            "AWS::S3::Bucket" => {
                Some(format!("arn:{}:s3:::{}", self.partition(), self.physical_name(id, resource).ok()?))
            }
            "AWS::SNS::Topic" => Some(self.topic_arn(&self.physical_name(id, resource).ok()?)),
            _ => None,
        }
    }

    /// Returns a topic's ARN from its name, which may be the ARN already.
    fn topic_arn(&self, name: &str) -> String {
        if name.starts_with("arn:") { name.to_owned() } else { self.arn("sns", name) }
    }

    fn arn(&self, service: &str, resource: &str) -> String {
        let partition = self.partition();
        format!("arn:{partition}:{service}:{}:{}:{resource}", self.region(), self.account())
    }

    /// Returns the given value of one of CloudFormation's own parameters.
    fn pseudo(&self, name: &str) -> Option<&str> {
        match self.parameters.get(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns true if one of CloudFormation's own parameters has no known value.
    pub(super) fn is_unsaid(&self, name: &str) -> bool {
        let Surroundings { region, account, stack, .. } = self.surroundings;
        let said = match name {
            "AWS::Region" | "AWS::Partition" | "AWS::URLSuffix" => {
                region.as_deref().or_else(|| self.pseudo("AWS::Region"))
            }
            "AWS::AccountId" => account.as_deref(),
            "AWS::StackName" => stack.as_deref(),
            _ => return false,
        };
        said.or_else(|| self.pseudo(name)).is_none()
    }

    /// Returns the partition, `aws` if the region is unknown.
    fn partition(&self) -> &str {
        let region = self.pseudo("AWS::Region").or(self.surroundings.region.as_deref());
        self.pseudo("AWS::Partition").unwrap_or_else(|| partition_of(region.unwrap_or(REGION)))
    }

    /// Returns the partition. If the region is unknown, no condition is decided by it.
    fn said_partition(&self) -> &str {
        self.pseudo("AWS::Partition").unwrap_or_else(|| partition_of(self.region()))
    }

    fn region(&self) -> &str {
        self.or_word(
            self.pseudo("AWS::Region").or(self.surroundings.region.as_deref()),
            REGION,
            "the region is not known: pass --region REGION",
        )
    }

    fn account(&self) -> &str {
        self.or_word(
            self.pseudo("AWS::AccountId").or(self.surroundings.account.as_deref()),
            ACCOUNT,
            "the account is not known: pass --parameter AWS::AccountId=ID",
        )
    }

    pub(super) fn stack(&self) -> &str {
        self.or_word(
            self.pseudo("AWS::StackName").or(self.surroundings.stack.as_deref()),
            STACK,
            "the stack's name is not known: pass --parameter AWS::StackName=NAME",
        )
    }

    fn or_word<'s>(&self, said: Option<&'s str>, word: &'s str, why: &'static str) -> &'s str {
        said.unwrap_or_else(|| {
            self.unsaid.set(Some(why));
            word
        })
    }

    /// Evaluates what a decision depends on. Fails if a placeholder for an unknown value is part of it.
    pub(super) fn said<T>(&self, place: &Node, value: impl FnOnce() -> Result<T>) -> Result<T> {
        let outer = self.unsaid.take();
        let value = value();
        let unsaid = self.unsaid.replace(outer);
        match unsaid {
            Some(why) => Err(place.error(why)),
            None => value,
        }
    }

    /// Returns a value that only a deployment knows: the given one, else what the resolver's [`Gaps`] say.
    pub(super) fn beyond(
        &self,
        place: &Node,
        name: &str,
        why: String,
        made_up: impl FnOnce() -> Result<String>,
    ) -> Result<String> {
        self.step(place, name.len() / STEP)?;
        self.requested.borrow_mut().insert(name.to_owned());
        if let Some(value) = self.surroundings.values.get(name) {
            return Ok(value.clone());
        }
        match self.gaps {
            Gaps::Kept => Err(place.error(why)),
            Gaps::Settable => Err(place.error(format!("{why}: pass --set {name}=VALUE"))),
            Gaps::Filled => {
                let value = made_up()?;
                self.made_up.borrow_mut().insert(name.to_owned());
                Ok(value)
            }
        }
    }
}

fn kind(resource: &Node) -> &str {
    resource.text_at("Type").unwrap_or_default()
}

/// Text between the account and the name, if there is any.
/// <https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html>
const BEFORE_NAMES: [(&str, &str); 8] = [
    ("AWS::DynamoDB::Table", "table/"),
    ("AWS::DynamoDB::GlobalTable", "table/"),
    ("AWS::Events::EventBus", "event-bus/"),
    ("AWS::Kinesis::Stream", "stream/"),
    ("AWS::RDS::DBCluster", "cluster:"),
    ("AWS::SecretsManager::Secret", "secret:"),
    ("AWS::Serverless::SimpleTable", "table/"),
    ("AWS::StepFunctions::StateMachine", "stateMachine:"),
];

/// Makes up an ARN in the form of its service, as far as that is known here.
fn made_up(kind: &str, name: &str, (partition, region, account): (&str, &str, &str)) -> String {
    let service = match kind {
        "AWS::Serverless::SimpleTable" => "dynamodb".to_owned(),
        "AWS::Serverless::StateMachine" | "AWS::StepFunctions::StateMachine" => "states".to_owned(),
        _ => kind.split("::").nth(1).unwrap_or("none").to_lowercase(),
    };
    let before = BEFORE_NAMES.iter().find(|(known, _)| *known == kind).map_or("", |(_, before)| before);
    match service.as_str() {
        // <https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-arn-format.html>
        "s3" => format!("arn:{partition}:s3:::{}", name.to_lowercase()),
        _ => format!("arn:{partition}:{service}:{region}:{account}:{before}{name}"),
    }
}
