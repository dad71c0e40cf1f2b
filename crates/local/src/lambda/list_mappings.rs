//! `ListEventSourceMappings` and `GetEventSourceMapping`.
//! <https://docs.aws.amazon.com/lambda/latest/api/API_ListEventSourceMappings.html>

use serde_json::Value;

use super::request::Context;
use crate::protocol::Answer;

/// Most mappings of a page, even if the client requests more.
const LARGEST_PAGE: usize = 100;

pub(super) fn list(context: &mut Context<'_>) -> Answer {
    let function = context.call.parameter("FunctionName");
    let function = function.map(|text| context.find_function(&text, None)).transpose()?;
    let queue = context.call.parameter("EventSourceArn");
    let lambda = &*context.service;
    let wanted = lambda.mappings.iter().filter(|mapping| {
        function.is_none_or(|function| function.config.name == mapping.config.function)
            && queue.as_ref().is_none_or(|arn| *arn == lambda.queue_arn(&mapping.config.queue))
    });
    let described: Vec<Value> = wanted.map(|mapping| mapping.describe(lambda, context.clock)).collect();
    context.page("EventSourceMappings", described, LARGEST_PAGE)
}

pub(super) fn get(context: &mut Context<'_>) -> Answer {
    let index = context.mapping()?;
    context.output(&context.service.mappings[index].describe(context.service, context.clock))
}

#[cfg(test)]
mod tests {
    use super::super::testing::client;

    #[test]
    fn mappings_are_found_by_queue_and_by_function() {
        let mut client = client();
        let mut names = |query: &str| -> Vec<String> {
            let answer = client.get(&format!("/2015-03-31/event-source-mappings{query}"));
            let mappings = answer["EventSourceMappings"].as_array().unwrap();
            mappings.iter().map(|each| each["EventSourceArn"].as_str().unwrap().to_owned()).collect()
        };
        let arn = |name: &str| format!("arn:aws:sqs:eu-west-1:123456789012:{name}");
        assert_eq!(names("/"), [arn("orders"), arn("letters.fifo")]);
        assert_eq!(names("?FunctionName=worker"), [arn("orders")]);
        let function = "arn%3Aaws%3Alambda%3Aeu-west-1%3A123456789012%3Afunction%3Aclerk%3A%24LATEST";
        assert_eq!(names(&format!("?FunctionName={function}")), [arn("letters.fifo")]);
        assert_eq!(names(&format!("?EventSourceArn={}", arn("orders"))), [arn("orders")]);
        assert_eq!(
            names(&format!("?EventSourceArn={}&FunctionName=clerk", arn("orders"))),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_list_comes_in_pages() {
        let mut client = client();
        let path = "/2015-03-31/event-source-mappings";
        let first = client.get(&format!("{path}?MaxItems=1"));
        assert_eq!(first["EventSourceMappings"].as_array().unwrap().len(), 1);
        let marker = first["NextMarker"].as_str().unwrap();
        let second = client.get(&format!("{path}?MaxItems=1&Marker={marker}"));
        assert_eq!(second.get("NextMarker"), None);
        assert_ne!(first["EventSourceMappings"], second["EventSourceMappings"]);
        for wrong in ["MaxItems=0", "MaxItems=10001"] {
            assert_eq!(client.refuses("GET", &format!("{path}?{wrong}"), "").1, "ValidationException");
        }
        assert_eq!(
            client.refuses("GET", &format!("{path}?Marker=9"), "").1,
            "InvalidParameterValueException"
        );
    }

    #[test]
    fn a_mapping_or_function_that_is_not_there_is_not_found() {
        let mut client = client();
        assert_eq!(
            client.refuses("GET", "/2015-03-31/event-source-mappings/none", ""),
            (404, "ResourceNotFoundException".into(), "The resource you requested does not exist.".into())
        );
        let arn = "arn:aws:lambda:eu-west-1:123456789012:function:cook";
        assert_eq!(
            client.refuses("GET", "/2015-03-31/event-source-mappings?FunctionName=cook", ""),
            (404, "ResourceNotFoundException".into(), format!("Function not found: {arn}"))
        );
    }
}
