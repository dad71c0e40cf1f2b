//! What is told of one subject.

use super::accept::Acceptance;
use super::checks::ALL;
use super::finding::{Counts, Finding};
use super::flags::Chosen;
use crate::subject::Subject;

#[derive(Debug)]
pub(super) struct Report {
    pub(super) subject: Subject,
    /// Errors first, else in the order of the checks.
    pub(super) findings: Vec<Finding>,
    /// Those that the template accepts, with its reasons.
    pub(super) accepted: Vec<(Finding, String)>,
    /// What the template accepts without need.
    pub(super) not_found: Vec<Acceptance>,
}

impl Report {
    pub(super) fn new(subject: Subject, chosen: &Chosen, acceptances: Vec<Acceptance>) -> Self {
        let (mut findings, mut accepted) = (Vec::new(), Vec::new());
        let mut is_found = vec![false; acceptances.len()];
        for finding in judge(&subject) {
            match acceptances.iter().position(|it| it.accepts(&finding)) {
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
        Self { subject, findings, accepted, not_found }
    }

    pub(super) fn counts(&self) -> Counts {
        Counts::of(&self.findings)
    }
}

/// All that is wrong.
pub(super) fn judge(subject: &Subject) -> Vec<Finding> {
    let mut findings: Vec<Finding> = ALL.iter().flat_map(|check| check.findings(subject)).collect();
    findings.sort_by_key(|finding| finding.check.level);
    findings
}
