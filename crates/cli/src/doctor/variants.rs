//! Checks a template with other values of its parameters too, if resources or properties depend on them.

use std::collections::HashSet;
use std::path::Path;

use redrive_iac::deployment::{Deployment, MayHold, NotRead};
use redrive_iac::{Absent, Varying};

use super::were;
use crate::shell::word;
use crate::target::Target;

/// Sets of values to read beside the defaults.
const MOST: usize = 12;
/// Resources to name in a line.
const NAMED: usize = 3;

/// A template as it is with other values of its parameters.
#[derive(Debug)]
pub(super) struct Variant {
    /// `Stage=prod`.
    pub(super) values: String,
    pub(super) deployment: Deployment,
}

/// Reads the template with other values that it names itself. The deployment reports resources that exist with none of them.
pub(super) fn read(deployment: &mut Deployment, target: &Target, otherwise: &Path) -> Vec<Variant> {
    let (mut variants, mut tried_values) = (Vec::new(), Vec::new());
    let read_with = |values: &[(String, String)]| {
        let parameters = [&target.parameters[..], values].concat();
        Target { parameters, ..target.clone() }.read(Some(otherwise))
    };
    for _ in 0..MOST {
        let Some(values) = deployment.absent.iter().find_map(|it| it.values.clone()) else { break };
        let read = read_with(&values);
        tried_values.push(values.clone());
        let is_missing: HashSet<String> = match &read {
            Ok(Some(read)) => read.absent.iter().map(|it| it.id.clone()).collect(),
            _ => deployment.absent.iter().map(|it| it.id.clone()).collect(),
        };
        let before = deployment.absent.len();
        deployment.absent.retain(|it| is_missing.contains(&it.id));
        // The resources that remain were tried with these values.
        let tried = deployment.absent.iter_mut().filter(|it| it.values.as_ref() == Some(&values));
        tried.for_each(|it| it.values = None);
        if let Ok(Some(read)) = read {
            let values = written(&values);
            let added = before - deployment.absent.len();
            let exist = if added == 1 { "exists" } else { "exist" };
            let added = were(added);
            let added = added.rsplit_once(' ').map_or(added.as_str(), |(added, _)| added);
            deployment.notes.push(format!("also checked with {values}: {added} {exist} only then"));
            variants.push(Variant { values, deployment: read });
        }
    }
    // Resources that exist may have other properties.
    let (mut with, mut others) = (Vec::new(), Vec::new());
    for at in 0..deployment.varying.len() {
        let Some(values) = deployment.varying[at].values.clone() else { continue };
        if variants.len() == MOST || tried_values.contains(&values) {
            continue;
        }
        if let Ok(Some(read)) = read_with(&values) {
            let same = deployment.varying.iter().filter(|it| it.values.as_ref() == Some(&values));
            for name in same.map(called) {
                if !others.contains(&name) {
                    others.push(name);
                }
            }
            let values = written(&values);
            with.push(values.clone());
            variants.push(Variant { values, deployment: read });
        }
        tried_values.push(values);
    }
    if !with.is_empty() {
        let (with, have) =
            (with.join(" or "), if others.len() == 1 { "has another value" } else { "have other values" });
        deployment.notes.push(format!("also checked with {with}: {} {have} then", some_of(&others)));
    }
    deployment.varying.retain(|it| it.values.as_ref().is_none_or(|values| !tried_values.contains(values)));
    let known: HashSet<&str> = deployment.lines_not_read().into_iter().collect();
    let more = variants.iter().flat_map(|variant| {
        let more = variant.deployment.not_seen.iter().filter(|unseen| !known.contains(unseen.what.as_str()));
        more.map(|unseen| unseen.clone().worded(|what| format!("with {}: {what}", variant.values)))
    });
    let absent = lines(&deployment.absent).into_iter().chain(lines_of_varying(&deployment.varying));
    let more: Vec<NotRead> = more.chain(absent.map(|line| NotRead::new(MayHold::Consumer, line))).collect();
    deployment.not_seen.extend(more);
    variants
}

/// Returns true if it is unknown whether a resource exists, or if it exists with other values.
pub(super) fn is_unchecked(absent: &Absent) -> bool {
    absent.is_doubtful || !absent.parameters.is_empty()
}

/// Returns a line for each set of parameters. Resources with unknown conditions are reported elsewhere.
fn lines(absent: &[Absent]) -> Vec<String> {
    let mut sets: Vec<(&Absent, Vec<&str>)> = Vec::new();
    for it in absent.iter().filter(|it| is_unchecked(it) && !it.is_doubtful) {
        match sets.iter_mut().find(|(one, _)| (&one.parameters, &one.values) == (&it.parameters, &it.values))
        {
            Some((_, ids)) => ids.push(&it.id),
            None => sets.push((it, vec![&it.id])),
        }
    }
    sets.iter().map(|(one, ids)| line(one, ids)).collect()
}

