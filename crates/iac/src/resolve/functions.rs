//! Evaluates the functions that return a value.
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html>

use super::{Gaps, Resolver, Result, STEP};
use crate::document::{Node, Value};

impl Resolver<'_> {
    /// Evaluates a function. Returns `None` for `AWS::NoValue`.
    pub(super) fn call(&self, function: &str, argument: &Node) -> Result<Option<Node>> {
        let line = argument.line;
        let text = |text: String| Ok(Some(Node::text(line, text)));
        match function {
            "Ref" => self.reference(argument),
            "Fn::GetAtt" => self.attribute(argument),
            "Fn::Sub" => text(self.substitute(argument)?),
            "Fn::If" => {
                let [condition, yes, no] = self.arguments(function, argument)?;
                let chosen = if self.named_condition(condition)? { yes } else { no };
                Ok(self.value(chosen))
            }
            "Fn::Join" => {
                let [separator, items] = self.arguments(function, argument)?;
                let (items, separator) = (self.texts(items)?, self.text(separator)?);
                self.step(argument, separator.len() * items.len() / STEP)?;
                text(items.join(&separator))
            }
            "Fn::Split" => {
                let [separator, whole] = self.arguments(function, argument)?;
                let (separator, whole) = (self.text(separator)?, self.text(whole)?);
                let parts = whole.split(&separator).map(|part| Node::text(line, part)).collect();
                Ok(Some(Node { line, value: Value::List(parts) }))
            }
            "Fn::Select" => {
                let [index, items] = self.arguments(function, argument)?;
                let (index, items) = (self.text(index)?, self.texts(items)?);
                let item = index.parse::<usize>().ok().and_then(|index| items.get(index));
                text(
                    item.ok_or_else(|| {
                        argument.error(format!("Fn::Select {index} of {} items", items.len()))
                    })?
                    .clone(),
                )
            }
            "Fn::FindInMap" => self.find_in_map(argument).map(Some),
            // Readers need the text itself, not its encoding.
            "Fn::Base64" if self.gaps == Gaps::Kept => Ok(self.value(argument)),
            "Fn::Equals" | "Fn::Not" | "Fn::And" | "Fn::Or" | "Fn::Contains" => {
                text(self.call_condition(function, argument)?.to_string())
            }
            "Fn::ImportValue" => {
                let name = self.text(argument)?;
                let why = format!("the export {name} of another stack is known only at deployment");
                text(self.beyond(argument, &name, why, || Ok(name.clone()))?)
            }
            "Fn::ToJsonString" => {
                let value = self.value(argument);
                let value = value.ok_or_else(|| argument.error("the value is missing"))?;
                match value.first_unknown() {
                    Some(why) => Err(why.clone()),
                    None => text(value.to_json().to_string()),
                }
            }
            other => Err(argument.error(format!("{other} is not supported here"))),
        }
    }

    /// Replaces `${Name}` and `${Resource.Attribute}`, and turns `${!Literal}` into `${Literal}`.
    fn substitute(&self, argument: &Node) -> Result<String> {
        let (pattern, names) = match argument.as_list() {
            Some([pattern, names]) => (pattern, Some(names)),
            Some(_) => return Err(argument.error("Fn::Sub takes a string, or a list of a string and a map")),
            None => (argument, None),
        };
        let mut rest = pattern.as_text().ok_or_else(|| pattern.error("Fn::Sub takes a string"))?;
        let mut text = String::new();
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else {
                return Err(pattern.error("Fn::Sub: ${ without a closing }"));
            };
            text.push_str(before);
            match (name.strip_prefix('!'), names.and_then(|names| names.get(name))) {
                (Some(literal), _) => text.push_str(&format!("${{{literal}}}")),
                (None, Some(value)) => text.push_str(&self.text(value)?),
                (None, None) => {
                    let function = if name.contains('.') { "Fn::GetAtt" } else { "Ref" };
                    let reference = Node { line: pattern.line, value: Value::Text(name.to_owned()) };
                    let call = Node {
                        line: pattern.line,
                        value: Value::Map(vec![(function.to_owned(), reference)]),
                    };
                    text.push_str(&self.text(&call)?);
                }
            }
            rest = after;
        }
        text.push_str(rest);
        Ok(text)
    }

    fn find_in_map(&self, argument: &Node) -> Result<Node> {
        let keys = argument.as_list().unwrap_or_default();
        let ([map, first, second] | [map, first, second, _]) = keys else {
            return Err(argument.error("Fn::FindInMap takes a map and two keys"));
        };
        let texts = self.said(argument, || Ok((self.text(map)?, self.text(first)?, self.text(second)?)));
        let (map, first, second) = texts?;
        let mappings = self.template.get("Mappings");
        let found = mappings.and_then(|all| all.get(&map)?.get(&first)?.get(&second));
        match (found, keys.get(3).and_then(|options| options.get("DefaultValue"))) {
            (Some(value), _) => Ok(value.clone()),
            (None, Some(default)) => self.value(default).ok_or_else(|| default.error("the value is missing")),
            (None, None) => Err(argument.error(format!("Mappings has no {map}.{first}.{second}"))),
        }
    }

    fn arguments<'n, const N: usize>(&self, function: &str, argument: &'n Node) -> Result<&'n [Node; N]> {
        let items = argument.as_list().unwrap_or_default();
        items
            .try_into()
            .map_err(|_| argument.error(format!("{function} takes a list of {N} items, not {}", items.len())))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::parse;
    use crate::properties::surroundings;

    const TEMPLATE: &str = "
