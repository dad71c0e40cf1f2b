//! Describes an error of AWS on one line, with the remedy.

use std::any::Any;

use anyhow::anyhow;
use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::BatchResultErrorEntry;
use redrive_local::command::aws::ANSWERED_BY;
use redrive_sqs::{bare_code, cut_to};

/// Most characters of an answer that are shown. AWS writes fewer, even with an encoded reason for a refusal. An answer from
/// another server may have any length.
const LONGEST: usize = 4_000;

/// Turns the error of a call into one line.
pub(crate) trait DescribeError<T> {
    /// `doing` is the action, such as `read the queue orders`. `permission` is the one that it needs, such as
    /// `sqs:GetQueueAttributes`.
    fn describe_error(self, doing: &str, permission: &str) -> anyhow::Result<T>;

    /// Does the same for an action in `place`. If the resource does not exist, the error names the place.
    fn describe_error_in(self, place: &str, doing: &str, permission: &str) -> anyhow::Result<T>;
}

impl<T, E, R> DescribeError<T> for Result<T, SdkError<E, R>>
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    fn describe_error(self, doing: &str, permission: &str) -> anyhow::Result<T> {
        self.map_err(|error| describe_error(&error, doing, permission))
    }

    fn describe_error_in(self, place: &str, doing: &str, permission: &str) -> anyhow::Result<T> {
        self.map_err(|error| {
            let answered = |code: Option<&str>, message: Option<&str>| match absent(code, message, place) {
                Some(line) => line,
                None => answered(code, message, permission),
            };
            described(&error, doing, answered)
        })
    }
}

/// Does the same for the error alone.
pub(crate) fn describe_error<E, R>(error: &SdkError<E, R>, doing: &str, permission: &str) -> anyhow::Error
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    described(error, doing, |code, message| answered(code, message, permission))
}

fn described<E, R>(
    error: &SdkError<E, R>,
    doing: &str,
    answered: impl FnOnce(Option<&str>, Option<&str>) -> String,
) -> anyhow::Error
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    let what = match error {
        SdkError::ServiceError(service) if service.err().code().is_none() => {
            let said = service.err().message().map(|said| format!(", {said}")).unwrap_or_default();
            not_of_aws(&format!("{}{said}", answer_of(error)))
        }
        SdkError::ServiceError(service) => answered(service.err().code(), service.err().message()),
        SdkError::TimeoutError(_) => {
            "no answer in time: is the endpoint right? --timeout waits longer".to_owned()
        }
        SdkError::DispatchFailure(failure) if failure.is_timeout() => {
            "no answer in time: is the endpoint right? --timeout waits longer".to_owned()
        }
        SdkError::DispatchFailure(_) => {
            format!("no connection ({}): is the region or --endpoint-url right?", innermost(error))
        }
        SdkError::ResponseError(_) => not_of_aws(&format!("{}, {}", answer_of(error), innermost(error))),
        _ => innermost(error),
    };
    anyhow!("could not {doing}: {}", on_one_line(&what))
}

/// Describes an answer as `status 502 from http://127.0.0.1:9324`.
fn answer_of<E, R: 'static>(error: &SdkError<E, R>) -> String {
    let answer = error.raw_response().and_then(|answer| (answer as &dyn Any).downcast_ref::<HttpResponse>());
    let Some(answer) = answer else { return "no answer".to_owned() };
    let from = answer.headers().get(ANSWERED_BY).map(|url| format!(" from {url}")).unwrap_or_default();
    format!("status {}{from}", answer.status().as_u16())
}

/// Returns the innermost cause, without the layers of the SDK.
fn innermost(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => innermost(cause),
        None => error.to_string(),
    }
}

fn on_one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut_to(&line, LONGEST).into_owned()
}

fn not_of_aws(detail: &str) -> String {
    format!("the response is not from AWS ({detail}): is the endpoint right?")
}

/// Returns the service's error code, such as `QueueDoesNotExist`, without the prefix of older protocols.
pub(crate) fn code_of<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> Option<&str> {
    error.as_service_error().and_then(|error| error.code()).map(bare_code)
}

/// Returns a line for a resource that does not exist, if AWS answered that.
fn absent(code: Option<&str>, message: Option<&str>, place: &str) -> Option<String> {
    let said = message.unwrap_or("no reason given");
    let what = match bare_code(code?) {
        "QueueDoesNotExist" | "NonExistentQueue" => "no such queue".to_owned(),
        "ValidationError" if said.contains("does not exist") => "no such stack".to_owned(),
        "ResourceNotFoundException" => format!("not found ({said})"),
        _ => return None,
    };
    Some(format!("{what} in {place}: check the name, the region and the account"))
}

