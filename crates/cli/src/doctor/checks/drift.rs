//! Resources that were changed after their deployment.

use redrive_iac::deployment::Drift;

use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::All;

pub(in crate::doctor) const STACK_DRIFTS: Check = Check {
    code: "stack-drifts",
    level: Level::Warning,
    title: "The deployed resources differ from the stack's template",
    why: All(
        "The change lasts only until the next deployment, which may revert it. redrive doctor checks what is deployed.",
    ),
    link: "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html",
    fix: All(
        "Make the same change in the template and deploy it, or set the resource back to its value in the template.",
    ),
    find: |deployment| {
        let found = |drift: &Drift| Found::at(drift, format!("{}.", drift.what));
        deployment.drift.iter().map(found).collect()
    },
};
