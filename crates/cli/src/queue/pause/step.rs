//! Decides the next step for a mapping by its state. Pure.
//! <https://docs.aws.amazon.com/lambda/latest/api/API_UpdateEventSourceMapping.html>

/// The wanted state of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Disabled,
    Enabled,
}

impl Wanted {
    /// Returns Lambda's name for it.
    pub(super) fn state(self) -> &'static str {
        match self {
            Self::Disabled => "Disabled",
            Self::Enabled => "Enabled",
        }
    }

    pub(super) fn doing(self) -> &'static str {
        match self {
            Self::Disabled => "disabling",
            Self::Enabled => "enabling",
        }
    }

    /// Returns advice if workers poll the queue and not Lambda.
    pub(super) fn for_workers(self) -> &'static str {
        match self {
            Self::Disabled => {
                "to stop workers, pause their autoscaling, then set the ECS service's desired count or the Deployment's \
                 replicas to 0"
            }
            Self::Enabled => {
                "to start workers, raise the ECS service's desired count or the Deployment's replicas, then resume their \
                 autoscaling"
            }
        }
    }

    /// Returns the command's name for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Disabled => "pause",
            Self::Enabled => "resume",
        }
    }

    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Disabled => "disable",
            Self::Enabled => "enable",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Done,
    Request,
    Wait,
    Fail(&'static str),
}

/// Decides the step. A mapping in transition cannot be changed. After a request, it may show its old state for a moment.
pub(super) fn step(state: &str, wanted: Wanted, is_requested: bool) -> Step {
    match state {
        state if state == wanted.state() => Step::Done,
        "Deleting" => Step::Fail("is being deleted"),
        "Enabled" | "Disabled" if !is_requested => Step::Request,
        _ => Step::Wait,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_asked_once_and_only_while_it_can_change() {
        for (state, wanted, is_requested, expected) in [
            ("Enabled", Wanted::Disabled, false, Step::Request),
            ("Enabled", Wanted::Disabled, true, Step::Wait),
            ("Disabling", Wanted::Disabled, true, Step::Wait),
            ("Disabled", Wanted::Disabled, true, Step::Done),
            ("Disabled", Wanted::Disabled, false, Step::Done),
            ("Creating", Wanted::Disabled, false, Step::Wait),
            ("Updating", Wanted::Enabled, false, Step::Wait),
            ("Disabling", Wanted::Enabled, false, Step::Wait),
            ("Disabled", Wanted::Enabled, false, Step::Request),
            ("Deleting", Wanted::Enabled, false, Step::Fail("is being deleted")),
        ] {
            assert_eq!(step(state, wanted, is_requested), expected, "{state} {wanted:?} {is_requested}");
        }
    }
}