/// Describes the failure of an entry of a batch that succeeded otherwise.
pub(crate) fn answered_of(entry: &BatchResultErrorEntry, permission: &str) -> String {
    on_one_line(&answered(Some(&entry.code), entry.message.as_deref(), permission))
}

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/CommonErrors.html>
pub(crate) fn answered(code: Option<&str>, message: Option<&str>, permission: &str) -> String {
    let said = message.unwrap_or("no reason given");
    let Some(code) = code else { return not_of_aws(said) };
    if let Some(line) = absent(Some(code), message, "this region") {
        return line;
    }
    match bare_code(code) {
        "AccessDenied" | "AccessDeniedException" | "AuthorizationError" | "AuthorizationErrorException" => {
            format!("not allowed: your credentials need {permission} ({said})")
        }
        "RequestExpired" | "RequestTimeTooSkewed" | "InvalidSignatureException" | "SignatureDoesNotMatch"
            if said.contains("expired") || said.contains("not yet current") =>
        {
            format!("AWS reports the request as expired ({said}): check this machine's clock")
        }
        "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired" => {
            "your AWS credentials have expired: sign in again".to_owned()
        }
        "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "SignatureDoesNotMatch"
        | "InvalidSignatureException"
        | "IncompleteSignature"
        | "MissingAuthenticationToken"
        | "MissingAuthenticationTokenException"
        | "OptInRequired"
        | "InvalidSecurity" => {
            format!("AWS does not accept your credentials ({said}): check the profile")
        }
        "InvalidAddress" => format!("no such queue in this region ({said}): is the region right?"),
        "ResourceInUseException" | "ResourceConflictException" => {
            format!("another change is in progress ({said}): try again in a few seconds")
        }
        "UnknownOperationException" | "InvalidAction" | "UnknownOperation" | "NotImplemented" => {
            format!("this endpoint has no such service ({said})")
        }
        "InternalFailure" | "InternalError" | "InternalServerError" | "ServiceException" | "ServiceFailure"
        | "ServiceUnavailable" | "ServiceUnavailableException" => {
            format!("AWS reported an internal error ({said}): try again")
        }
        "QueueDeletedRecently" => "the queue was deleted less than 60 s ago: try again in a minute".to_owned(),
        "PurgeQueueInProgress" => "it was purged less than 60 s ago: try again in a minute".to_owned(),
        "RequestThrottled" | "Throttling" | "ThrottlingException" | "ThrottledException"
        | "TooManyRequestsException" | "LimitExceededException" | "KmsThrottled" => format!("AWS throttles the requests ({said}): try again, or more slowly with --rate"),
        "OverLimit" => {
            format!("too many messages are in flight ({said}): wait until some are done or visible again")
        }
        "InvalidMessageContents" => {
            format!("the body or an attribute holds a character that SQS does not accept ({said})")
        }
        "BatchRequestTooLong" => format!("it is larger than the queue accepts ({said})"),
        "ReceiptHandleIsInvalid" | "MessageNotInflight" => {
            "the receipt handle has expired, and another consumer may have the message: list again".to_owned()
        }
        "KmsAccessDenied" | "KmsDisabled" | "KmsInvalidState" | "KmsNotFound" | "KmsOptInRequired"
        | "KmsInvalidKeyUsage" => {
            format!("the queue's key cannot be used ({said}): your credentials need kms:Decrypt and kms:GenerateDataKey")
        }
        "InvalidParameterValue" if said.contains("already a task running") => {
            "a move task is running already: wait for it, or cancel it with redrive dlq retry --native --cancel".to_owned()
        }
        "InvalidParameterValue" if said.contains("must be configured as a Dead Letter Queue") => {
            "AWS moves letters only from a queue that another queue names in its redrive policy: retry without --native"
                .to_owned()
        }
        _ => format!("{said} ({})", bare_code(code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_any_length_is_one_line_that_ends() {
        for (code, message) in [("Strange", "x\n".repeat(100_000)), (&*"C".repeat(100_000), "x".to_owned())] {
            let entry = BatchResultErrorEntry::builder().id("1").code(code).sender_fault(true);
            let entry = entry.message(message).build().unwrap();
            let line = answered_of(&entry, "sqs:SendMessage");
            assert!(line.chars().count() == LONGEST + 1 && line.ends_with('…'), "{line:.100}");
        }
    }

    #[test]
    fn every_known_error_says_what_to_do() {
        for (code, message, expected) in [
            (
                "AccessDeniedException",
                "no identity-based policy",
                "your credentials need sqs:SendMessage (no identity",
            ),
            (
                "AWS.SimpleQueueService.NonExistentQueue",
                "gone",
                "no such queue in this region: check the name",
            ),
            ("com.amazonaws.sqs#QueueDoesNotExist", "gone", "no such queue in this region: check the name"),
            ("RequestThrottled", "slow down", "--rate"),
            ("InvalidParameterValue", "There is already a task running. Only one", "--cancel"),
            ("ReceiptHandleIsInvalid", "The input receipt handle", "list again"),
            (
                "InvalidMessageContents",
                "Invalid characters found",
                "a character that SQS does not accept (Inv",
            ),
            (
                "AWS.SimpleQueueService.BatchRequestTooLong",
                "1048577",
                "larger than the queue accepts (1048577)",
            ),
            ("KmsAccessDenied", "no grant", "kms:Decrypt and kms:GenerateDataKey"),
            ("ExpiredToken", "x", "sign in again"),
            ("InvalidSignatureException", "Signature expired: 20261121T1 is now earlier", "machine's clock"),
            ("InvalidSignatureException", "The request signature we calculated", "check the profile"),
            ("ValidationError", "Stack with id shop does not exist", "no such stack"),
            ("ValidationError", "1 validation error detected", "detected (ValidationError)"),
            ("ResourceNotFoundException", "Function not found: shop", "check the name"),
            ("ResourceInUseException", "The operation cannot be performed", "in a few seconds"),
            ("InvalidAddress", "The address is not valid for this endpoint.", "is the region right?"),
            ("UnknownOperationException", "what?", "no such service"),
            ("ServiceUnavailable", "busy", "try again"),
            ("InvalidParameterValue", "Value 7 is odd", "Value 7 is odd (InvalidParameterValue)"),
        ] {
            let line = answered(Some(code), Some(message), "sqs:SendMessage");
            assert!(line.contains(expected), "{code}: {line}");
            assert!(!line.contains('\n'));
        }
        assert!(answered(None, None, "").contains("is the endpoint right?"));
    }

    #[test]
    fn an_answer_of_several_lines_becomes_one() {
        assert_eq!(on_one_line("a\n  b\r\n"), "a b");
    }
}
