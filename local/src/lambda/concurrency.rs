//! `GetFunctionConcurrency`, `PutFunctionConcurrency` and `DeleteFunctionConcurrency`.
//! <https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html>

use serde_json::{Value, json};

use super::refusal::Refusal;
use super::request::Asked;

/// What an account has until its quota is raised.
const OF_THE_ACCOUNT: usize = 1_000;

/// What is left to the functions without a reservation, in any case.
const UNRESERVED: usize = 100;

pub(super) fn get(asked: &mut Asked<'_>) -> Result<Value, Refusal> {
    Ok(match asked.function()?.config.reserved_concurrency {
        Some(reserved) => json!({ "ReservedConcurrentExecutions": reserved }),
        None => json!({}),
    })
}

pub(super) fn put(asked: &mut Asked<'_>) -> Result<Value, Refusal> {
    let name = asked.function()?.config.name.clone();
    let body = asked.body()?;
    let given = body.get("ReservedConcurrentExecutions").and_then(Value::as_i64);
    let Some(Ok(reserved)) = given.map(usize::try_from) else {
        let given = given.map_or_else(|| "null".to_owned(), |given| given.to_string());
        let least = "have value greater than or equal to 0";
        return Err(Refusal::constraint(given, "reservedConcurrentExecutions", least));
    };
    let others = asked.lambda.functions.iter().filter(|function| function.config.name != name);
    let others: usize = others.filter_map(|function| function.config.reserved_concurrency).sum();
    if others + reserved > OF_THE_ACCOUNT - UNRESERVED {
        return Err(Refusal::invalid(format!(
            "Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution below \
             its minimum value of [{UNRESERVED}]."
        )));
    }
    reserve(asked, &name, Some(reserved));
    get(asked)
}

pub(super) fn delete(asked: &mut Asked<'_>) -> Result<Value, Refusal> {
    let name = asked.function()?.config.name.clone();
    reserve(asked, &name, None);
    Ok(Value::Null)
}

fn reserve(asked: &mut Asked<'_>, name: &str, reserved: Option<usize>) {
    for function in asked.lambda.functions.iter_mut().filter(|function| function.config.name == name) {
        function.config.reserved_concurrency = reserved;
    }
    asked.lambda.revision += 1;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::World;

    #[test]
    fn concurrency_is_reserved_and_given_back() {
        let mut world = World::new();
        let (read, write) =
            ("/2019-09-30/functions/worker/concurrency", "/2017-10-31/functions/worker/concurrency");
        assert_eq!(world.ask("GET", read, ""), json!({}));
        let reserved = json!({ "ReservedConcurrentExecutions": 0 });
        assert_eq!(world.ask("PUT", write, &reserved.to_string()), reserved);
        assert_eq!(world.ask("GET", read, ""), reserved);
        assert_eq!(world.ask("GET", "/2015-03-31/functions/worker", "")["Concurrency"], reserved);
        assert_eq!(world.lambda.reserved_concurrency("worker"), Some(0));
        assert_eq!(world.call("DELETE", write, "").status(), 204);
        assert_eq!(world.lambda.reserved_concurrency("worker"), None);
        assert_eq!(world.lambda.revision(), 2);
    }

    #[test]
    fn a_hundred_stay_unreserved() {
        let mut world = World::new();
        let mut put = |name: &str, reserved: i64| {
            let path = format!("/2017-10-31/functions/{name}/concurrency");
            world
                .call("PUT", &path, &json!({ "ReservedConcurrentExecutions": reserved }).to_string())
                .status()
                .as_u16()
        };
        assert_eq!((put("worker", 900), put("clerk", 1), put("worker", 899)), (200, 400, 200));
        assert_eq!((put("clerk", 1), put("clerk", -1), put("cook", 1)), (200, 400, 404));
    }
}
