//! The report on one deployment.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

use redrive_iac::Absent;
use redrive_iac::deployment::{Deployment, Function};
use serde_json::{Value, json};

use super::accept::Acceptance;
use super::checks::ALL;
use super::finding::{Counts, Finding};
use super::flags::Chosen;
use super::variants::{Variant, is_unchecked};
use crate::counted::counted;

#[derive(Debug)]
pub(super) struct Report {
    pub(super) deployment: Deployment,
    /// The same template with other values of its parameters.
    variants: Vec<Variant>,
    /// Errors first, else in the order of the checks.
    pub(super) findings: Vec<Finding>,
    /// Findings that the template accepts, with its reasons.
    pub(super) accepted: Vec<(Finding, String)>,
    /// Acceptances that match no finding.
    pub(super) not_found: Vec<Acceptance>,
}

impl Report {
    pub(super) fn new(
        deployment: Deployment,
        variants: Vec<Variant>,
        chosen: &Chosen,
        acceptances: Vec<Acceptance>,
    ) -> Self {
        let (mut findings, mut accepted) = (Vec::new(), Vec::new());
        let mut is_found = vec![false; acceptances.len()];
        let mut places = HashMap::new();
        for (at, acceptance) in acceptances.iter().enumerate() {
            places.entry(acceptance.key()).or_insert(at);
        }
        for finding in check_variants(&deployment, &variants) {
            match places.get(&Acceptance::key_of(&finding)).copied() {
                Some(which) => {
                    is_found[which] = true;
                    accepted.push((finding, acceptances[which].reason.clone()));
                }
                None => findings.push(finding),
            }
        }
        findings.retain(|finding| chosen.has(finding.check.code));
        accepted.retain(|(finding, _)| chosen.has(finding.check.code));
        let not_found = acceptances.into_iter().zip(is_found).filter(|(_, is_found)| !is_found);
        let not_found = not_found.map(|(acceptance, _)| acceptance).collect();
        Self { deployment, variants, findings, accepted, not_found }
    }

    pub(super) fn counts(&self) -> Counts {
        Counts::of(&self.findings)
    }

    /// Returns true if nothing receives from a queue, whatever the values of parameters.
    pub(super) fn is_idle(&self) -> bool {
        self.deployment.is_idle() && self.variants.iter().all(|variant| variant.deployment.is_idle())
    }

    /// Returns what was checked, with all values of parameters that were tried.
    pub(super) fn checked(&self) -> Checked {
        let mut checked = Checked::default();
        for deployment in self.variants.iter().map(|variant| &variant.deployment).chain([&self.deployment]) {
            checked.add(deployment);
        }
        checked
    }

    /// Returns resources that may exist, but were not checked.
    pub(super) fn unchecked(&self) -> impl Iterator<Item = &Absent> {
        self.deployment.absent.iter().filter(|it| is_unchecked(it))
    }
}

/// Ids of the queues, functions and workers that were checked.
#[derive(Debug, Default)]
pub(super) struct Checked {
    queues: BTreeSet<String>,
    functions: BTreeSet<String>,
    workers: BTreeSet<String>,
}

impl Checked {
    fn add(&mut self, deployment: &Deployment) {
        let fed = |function: &&Function| {
            deployment.mappings.iter().any(|it| it.function.as_deref() == Some(function.name.as_str()))
        };
        self.queues.extend(deployment.queues.iter().map(|queue| queue.id.clone()));
        self.functions.extend(deployment.functions.iter().filter(fed).map(|it| it.id.clone()));
        self.workers.extend(deployment.workers.iter().map(|worker| worker.id.clone()));
    }

    /// Adds what was checked of another deployment, whose ids `name` tells from others.
    pub(super) fn and(mut self, name: &str, other: Self) -> Self {
        let own = |it: String| format!("{name} {it}");
        self.queues.extend(other.queues.into_iter().map(own));
        self.functions.extend(other.functions.into_iter().map(own));
        self.workers.extend(other.workers.into_iter().map(own));
        self
    }

    pub(super) fn to_json(&self) -> Value {
        let Self { queues, functions, workers } = self;
        json!({ "queues": queues.len(), "functions": functions.len(), "workers": workers.len() })
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queues = counted(self.queues.len(), "queue");
        let functions = counted(self.functions.len(), "function");
        write!(f, "{queues}, {functions}, {}", counted(self.workers.len(), "worker"))
    }
}

/// Returns all findings, also with other values of parameters.
fn check_variants(deployment: &Deployment, variants: &[Variant]) -> Vec<Finding> {
    let mut findings = run_checks(deployment);
    let key = |finding: &Finding| (finding.check.code, finding.found.id.clone());
    let mut known: HashSet<_> = findings.iter().map(key).collect();
    for Variant { values, deployment } in variants {
        let more: Vec<_> =
            run_checks(deployment).into_iter().filter(|it| !known.contains(&key(it))).collect();
        known.extend(more.iter().map(key));
        findings.extend(more.into_iter().map(|finding| finding.only_with(values)));
    }
    findings.sort_by_key(|finding| finding.check.level);
    findings
}

/// Runs all checks. Returns errors first.
pub(super) fn run_checks(deployment: &Deployment) -> Vec<Finding> {
    let find = || ALL.iter().flat_map(|check| check.findings(deployment)).collect();
    let mut findings: Vec<Finding> = deployment.indexed(find);
    findings.sort_by_key(|finding| finding.check.level);
    findings
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::path::Path;

    use super::*;
    use redrive_iac::deployment::template::{Source, read};

    /// Returns the lookups for a template with this many queues, each with a dead-letter queue, a function and an alarm.
    fn steps(queues: usize) -> u64 {
        let mut text = "Resources:\n".to_owned();
        for at in 0..queues {
            writeln!(
                text,
                "  Q{at}: {{Type: AWS::SQS::Queue, Properties: {{RedrivePolicy: {{deadLetterTargetArn: !GetAtt D{at}.Arn, maxReceiveCount: 3}}}}}}
  D{at}: {{Type: AWS::SQS::Queue}}
  W{at}:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: provided.al2023
      Environment: {{Variables: {{REDRIVE_BACKOFF: x}}}}
      DeadLetterQueue: {{TargetArn: !GetAtt D{at}.Arn}}
      Events: {{Q: {{Type: SQS, Properties: {{Queue: !GetAtt Q{at}.Arn}}}}}}
  A{at}:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Namespace: AWS/SQS
      MetricName: ApproximateAgeOfOldestMessage
      Dimensions: [{{Name: QueueName, Value: !GetAtt D{at}.QueueName}}]
      TreatMissingData: breaching
      ComparisonOperator: GreaterThanThreshold
      Threshold: 1"
            )
            .expect("a text takes all");
        }
        let deployment = read(&Source::new(Path::new("t.yaml"), &text, &[])).expect("it is a template");
        assert!(run_checks(&deployment).len() > 5 * queues);
        deployment.index.steps()
    }

    #[test]
    fn twice_as_many_queues_take_twice_as_many_steps() {
        let (one, two) = (steps(40), steps(80));
        assert!(one > 40 * 20 && two < one * 5 / 2, "{one}, then {two}");
    }
}
