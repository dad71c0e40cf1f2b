//! Values of a template's parameters: given ones, else defaults, validated as CloudFormation does.

use std::collections::BTreeMap;

use redrive_sqs::Quoted;

use crate::document::{Node, TemplateError, Value};
use crate::nearest::or_known;
use crate::resolve::Gaps;

/// Parameters that CloudFormation gives to every template, if their values can be given beforehand.
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/pseudo-parameter-reference.html>
pub(crate) const PSEUDO: [&str; 5] =
    ["AWS::AccountId", "AWS::Partition", "AWS::Region", "AWS::StackName", "AWS::URLSuffix"];

/// Returns true for CloudFormation's own parameters, which no template declares.
pub fn is_pseudo(name: &str) -> bool {
    PSEUDO.contains(&name)
}

pub(crate) type Parameters = BTreeMap<String, Value>;

/// Returns every declared parameter with its value: a text, or a list for the list types.
///
/// Ignores `AllowedPattern`. A parameter without a value is [`Value::Unknown`]. CloudFormation's own are included if they were given.
pub(crate) fn check(
    template: &Node,
    given: &[(String, String)],
    gaps: Gaps,
) -> Result<Parameters, TemplateError> {
    let declared = template.entries_at("Parameters");
    // `redrive local` has its own account and region.
    let is_pseudo = |name: &str| gaps == Gaps::Kept && is_pseudo(name);
    if let Some((unknown, _)) =
        given.iter().find(|(name, _)| !is_pseudo(name) && !declared.iter().any(|(known, _)| known == name))
    {
        let known: Vec<&str> = declared.iter().map(|(name, _)| name.as_str()).collect();
        let place = template.get("Parameters").unwrap_or(template);
        let what = match known.as_slice() {
            [] => "; the template declares no parameters".to_owned(),
            known => or_known(unknown, known),
        };
        return Err(place.error(format!("no parameter {unknown}{what}")));
    }
    let pseudo = given.iter().filter(|(name, _)| is_pseudo(name));
    let pseudo = pseudo.map(|(name, text)| Ok((name.clone(), Value::Text(text.clone()))));
    let declared = declared.iter().map(|(name, parameter)| {
        // As with most commands, the last given value wins.
        let given = given.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let default = parameter.get("Default").map(|default| default.as_text().unwrap_or_default());
        let is_kept_elsewhere = gaps != Gaps::Filled && kind(parameter).starts_with("AWS::SSM::");
        let text = match (given, default) {
            (Some(text), _) => text,
            (None, Some(text)) if !is_kept_elsewhere => text,
            (None, default) => {
                let why = default.map_or("has no default", |_| "is read from SSM");
                let why = format!("{name} {why}: pass --parameter {name}=VALUE");
                return Ok((name.clone(), Value::Unknown(parameter.error(why))));
            }
        };
        Ok((name.clone(), read(name, parameter, text)?))
    });
    declared.chain(pseudo).collect()
}

/// Reads a text or a list, if the parameter allows it.
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html>
pub(crate) fn read(name: &str, parameter: &Node, text: &str) -> Result<Value, TemplateError> {
    let refuse =
        |allowed: String| Err(parameter.error(format!("{name} is {}, allowed: {allowed}", Quoted(text))));
    if let Some(allowed) = parameter.get("AllowedValues").and_then(Node::as_list) {
        let allowed: Vec<&str> = allowed.iter().filter_map(Node::as_text).collect();
        // Each item of a list must be allowed.
        let wrong = match value(parameter, text) {
            Value::List(items) => {
                items.iter().any(|item| !item.as_text().is_some_and(|it| allowed.contains(&it)))
            }
            _ => !allowed.contains(&text),
        };
        if wrong {
            return refuse(allowed.join(", "));
        }
    }
    let bound = |key: &str| parameter.text_at(key)?.parse::<f64>().ok();
    let (measure, least, most, unit) = match kind(parameter) {
        "Number" => match text.parse::<f64>() {
            Ok(number) => (number, bound("MinValue"), bound("MaxValue"), ""),
            Err(_) => return refuse("a number".to_owned()),
        },
        _ => (text.chars().count() as f64, bound("MinLength"), bound("MaxLength"), " character"),
    };
    let of = |bound: f64| format!("{bound}{unit}{}", if unit.is_empty() || bound == 1.0 { "" } else { "s" });
    match (least, most) {
        (Some(least), Some(most)) if measure < least || measure > most => {
            refuse(format!("{least} to {}", of(most)))
        }
        (Some(least), _) if measure < least => refuse(format!("at least {}", of(least))),
        (_, Some(most)) if measure > most => refuse(format!("at most {}", of(most))),
        _ => Ok(value(parameter, text)),
    }
}