/// Returns a line for each set of parameters.
fn lines_of_varying(varying: &[Varying]) -> Vec<String> {
    let mut sets: Vec<(&Varying, Vec<String>)> = Vec::new();
    for it in varying {
        let same =
            |(one, _): &&mut (&Varying, _)| (&one.parameters, &one.values) == (&it.parameters, &it.values);
        match sets.iter_mut().find(same) {
            Some((_, names)) if names.last() == Some(&called(it)) => {}
            Some((_, names)) => names.push(called(it)),
            None => sets.push((it, vec![called(it)])),
        }
    }
    let line = |(one, names): &(&Varying, Vec<String>)| {
        let of = one.parameters.join(" and ");
        format!(
            "{} with another value of {of}: pass {}",
            some_of(names),
            flags(&one.parameters, one.values.as_deref())
        )
    };
    sets.iter().map(line).collect()
}

/// `VisibilityTimeout of Orders`.
fn called(Varying { id, property, .. }: &Varying) -> String {
    format!("{property} of {id}")
}

/// `Stage=prod, Size=5`.
fn written(values: &[(String, String)]) -> String {
    let values: Vec<_> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
    values.join(", ")
}

fn some_of(names: &[String]) -> String {
    match names {
        names if names.len() <= NAMED => names.join(", "),
        names => format!("{} and {} more", names[..NAMED - 1].join(", "), names.len() + 1 - NAMED),
    }
}

fn flags(parameters: &[String], values: Option<&[(String, String)]>) -> String {
    let flags: Vec<_> = match values {
        Some(values) => {
            values.iter().map(|(name, value)| format!("--parameter {name}={}", word(value))).collect()
        }
        None => parameters.iter().map(|name| format!("--parameter {name}=VALUE")).collect(),
    };
    flags.join(" ")
}

fn line(Absent { parameters, values, .. }: &Absent, ids: &[&str]) -> String {
    let names = some_of(&ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
    let flags = flags(parameters, values.as_deref());
    let (exist, of) = (if ids.len() == 1 { "exists" } else { "exist" }, parameters.join(" and "));
    let resources = crate::counted::counted(ids.len(), "resource");
    format!("{resources} ({names}) {exist} only with another value of {of}: pass {flags}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absent(id: &str, parameters: &[&str], values: Option<&[(&str, &str)]>) -> Absent {
        let own = |text: &&str| (*text).to_owned();
        let pair = |(name, value): &(&str, &str)| (own(name), own(value));
        Absent {
            id: id.to_owned(),
            parameters: parameters.iter().map(own).collect(),
            values: values.map(|values| values.iter().map(pair).collect()),
            is_doubtful: false,
        }
    }

    #[test]
    fn properties_that_were_not_tried_are_named_once() {
        let varying = |property: &str, parameter: &str, value: Option<&str>| Varying {
            id: "Orders".to_owned(),
            property: property.to_owned(),
            parameters: vec![parameter.to_owned()],
            values: value.map(|value| vec![(parameter.to_owned(), value.to_owned())]),
        };
        let all = [
            varying("VisibilityTimeout", "Existing", None),
            varying("VisibilityTimeout", "Existing", None),
            varying("RedrivePolicy", "Existing", None),
            varying("VisibilityTimeout", "Stage", Some("prod")),
        ];
        assert_eq!(
            lines_of_varying(&all),
            [
                "VisibilityTimeout of Orders, RedrivePolicy of Orders with another value of Existing: \
                 pass --parameter Existing=VALUE",
                "VisibilityTimeout of Orders with another value of Stage: pass --parameter Stage=prod",
            ]
        );
    }

    #[test]
    fn unchecked_resources_are_counted_by_parameters() {
        let absent = [
            absent("A", &["Stage"], Some(&[("Stage", "prod")])),
            absent("B", &["Existing"], None),
            absent("C", &["Stage"], Some(&[("Stage", "prod")])),
            absent("D", &[], None),
            Absent { is_doubtful: true, ..absent("E", &[], None) },
            absent("F", &["One", "Two"], None),
        ];
        assert_eq!(
            lines(&absent),
            [
                "2 resources (A, C) exist only with another value of Stage: pass --parameter Stage=prod",
                "1 resource (B) exists only with another value of Existing: pass --parameter Existing=VALUE",
                "1 resource (F) exists only with another value of One and Two: pass --parameter One=VALUE \
                 --parameter Two=VALUE",
            ]
        );
        assert_eq!(absent.iter().filter(|it| is_unchecked(it)).count(), 5);
        let many = ["A", "B", "C", "D"];
        assert!(line(&absent[0], &many).starts_with("4 resources (A, B and 2 more) exist "));
    }
}
