//! The environment of a function.
//! <https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html>

use std::collections::BTreeMap;

use super::{Access, Function};

/// All that a function inherits. In particular no AWS profile, credentials or endpoint of whoever runs this, which might
/// send it to the real AWS.
const INHERITED: [&str; 6] =
    ["PATH", "LD_LIBRARY_PATH", "LANG", "TMPDIR", "RUST_BACKTRACE", "LLVM_PROFILE_FILE"];

/// The variables that Lambda sets, then the function's own, which win.
pub(super) fn variables(
    function: &Function,
    runtime_api: &str,
    log_stream: &str,
) -> BTreeMap<String, String> {
    let config = &function.config;
    let handler = config.command.file_name().unwrap_or_default().display().to_string();
    let Access { endpoint_url, credentials } = &function.access;
    let set = [
        ("AWS_ACCESS_KEY_ID", credentials.access_key_id().into()),
        ("AWS_DEFAULT_REGION", function.region.clone()),
        ("AWS_EC2_METADATA_DISABLED", "true".into()),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", config.memory_mb.to_string()),
        ("AWS_LAMBDA_FUNCTION_NAME", config.name.clone()),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".into()),
        ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand".into()),
        ("AWS_LAMBDA_LOG_GROUP_NAME", config.log_group()),
        ("AWS_LAMBDA_LOG_STREAM_NAME", log_stream.into()),
        ("AWS_LAMBDA_RUNTIME_API", runtime_api.into()),
        ("AWS_REGION", function.region.clone()),
        ("AWS_SECRET_ACCESS_KEY", credentials.secret_access_key().into()),
        ("LAMBDA_TASK_ROOT", function.root().display().to_string()),
        ("TZ", ":UTC".into()),
        ("_HANDLER", handler),
    ];
    let optional = [
        ("AWS_ENDPOINT_URL", endpoint_url.clone()),
        ("AWS_SESSION_TOKEN", credentials.session_token().map(str::to_owned)),
    ];
    let optional = optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let inherited = INHERITED.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    let own = config.environment.iter().map(|(name, value)| (name.clone(), value.clone()));
    inherited.chain(set.map(|(name, value)| (name.into(), value))).chain(optional).chain(own).collect()
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
        for name in ["HOME", "AWS_PROFILE", "AWS_SESSION_TOKEN"] {
            assert!(!variables.contains_key(name), "{name}");
        }
    }
}
