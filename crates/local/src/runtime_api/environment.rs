//! The environment of a function, and of a worker.
//! <https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html>

use std::collections::BTreeMap;

use super::{Access, Function};

/// The variables that a function inherits. AWS profile, credentials and endpoint of the user are excluded, because they could
/// lead to the real AWS.
const INHERITED: [&str; 6] =
    ["PATH", "LD_LIBRARY_PATH", "LANG", "TMPDIR", "RUST_BACKTRACE", "LLVM_PROFILE_FILE"];

/// Returns the variables that Lambda sets, overridden by the function's own.
pub(super) fn variables(
    function: &Function,
    runtime_api: &str,
    log_stream: &str,
) -> BTreeMap<String, String> {
    let config = &function.config;
    let handler = config.command.file_name().unwrap_or_default().display().to_string();
    let set = [
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", config.memory_mb.to_string()),
        ("AWS_LAMBDA_FUNCTION_NAME", config.name.clone()),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".into()),
        ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand".into()),
        ("AWS_LAMBDA_LOG_GROUP_NAME", config.log_group()),
        ("AWS_LAMBDA_LOG_STREAM_NAME", log_stream.into()),
        ("AWS_LAMBDA_RUNTIME_API", runtime_api.into()),
        ("LAMBDA_TASK_ROOT", function.root().display().to_string()),
        ("TZ", ":UTC".into()),
        ("_HANDLER", handler),
    ];
    let mut variables = common(function);
    variables.extend(set.map(|(name, value)| (name.into(), value)));
    variables.extend(config.environment.clone());
    variables
}

/// Returns the function's own variables, and the URL of the queue that the worker polls.
pub(super) fn of_worker(function: &Function, queue_url: &str) -> BTreeMap<String, String> {
    let mut variables = common(function);
    variables.extend(function.config.environment.clone());
    variables.insert("REDRIVE_QUEUE_URL".into(), queue_url.into());
    variables
}

/// Returns the inherited variables, and those for access to AWS.
fn common(function: &Function) -> BTreeMap<String, String> {
    let Access { endpoint_url, credentials } = &function.access;
    let set = [
        ("AWS_ACCESS_KEY_ID", Some(credentials.access_key_id().into())),
        ("AWS_DEFAULT_REGION", Some(function.region.clone())),
        ("AWS_EC2_METADATA_DISABLED", Some("true".into())),
        ("AWS_ENDPOINT_URL", endpoint_url.clone()),
        ("AWS_REGION", Some(function.region.clone())),
        ("AWS_SECRET_ACCESS_KEY", Some(credentials.secret_access_key().into())),
        ("AWS_SESSION_TOKEN", credentials.session_token().map(str::to_owned)),
    ];
    let inherited = INHERITED.iter().map(|name| (*name, std::env::var(name).ok()));
    inherited.chain(set).filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aws_sdk_sqs::config::Credentials;

    use super::*;
    use crate::runtime_api::{AddressForm, FunctionConfig};

    #[test]
    fn a_functions_own_variables_win_and_the_users_aws_settings_stay_out() {
        let environment = [("AWS_REGION".into(), "mars-1".into()), ("SHOP".into(), "tea".into())].into();
        let config = FunctionConfig {
            name: "worker".into(),
            command: "/opt/worker/bootstrap".into(),
            environment,
            timeout: Duration::from_secs(3),
            memory_mb: 256,
            ..FunctionConfig::default()
        };
        let function = Function {
            config,
            address_form: AddressForm::Url,
            region: "eu-west-1".into(),
            account: "123456789012".into(),
            access: Access {
                endpoint_url: Some("http://127.0.0.1:4".into()),
                credentials: Credentials::new("AKID", "secret", None, None, "test"),
            },
        };
        let variables = variables(&function, "127.0.0.1:5", "stream");
        for (name, value) in [
            ("AWS_REGION", "mars-1"),
            ("AWS_DEFAULT_REGION", "eu-west-1"),
            ("SHOP", "tea"),
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:4"),
            ("AWS_ACCESS_KEY_ID", "AKID"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:5"),
            ("AWS_LAMBDA_FUNCTION_NAME", "worker"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
            ("LAMBDA_TASK_ROOT", "/opt/worker"),
            ("_HANDLER", "bootstrap"),
        ] {
            assert_eq!(variables[name], value, "{name}");
        }
        for name in ["HOME", "AWS_PROFILE", "AWS_SESSION_TOKEN", "REDRIVE_QUEUE_URL"] {
            assert!(!variables.contains_key(name), "{name}");
        }
        let url = "http://127.0.0.1:4/123456789012/orders";
        let variables = of_worker(&function, url);
        for (name, value) in [
            ("AWS_REGION", "mars-1"),
            ("SHOP", "tea"),
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:4"),
            ("AWS_ACCESS_KEY_ID", "AKID"),
            ("REDRIVE_QUEUE_URL", url),
        ] {
            assert_eq!(variables[name], value, "{name}");
        }
        assert!(!variables.keys().any(|name| name.contains("LAMBDA")), "{variables:?}");
    }
}