fn value(parameter: &Node, text: &str) -> Value {
    if kind(parameter) == "CommaDelimitedList" || kind(parameter).starts_with("List<") {
        return Value::List(text.split(',').map(|item| Node::text(parameter.line, item.trim())).collect());
    }
    Value::Text(text.to_owned())
}

fn kind(parameter: &Node) -> &str {
    parameter.text_at("Type").unwrap_or("String")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    const TEMPLATE: &str = "
Parameters:
  Size: {Type: Number, Default: 10, MinValue: 1, MaxValue: 20}
  Kind: {Type: String, Default: a, AllowedValues: [a, b]}
  Name: {Type: String, MinLength: 2}
  Mark: {Type: String, Default: a, MinLength: 1}
  Sign: {Type: String, Default: a, MaxLength: 1}
  Zones: {Type: CommaDelimitedList, Default: 'x, y'}
";

    fn check_with(given: &[(&str, &str)]) -> Result<Parameters, TemplateError> {
        let given: Vec<_> =
            given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        check(&parse(TEMPLATE).unwrap(), &given, Gaps::Settable)
    }

    #[test]
    fn given_values_win_over_defaults() {
        let parameters = check_with(&[("Name", "me"), ("Size", "3"), ("Size", "4")]).unwrap();
        assert!(matches!(&parameters["Size"], Value::Text(text) if text == "4"));
        assert!(matches!(&parameters["Kind"], Value::Text(text) if text == "a"));
        assert!(matches!(&parameters["Zones"], Value::List(items) if items.len() == 2));
    }

    #[test]
    fn a_parameter_without_a_value_is_unknown_until_something_needs_it() {
        let parameters = check_with(&[]).unwrap();
        let Value::Unknown(why) = &parameters["Name"] else { panic!("expected no value") };
        assert_eq!(why.message, "Name has no default: pass --parameter Name=VALUE");
    }

    #[test]
    fn a_value_that_is_not_allowed_is_refused_with_the_allowed_ones() {
        for (given, line, message) in [
            (&[("Name", "me"), ("Size", "21")][..], 3, "Size is \"21\", allowed: 1 to 20"),
            (&[("Name", "me"), ("Size", "many")], 3, "Size is \"many\", allowed: a number"),
            (&[("Name", "me"), ("Kind", "c")], 4, "Kind is \"c\", allowed: a, b"),
            (&[("Name", "m")], 5, "Name is \"m\", allowed: at least 2 characters"),
            (&[("Name", "me"), ("Mark", "")], 6, "Mark is \"\", allowed: at least 1 character"),
            (&[("Name", "me"), ("Sign", "ab")], 7, "Sign is \"ab\", allowed: at most 1 character"),
            (&[("Nmae", "me")], 3, "no parameter Nmae; did you mean Name?"),
            (&[("Color", "red")], 3, "no parameter Color; known: Size, Kind, Name, Mark, Sign, Zones"),
        ] {
            let error = check_with(given).unwrap_err();
            assert_eq!((error.line, error.message.as_str()), (line, message));
        }
    }
}
