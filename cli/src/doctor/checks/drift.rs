//! What is no longer as it was deployed.

use crate::doctor::finding::{Check, Found, Level};

pub(in crate::doctor) const STACK_DRIFTS: Check = Check {
    code: "stack-drifts",
    level: Level::Warning,
    title: "What is deployed is not what the stack's template says",
    why: "A change that was made by hand is gone with the next deployment that touches the resource, and until then the \
          template misleads whoever reads it. What is deployed is what was judged here.",
    link: "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html",
    mend: "Carry the change over to the template and deploy it, or set the resource back.",
    find: |subject| {
        let found = |drift: &crate::subject::Drift| Found {
            what: format!("{}.", drift.what),
            file: None,
            line: None,
            id: drift.id.clone(),
        };
        subject.drift.iter().map(found).collect()
    },
};
