//! Reads containers of `AWS::ECS::TaskDefinition` that poll a queue.
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-ecs-taskdefinition-containerdefinition.html>

use std::collections::BTreeMap;

pub(super) use super::super::worker::QUEUE_URL;
use super::super::{Platform, Process, Queue, Seen, Worker};
use super::look::{Look, Notes};
use super::roles::Roles;
use crate::{Node, Resolver};

const KIND: &str = "AWS::ECS::TaskDefinition";

/// Reads the workers. A task that may not exist gets no note.
pub(super) fn read(
    resolver: &Resolver<'_>,
    queues: &[Queue],
    roles: &Roles<'_>,
    notes: &Notes,
) -> Vec<Worker> {
    let mut workers = Vec::new();
    for task in &resolver.resources(&[KIND]).0 {
        let look = Look::at(task, notes);
        let containers = task.properties.items_at("ContainerDefinitions");
        let containers: Vec<_> = containers.iter().filter(|container| polls(container)).collect();
        let statements = if containers.is_empty() { None } else { roles.of_task(look) };
        for container in &containers {
            let id = match (&containers[..], container.text_at("Name")) {
                ([_, _, ..], Some(name)) => format!("{}.{name}", task.id),
                _ => task.id.clone(),
            };
            let look = Look { node: container, ..look };
            let mut worker = Worker {
                process: Process { statements: statements.clone(), ..process(look) },
                platform: Platform::Ecs,
                queue_arn: None,
                grace_period: look.seconds("StopTimeout").or(Platform::GRACE_PERIOD),
                probes: Vec::new(),
                line: Some(container.line),
                id,
            };
            let url = worker.queue_url();
            let queue = url.and_then(|url| queues.iter().find(|queue| queue.may_be_at(url)));
            if let (Some(url), None) = (url, queue) {
                notes.add(
                    &task.id,
                    format!("the queue of {}", worker.id),
                    format!("{url} is not in this template"),
                );
            }
            worker.queue_arn = queue.map(|queue| queue.arn.clone());
            workers.push(worker);
        }
    }
    workers
}

pub(super) fn polls(container: &Node) -> bool {
    let named = |list: &str| container.items_at(list);
    named("Environment").iter().chain(named("Secrets")).any(|it| name(it) == QUEUE_URL)
}

fn name(variable: &Node) -> &str {
    variable.text_at("Name").unwrap_or_default()
}

fn process(look: Look<'_>) -> Process {
    let list = |name: &str| match look.part(name) {
        Seen::There(list) => (list.items(), false),
        Seen::Absent => (&[][..], false),
        Seen::Unknown => (&[][..], true),
    };
    let ((plain, may_have_more), (secret, may_have_others)) = (list("Environment"), list("Secrets"));
    let value = |variable: &Node| {
        let value = variable.get("Value");
        if let Some(why) = value.and_then(Node::unknown).filter(|_| name(variable).starts_with("REDRIVE_")) {
            look.note(name(variable), &why.message);
        }
        value.and_then(Node::as_text).map(str::to_owned)
    };
    let secrets = secret.iter().map(|variable| (name(variable).to_owned(), None));
    let environment: BTreeMap<_, _> =
        plain.iter().map(|variable| (name(variable).to_owned(), value(variable))).chain(secrets).collect();
    Process {
        environment: Some(environment),
        has_more_variables: may_have_more || may_have_others || !look.part("EnvironmentFiles").is_absent(),
        statements: None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::super::{Source, read};
    use super::*;
    use crate::deployment::Deployment;

    fn deployment(container: &str, task: &str) -> Deployment {
        let text = format!(
            "Resources:
  Q: {{Type: AWS::SQS::Queue}}
  Role: {{Type: AWS::IAM::Role, Properties: {{Policies: [{{PolicyDocument: {{Statement: [{{Effect: Allow, Action: 'ecs:*', Resource: '*'}}]}}}}]}}}}
  Task:
    Type: AWS::ECS::TaskDefinition
    Properties:
      {task}
      ContainerDefinitions:
        - {{Name: sidecar, Image: x}}
        - {{Name: work, {container}}}
"
        );
        read(&Source::new(Path::new("t.yaml"), &text, &[])).unwrap()
    }

    #[test]
    fn a_container_with_a_queue_is_a_worker_and_others_are_not() {
        let found = deployment(
            "Environment: [{Name: REDRIVE_QUEUE_URL, Value: !Ref Q}], StopTimeout: 40",
            "TaskRoleArn: !GetAtt Role.Arn",
        );
        let [worker] = &found.workers[..] else { panic!("expected one worker") };
        assert_eq!((worker.id.as_str(), worker.grace_period), ("Task", Some(Duration::from_secs(40))));
        assert_eq!(found.polled_by(worker).unwrap().id, "Q");
        assert_eq!(worker.process.may_somewhere("ecs:UpdateTaskProtection"), Some(true));
        assert_eq!(found.lines_not_read(), Vec::<&str>::new());
        assert_eq!(deployment("Environment: [{Name: TABLE, Value: a}]", "Cpu: 256").workers.len(), 0);
    }

    #[test]
    fn variables_from_elsewhere_are_unknown() {
        let secret = "{Name: REDRIVE_QUEUE_URL, ValueFrom: 'arn:aws:ssm:::parameter/queue'}";
        let found = deployment(&format!("Secrets: [{secret}], EnvironmentFiles: [{{Value: x}}]"), "Cpu: 256");
        let worker = &found.workers[0];
        let of = |name: &str| worker.process.variable(name);
        assert_eq!((of(QUEUE_URL), of("REDRIVE_DRAIN")), (Seen::Unknown, Seen::Unknown));
        assert_eq!((worker.grace_period, &worker.queue_arn), (Some(Platform::GRACE_PERIOD), &None));
        assert_eq!(
            worker.process.may_somewhere("sqs:ReceiveMessage"),
            None,
            "the instance's role may allow it"
        );
        let fargate = deployment(&format!("Secrets: [{secret}]"), "RequiresCompatibilities: [FARGATE]");
        assert_eq!(fargate.workers[0].process.may_somewhere("sqs:ReceiveMessage"), Some(false));
    }

    #[test]
    fn a_queue_of_another_template_is_named() {
        let url = "https://sqs.eu-west-1.amazonaws.com/123456789012/others";
        let found =
            deployment(&format!("Environment: [{{Name: REDRIVE_QUEUE_URL, Value: '{url}'}}]"), "Cpu: 256");
        assert!(
            found
                .lines_not_read()
                .contains(&format!("the queue of Task: {url} is not in this template").as_str()),
            "{:?}",
            found.lines_not_read()
        );
    }
}