Parameters:
  Size: {Type: Number, Default: 30}
  Fifo: {Type: String, Default: 'true', AllowedValues: ['true', 'false']}
Mappings:
  Timeout: {'30': {Seconds: 480}}
Conditions:
  IsFifo: !Equals [!Ref Fifo, 'true']
  IsLarge: !Equals [!Ref Size, 1000]
  Loop: !Condition Loop
Resources:
  Queue: {Type: AWS::SQS::Queue, Properties: {QueueName: !Sub '${AWS::StackName}-q'}}
  Nameless: {Type: AWS::SQS::Queue, Properties: {FifoQueue: true}}
  Topic: {Type: AWS::SNS::Topic, Condition: IsLarge}
  Work: {Type: AWS::Serverless::Function, Properties: {FunctionName: work}}
  Odd: {Type: AWS::SQS::Queue, Properties: {QueueName: !GetAtt Odd.QueueName}}
";

    fn value_of(expression: &str) -> std::result::Result<Json, String> {
        let template = parse(TEMPLATE).unwrap();
        let surroundings = surroundings();
        let resolver = Resolver::new(&template, &[], &surroundings, Gaps::Settable).unwrap();
        let expression = parse(&format!("x: {expression}")).unwrap();
        let value = resolver.value(expression.get("x").unwrap());
        match value.as_ref().and_then(Node::first_unknown) {
            Some(why) => Err(why.to_string()),
            None => Ok(value.map_or(json!("no value"), |value| value.to_json())),
        }
    }

    #[test]
    fn functions_give_what_cloudformation_gives() {
        let queue_arn = "arn:aws:sqs:us-east-1:000000000000:local-q";
        for (expression, expected) in [
            ("!Ref Size", json!(30)),
            ("{Ref: Size}", json!(30)),
            ("!Ref AWS::Region", json!("us-east-1")),
            ("!Ref AWS::NoValue", json!("no value")),
            ("[a, !Ref AWS::NoValue, b]", json!(["a", "b"])),
            ("{a: 1, b: !Ref AWS::NoValue}", json!({"a": 1})),
            ("!Ref Queue", json!("http://127.0.0.1:0/000000000000/local-q")),
            ("!GetAtt Queue.Arn", json!(queue_arn)),
            ("{Fn::GetAtt: [Queue, Arn]}", json!(queue_arn)),
            ("!GetAtt Queue.QueueName", json!("local-q")),
            ("!GetAtt Nameless.QueueName", json!("local-Nameless.fifo")),
            ("!GetAtt Work.Arn", json!("arn:aws:lambda:us-east-1:000000000000:function:work")),
            ("!Sub '${Size}-${Queue.Arn}-${!Size}'", Json::from(format!("30-{queue_arn}-${{Size}}"))),
            ("!Sub ['${a}/${AWS::URLSuffix}', {a: !Ref Size}]", json!("30/amazonaws.com")),
            ("!If [IsFifo, {a: !Ref Size}, b]", json!({"a": 30})),
            ("!If [IsLarge, a, !Ref AWS::NoValue]", json!("no value")),
            ("!Join ['-', [a, !Ref Size, b]]", json!("a-30-b")),
            ("!Select [1, !Split [',', 'a,b,c']]", json!("b")),
            ("!Select [2, !Split ['/', !Ref AWS::StackId]]", json!("a1b2c3d4-a1b2-41b2-81b2-a1b2c3d4e5f6")),
            (
                "!Select [4, !Split ['-', !Select [2, !Split ['/', !Ref AWS::StackId]]]]",
                json!("a1b2c3d4e5f6"),
            ),
            ("!FindInMap [Timeout, !Ref Size, Seconds]", json!(480)),
            ("!FindInMap [Timeout, '31', Seconds, {DefaultValue: 1}]", json!(1)),
            ("{Fn::ToJsonString: {a: [!Ref Size, x]}}", json!(r#"{"a":[30,"x"]}"#)),
            ("!And [!Condition IsFifo, !Not [!Condition IsLarge]]", json!("true")),
            ("!Or [!Condition IsLarge, !Equals [a, b]]", json!("false")),
        ] {
            assert_eq!(value_of(expression), Ok(expected), "{expression}");
        }
    }

    #[test]
    fn an_invalid_expression_is_refused_with_its_line() {
        for (expression, message) in [
            ("!Ref Nothing", "line 1: no such parameter or resource: Nothing"),
            ("\n  !Ref Topic", "line 2: Topic does not exist: its condition is false"),
            ("!GetAtt Queue.Color", "line 1: a queue has no attribute Color: Queue.Color"),
            ("!If [Nothing, a, b]", "line 1: no such condition: Nothing"),
            ("!If [IsFifo, a]", "line 1: Fn::If takes a list of 3 items, not 2"),
            ("!If [Loop, a, b]", "line 10: nested too deeply, or refers to itself"),
            ("!Ref Odd", "line 16: nested too deeply, or refers to itself"),
            ("!Select [3, [a]]", "line 1: Fn::Select 3 of 1 items"),
            ("!Sub '${open'", "line 1: Fn::Sub: ${ without a closing }"),
            ("!FindInMap [Timeout, '31', Seconds]", "line 1: Mappings has no Timeout.31.Seconds"),
            ("!Cidr [a, b, c]", "line 1: Fn::Cidr is not supported here"),
        ] {
            assert_eq!(value_of(expression), Err(message.to_owned()), "{expression}");
        }
        let export = "line 1: the export x of another stack is known only at deployment: pass --set x=VALUE";
        assert_eq!(value_of("!ImportValue x"), Err(export.to_owned()));
    }

    #[test]
    fn a_broken_rule_is_reported_in_its_own_words() {
        let rules = "
Parameters: {Size: {Type: Number, Default: 11}}
Rules:
  Small:
    RuleCondition: !Not [!Equals [!Ref Size, 1]]
    Assertions:
      - Assert: {Fn::Contains: [['10', '11'], !Ref Size]}
        AssertDescription: ten or eleven
";
        let template = parse(rules).unwrap();
        let check = |size: &str| {
            let given = [("Size".to_owned(), size.to_owned())];
            let surroundings = surroundings();
            let resolver = Resolver::new(&template, &given, &surroundings, Gaps::Settable);
            resolver.map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!((check("1"), check("11")), (Ok(()), Ok(())));
        assert_eq!(check("12"), Err("line 7: ten or eleven".to_owned()));
    }

    #[test]
    fn each_repetition_of_a_long_value_counts() {
        let (long, many) = ("x".repeat(100_000), "x,".repeat(50_000));
        let template = format!(
            "Parameters:\n  Long: {{Default: {long}}}\n  Many: {{Type: CommaDelimitedList, Default: '{many}'}}\nMappings:\n  \
             M: {{a: {{b: [{many}]}}}}\nConditions: {{C: !Condition {long}}}",
        );
        let template = parse(&template).unwrap();
        let surroundings = surroundings();
        for bomb in [
            format!("[{}]", "!Ref Long, ".repeat(2_000)),
            format!("[{}]", "!Ref Many, ".repeat(2_000)),
            format!("[{}]", "!FindInMap [M, a, b], ".repeat(2_000)),
            format!("[{}]", "!If [C, a, b], ".repeat(2_000)),
            format!("!Sub '{}'", "${Long}".repeat(2_000)),
            format!("!Sub ['{}', {{a: {long}}}]", "${a}".repeat(2_000)),
            format!("!Join ['', [{}]]", "!Ref Long, ".repeat(2_000)),
            format!("!Join [{long}, [{}]]", "a, ".repeat(2_000)),
        ] {
            let resolver = Resolver::new(&template, &[], &surroundings, Gaps::Kept).unwrap();
            let value = resolver.value(&parse(&bomb).unwrap()).unwrap();
            assert_eq!(too_much(&value), Some(&"too complex to resolve".to_owned()), "{}", &bomb[..20]);
        }
    }

    #[test]
    fn globals_count_for_each_function() {
        let long = "x".repeat(100_000);
        for given in [long.clone(), format!("'{{{{resolve:{long}}}}}'"), format!("!Ref {long}")] {
            let template = parse(&format!("Globals: {{Function: {{Description: {given}}}}}")).unwrap();
            let surroundings = surroundings();
            let resolver = Resolver::new(&template, &[], &surroundings, Gaps::Kept).unwrap();
            let globals = std::iter::repeat_with(|| resolver.globals("Function", None).unwrap());
            let last = globals.take(2_000).last().unwrap();
            assert_eq!(too_much(&last), Some(&"too complex to resolve".to_owned()), "{}", &given[..20]);
        }
    }

    /// Returns the reason why the last part of a value is unknown.
    fn too_much(value: &Node) -> Option<&String> {
        let last = match &value.value {
            Value::List(items) => items.last()?,
            Value::Map(entries) => &entries.last()?.1,
            Value::Null | Value::Text(_) | Value::Unknown(_) => value,
        };
        last.unknown().map(|why| &why.message)
    }
}
