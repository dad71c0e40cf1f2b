//! `GetFunctionConcurrency`, `PutFunctionConcurrency` and `DeleteFunctionConcurrency`.
//! <https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html>

use serde::Deserialize;
use serde_json::json;

use super::error;
use super::request::Context;
use crate::protocol::{Answer, Number, VALIDATION};

/// Default concurrency of an account.
const OF_THE_ACCOUNT: usize = 1_000;

/// Concurrency that AWS always keeps for functions without a reservation.
const UNRESERVED: usize = 100;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    reserved_concurrent_executions: Option<Number>,
}

pub(super) fn get(context: &mut Context<'_>) -> Answer {
    let reserved = context.function()?.config.reserved_concurrency;
    context
        .output(&reserved.map_or(json!({}), |reserved| json!({ "ReservedConcurrentExecutions": reserved })))
}

pub(super) fn put(context: &mut Context<'_>) -> Answer {
    let name = context.function()?.config.name.clone();
    let input: Input = context.input()?;
    let member = "reservedConcurrentExecutions";
    let reserved = VALIDATION.required(input.reserved_concurrent_executions, member)?;
    let reserved = VALIDATION.within(reserved, member, 0..=u32::MAX)? as usize;
    let others = context.service.functions.iter().filter(|function| function.config.name != name);
    let others: usize = others.filter_map(|function| function.config.reserved_concurrency).sum();
    if others + reserved > OF_THE_ACCOUNT - UNRESERVED {
        return Err(error::invalid(format!(
            "Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution below \
             its minimum value of [{UNRESERVED}]."
        )));
    }
    reserve(context, &name, Some(reserved));
    get(context)
}

pub(super) fn delete(context: &mut Context<'_>) -> Answer {
    let name = context.function()?.config.name.clone();
    reserve(context, &name, None);
    context.nothing()
}

fn reserve(context: &mut Context<'_>, name: &str, reserved: Option<usize>) {
    for function in context.service.functions.iter_mut().filter(|function| function.config.name == name) {
        function.config.reserved_concurrency = reserved;
    }
    context.service.revision += 1;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::client;

    #[test]
    fn concurrency_is_reserved_and_given_back() {
        let mut client = client();
        let (read, write) =
            ("/2019-09-30/functions/worker/concurrency", "/2017-10-31/functions/worker/concurrency");
        assert_eq!(client.get(read), json!({}));
        let reserved = json!({ "ReservedConcurrentExecutions": 0 });
        assert_eq!(client.put(write, &reserved), reserved);
        assert_eq!(client.get(read), reserved);
        assert_eq!(client.get("/2015-03-31/functions/worker")["Concurrency"], reserved);
        assert_eq!(client.state.reserved_concurrency("worker"), Some(0));
        assert_eq!(client.rest("DELETE", write, "").status(), 204);
        assert_eq!(client.state.reserved_concurrency("worker"), None);
        assert_eq!(client.state.revision(), 2);
    }

    #[test]
    fn a_hundred_stay_unreserved() {
        let mut client = client();
        let mut put = |name: &str, reserved: i64| {
            let path = format!("/2017-10-31/functions/{name}/concurrency");
            client
                .rest("PUT", &path, &json!({ "ReservedConcurrentExecutions": reserved }).to_string())
                .status()
                .as_u16()
        };
        assert_eq!((put("worker", 900), put("clerk", 1), put("worker", 899)), (200, 400, 200));
        assert_eq!((put("clerk", 1), put("clerk", -1), put("cook", 1)), (200, 400, 404));
    }
}
