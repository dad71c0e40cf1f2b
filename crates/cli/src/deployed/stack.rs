//! Reads a CloudFormation stack: its resources and its template.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use aws_sdk_cloudformation::types::{Parameter, StackResourceSummary, TemplateStage};
use redrive_iac::deployment::template::{self, DeployedStack, Source};
use redrive_iac::deployment::{Arn, Deployment};
use redrive_sqs::queue_name;

use super::unseen::Unseen;
use crate::aws::{Aws, DescribeError, code_of};
use crate::find::stack::{described, resources};

/// Text that CloudFormation shows for a parameter with `NoEcho`.
const HIDDEN: &str = "****";

/// A stack that exists.
#[derive(Debug)]
pub(super) struct Stack {
    name: String,
    region: String,
    account: String,
    parameters: Vec<(String, String)>,
    /// None if they may not be listed.
    resources: Option<Vec<Resource>>,
    /// The template as it was written, before any transform.
    text: Option<String>,
}

#[derive(Debug)]
struct Resource {
    id: String,
    kind: String,
    /// A name, or the URL of a queue.
    physical: String,
}

impl Stack {
    /// # Errors
    /// The stack does not exist, or permission to describe it is missing.
    pub(super) async fn read(aws: &Aws, name: &str, unseen: &mut Unseen) -> anyhow::Result<Self> {
        let stack = described(aws, name).await?;
        let resources = unseen.or_note("the resources of the stack", resources(aws, name).await);
        let resources = resources.map(|all| all.into_iter().filter_map(resource).collect());
        let text = unseen.or_note("the stack's template", text(aws, name).await);
        let account = stack.stack_id().and_then(Arn::parse).map(|arn| arn.account.to_owned());
        Ok(Self {
            name: stack.stack_name().unwrap_or(name).to_owned(),
            region: aws.region().to_owned(),
            account: account.unwrap_or_default(),
            parameters: stack.parameters().iter().filter_map(parameter).collect(),
            resources,
            text,
        })
    }

    /// Reads the stack of a function, if it has one.
    pub(super) async fn of_function(aws: &Aws, function: &str, unseen: &mut Unseen) -> Option<Self> {
        let found =
            aws.cloudformation().describe_stack_resources().physical_resource_id(function).send().await;
        // CloudFormation answers so if it created nothing with this name.
        if found.as_ref().is_err_and(|error| code_of(error) == Some("ValidationError")) {
            return None;
        }
        let found = found.describe_error("look for it", "cloudformation:DescribeStackResources");
        let found = unseen.or_note(&format!("the stack of {function}"), found)?;
        let name = found.stack_resources().first()?.stack_name()?.to_owned();
        let read = Self::read(aws, &name, unseen).await;
        unseen.or_note(&format!("the stack of {function}"), read)
    }

    /// Returns true if the names of the resources are known. CloudFormation makes up many of them.
    pub(super) fn is_listed(&self) -> bool {
        self.resources.is_some()
    }

    /// Returns the functions. If the resources may not be listed, these and the queues are the template's.
    pub(super) fn functions(&self, template: Option<&Deployment>) -> Vec<String> {
        self.physical("AWS::Lambda::Function").unwrap_or_else(|| {
            let functions = template.map(|template| template.functions.as_slice()).unwrap_or_default();
            functions.iter().map(|function| function.name.clone()).collect()
        })
    }

    /// Returns the queues by their URLs or ARNs.
    pub(super) fn queues(&self, template: Option<&Deployment>) -> Vec<String> {
        self.physical("AWS::SQS::Queue").unwrap_or_else(|| {
            let queues = template.map(|template| template.queues.as_slice()).unwrap_or_default();
            queues.iter().map(|queue| queue.arn.clone()).collect()
        })
    }

    pub(super) fn alarms(&self) -> Vec<String> {
        self.physical("AWS::CloudWatch::Alarm").unwrap_or_default()
    }

    fn physical(&self, kind: &str) -> Option<Vec<String>> {
        let resources = self.resources.as_ref()?.iter().filter(|resource| resource.kind == kind);
        Some(resources.map(|resource| resource.physical.clone()).collect())
    }

    /// Reads the template, with the real names of the stack's resources.
    pub(super) fn template(&self, unseen: &mut Unseen) -> Option<Deployment> {
        let deployed = DeployedStack {
            account: &self.account,
            stack: &self.name,
            endpoint: self.endpoint(),
            names: self.names(),
        };
        let source = Source {
            path: Path::new(&self.name),
            text: self.text.as_deref()?,
            parameters: &self.parameters,
            region: Some(&self.region),
            deployed: Some(deployed),
            file: &|_| None,
        };
        let read = template::read(&source).map_err(|error| anyhow::anyhow!("{error}"));
        unseen.or_note("the stack's template", read)
    }

    /// Returns the start of the queues' URLs, which differs for emulators.
    fn endpoint(&self) -> Option<&str> {
        let queue = self.resources().find(|resource| resource.kind == "AWS::SQS::Queue")?;
        queue.physical.rsplitn(3, '/').nth(2)
    }

    fn names(&self) -> BTreeMap<String, String> {
        let name = |resource: &Resource| match resource.kind.as_str() {
            // The physical id is a URL or an ARN.
            "AWS::SQS::Queue" | "AWS::SNS::Topic" => queue_name(&resource.physical).to_owned(),
            _ => resource.physical.clone(),
        };
        self.resources().map(|resource| (resource.id.clone(), name(resource))).collect()
    }

    fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.resources.iter().flatten()
    }
}

fn parameter(parameter: &Parameter) -> Option<(String, String)> {
    let value = parameter.resolved_value().or_else(|| parameter.parameter_value())?;
    (value != HIDDEN).then(|| (parameter.parameter_key().unwrap_or_default().to_owned(), value.to_owned()))
}

fn resource(summary: StackResourceSummary) -> Option<Resource> {
    let (id, kind, physical) =
        (summary.logical_resource_id?, summary.resource_type?, summary.physical_resource_id?);
    (!physical.is_empty()).then_some(Resource { id, kind, physical })
}

async fn text(aws: &Aws, stack: &str) -> anyhow::Result<String> {
    let template =
        aws.cloudformation().get_template().stack_name(stack).template_stage(TemplateStage::Original);
    let template = template.send().await;
    let template =
        template.describe_error(&format!("read the template of {stack}"), "cloudformation:GetTemplate")?;
    template.template_body.with_context(|| format!("CloudFormation has no template of {stack}"))
}
