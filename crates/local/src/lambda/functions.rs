//! `GetFunction`, `GetFunctionConfiguration`, `ListFunctions` and `ListVersionsByFunction`.

use serde_json::{Value, json};

use super::request::Context;
use crate::protocol::Answer;

/// <https://docs.aws.amazon.com/lambda/latest/api/API_ListFunctions.html>
const LARGEST_PAGE: usize = 50;

pub(super) fn configuration(context: &mut Context<'_>) -> Answer {
    context.output(&context.function()?.describe(context.service, context.clock))
}

/// Returns a function. Its code is described as far as possible, because it is a file on this machine.
pub(super) fn get(context: &mut Context<'_>) -> Answer {
    let function = context.function()?;
    let mut output = json!({
        "Configuration": function.describe(context.service, context.clock),
        "Code": { "Location": format!("file://{}", function.config.command.display()) },
        "Tags": {},
    });
    if let Some(reserved) = function.config.reserved_concurrency {
        output["Concurrency"] = json!({ "ReservedConcurrentExecutions": reserved });
    }
    context.output(&output)
}

pub(super) fn list(context: &mut Context<'_>) -> Answer {
    let functions = context.service.functions.iter();
    let described: Vec<Value> =
        functions.map(|function| function.describe(context.service, context.clock)).collect();
    context.page("Functions", described, LARGEST_PAGE)
}

/// Returns only `$LATEST`, because nothing publishes versions here.
/// <https://docs.aws.amazon.com/lambda/latest/api/API_ListVersionsByFunction.html>
pub(super) fn versions(context: &mut Context<'_>) -> Answer {
    let latest = context.function()?.describe(context.service, context.clock);
    context.page("Versions", vec![latest], LARGEST_PAGE)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::client;

    #[test]
    fn a_function_is_described_by_its_configuration() {
        let mut client = client();
        let said = client.get("/2015-03-31/functions/worker/configuration");
        for (name, value) in [
            ("FunctionArn", json!("arn:aws:lambda:eu-west-1:123456789012:function:worker")),
            ("Timeout", json!(3)),
            ("MemorySize", json!(128)),
            ("Runtime", json!("provided.al2023")),
            ("Handler", json!("bootstrap")),
            ("LastModified", json!("2026-11-21T12:00:00.000+0000")),
            ("Environment", json!({ "Variables": { "SHOP": "tea" } })),
            ("LoggingConfig", json!({ "LogFormat": "Text", "LogGroup": "/aws/lambda/worker" })),
        ] {
            assert_eq!(said[name], value, "{name}");
        }
        let whole = client.get("/2015-03-31/functions/worker:$LATEST");
        assert_eq!((&whole["Configuration"], whole.get("Concurrency")), (&said, None));
        let listed = client.get("/2015-03-31/functions/");
        assert_eq!(listed["Functions"][0], said);
        assert_eq!(client.get("/2015-03-31/functions/worker/versions")["Versions"], json!([said]));
        assert_eq!(listed["Functions"][1]["LoggingConfig"]["LogGroup"], "/desk");
    }

    #[test]
    fn a_version_is_not_found() {
        let mut client = client();
        let arn = "arn:aws:lambda:eu-west-1:123456789012:function:worker:7";
        for path in ["/2015-03-31/functions/worker?Qualifier=7", "/2015-03-31/functions/worker%3A7"] {
            let (status, shape, said) = client.refuses("GET", path, "");
            assert_eq!((status, shape.as_str()), (404, "ResourceNotFoundException"));
            assert_eq!(said, format!("Function not found: {arn}"));
        }
    }
}
