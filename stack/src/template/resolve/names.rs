//! What resources are called: `Ref`, `Fn::GetAtt`, names, ARNs and URLs.

use super::{ENDLESS, Gaps, Resolver, Result, Surroundings};
use crate::template::document::Node;

const PARTITION: &str = "aws";

impl<'a> Resolver<'a> {
    /// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/pseudo-parameter-reference.html>
    pub(super) fn reference(&self, argument: &Node) -> Result<Option<Node>> {
        let name = argument.as_text().ok_or_else(|| argument.error("Ref takes a name"))?;
        let text = match name {
            "AWS::NoValue" => return Ok(None),
            "AWS::Region" => self.surroundings.region.clone(),
            "AWS::AccountId" => self.surroundings.account.clone(),
            "AWS::StackName" => self.surroundings.stack.clone(),
            "AWS::StackId" => self.arn("cloudformation", &format!("stack/{}/local", self.surroundings.stack)),
            "AWS::Partition" => PARTITION.to_owned(),
            "AWS::URLSuffix" => "amazonaws.com".to_owned(),
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
                    "AWS::SNS::Topic" => self.arn("sns", &self.physical_name(name, resource)?),
                    _ => self.physical_name(name, resource)?,
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
        let name = self.physical_name(id, resource)?;
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
            ("AWS::Logs::LogGroup", "Arn") => self.arn("logs", &format!("log-group:{name}:*")),
            ("AWS::IAM::Role", "Arn") => {
                format!("arn:{PARTITION}:iam::{}:role/{name}", self.surroundings.account)
            }
            (_, attribute) if attribute.ends_with("Name") => name,
            (kind, attribute) => {
                return Err(argument.error(format!("{attribute} of {id} ({kind}) is not known here")));
            }
        };
        Ok(Some(Node::text(argument.line, text)))
    }

    /// The function that an alias or a version belongs to.
    /// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-lambda-alias.html>
    fn function_of(&self, id: &str, published: &Node, place: &Node) -> Result<String> {
        let function = published.get("Properties").and_then(|properties| properties.get("FunctionName"));
        let function = function.ok_or_else(|| place.error(format!("{id} has no FunctionName")))?;
        self.text(function)
    }

    /// The function for which SAM makes an alias and versions: `Work.Alias`, `Work.Version` and `WorkAliasNAME`.
    /// <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-specification-generated-resources-function.html>
    fn function_published_as(&self, name: &str) -> Option<Result<String>> {
        let section = self.template.get("Resources")?;
        if section.get(name).is_some() {
            return None;
        }
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

    /// The ARN of a function's alias or version, of which only the function matters here.
    fn published(&self, function: String) -> String {
        if function.starts_with("arn:") {
            function
        } else {
            self.arn("lambda", &format!("function:{function}"))
        }
    }

    fn resource(&self, id: &str, place: &Node) -> Result<&'a Node> {
        let resource = self.template.get("Resources").and_then(|resources| resources.get(id));
        let resource = resource.ok_or_else(|| place.error(format!("no such parameter or resource: {id}")))?;
        if self.exists(resource)? {
            Ok(resource)
        } else {
            Err(place.error(format!("{id} does not exist: its condition is false")))
        }
    }

    /// The name a resource asks for (`QueueName` of a Queue, `FunctionName` of a Function), else the stack's and its own.
    pub(super) fn physical_name(&self, id: &str, resource: &Node) -> Result<String> {
        if let Some(name) = self.surroundings.names.get(id) {
            return Ok(name.clone());
        }
        let property = |name: &str| self.value(resource.get("Properties")?.get(name)?);
        let kind = kind(resource).rsplit("::").next().unwrap_or_default();
        if let Some(name) = property(&format!("{kind}Name")) {
            match name.unknown() {
                None => return self.text(&name),
                Some(why) if self.gaps == Gaps::Refused || why.message == ENDLESS => return Err(why.clone()),
                Some(_) => {}
            }
        }
        let fifo = property("FifoQueue").is_some_and(|fifo| fifo.as_text() == Some("true"));
        Ok(format!("{}-{id}{}", self.surroundings.stack, if fifo { ".fifo" } else { "" }))
    }

    fn queue_url(&self, id: &str, queue: &Node) -> Result<String> {
        Ok(self.queue_url_of(&self.physical_name(id, queue)?))
    }

    /// The URL of the queue with a name.
    pub fn queue_url_of(&self, name: &str) -> String {
        let Surroundings { endpoint, account, .. } = self.surroundings;
        format!("{endpoint}/{account}/{name}")
    }

    /// The ARN of the queue with a name.
    pub fn queue_arn(&self, name: &str) -> String {
        self.arn("sqs", name)
    }

    fn arn(&self, service: &str, resource: &str) -> String {
        let Surroundings { region, account, .. } = self.surroundings;
        format!("arn:{PARTITION}:{service}:{region}:{account}:{resource}")
    }
}

fn kind(resource: &Node) -> &str {
    resource.get("Type").and_then(Node::as_text).unwrap_or_default()
}
