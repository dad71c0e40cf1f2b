//! STS, which returns the identity of a client.
//! <https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html>

use serde_json::json;

use crate::protocol::{Answer, Query, RequestContext, SERIALIZATION, Service, UNKNOWN_OPERATION, plain};

/// The STS of one account.
#[derive(Debug)]
pub(crate) struct Sts {
    account: String,
}

pub(crate) static SERVICE: Service<Sts> = Service {
    name: "sts",
    operations: &[("GetCallerIdentity", identity)],
    target: None,
    query: Some(Query {
        version: "2011-06-15",
        namespace: "https://sts.amazonaws.com/doc/2011-06-15/",
        flat: false,
        lists: &[],
        maps: &[],
    }),
    routes: &[],
    unknown: (UNKNOWN_OPERATION, "redrive-local does not support the operation {} of STS"),
    unreadable: (SERIALIZATION, "{}"),
    body: plain,
};

impl Sts {
    pub(crate) fn new(account: &str) -> Self {
        Self { account: account.to_owned() }
    }
}

/// Returns the caller. Every access key belongs to a user of the account with the key as its name.
fn identity(context: &mut RequestContext<'_, Sts>) -> Answer {
    let (account, user) = (&context.service.account, context.call.access_key().unwrap_or("anonymous"));
    let arn = format!("arn:aws:iam::{account}:user/{user}");
    context.output(&json!({ "UserId": user, "Account": account, "Arn": arn }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::testing::Client;

    #[test]
    fn a_client_is_the_user_that_its_access_key_names() {
        let answer = Client::new(&SERVICE, Sts::new("123456789012")).form("Action=GetCallerIdentity");
        assert!(answer.starts_with("200 "), "{answer}");
        assert!(answer.contains("<Arn>arn:aws:iam::123456789012:user/anonymous</Arn>"), "{answer}");
    }
}
