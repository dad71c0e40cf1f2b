//! What is no longer as it was deployed.

use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::All;
use crate::subject::Drift;

pub(in crate::doctor) const STACK_DRIFTS: Check = Check {
    code: "stack-drifts",
    level: Level::Warning,
    title: "What is deployed differs from the stack's template",
    why: All(
        "The next deployment that touches the resource reverts a manual change, and until then the template is \
          misleading. redrive doctor judges what is deployed.",
    ),
    link: "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html",
    fix: All("Make the same change in the template and deploy it, or set the resource back."),
    find: |subject| {
        let found = |drift: &Drift| Found::at(drift, format!("{}.", drift.what));
        subject.drift.iter().map(found).collect()
    },
};
