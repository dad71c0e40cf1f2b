//! Answers in pages.

use base64::prelude::{BASE64_STANDARD, Engine as _};

use super::check::member;
use crate::cloudwatch::wire::Refusal;
use crate::cloudwatch::wire::field::Number;

/// Some of the items, and the token for the rest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    pub(super) next_token: Option<String>,
}

/// The items from where a token says, at most so many.
pub(super) fn page<T>(
    items: impl IntoIterator<Item = T>,
    token: Option<&str>,
    most: usize,
) -> Result<Page<T>, Refusal> {
    let start = offset(token)?;
    let mut rest = items.into_iter().skip(start);
    let items: Vec<_> = rest.by_ref().take(most).collect();
    let next_token = rest.next().is_some().then(|| self::token(start + items.len()));
    Ok(Page { items, next_token })
}

/// How many items a token leaves out.
pub(super) fn offset(token: Option<&str>) -> Result<usize, Refusal> {
    let Some(token) = token else { return Ok(0) };
    let bytes = BASE64_STANDARD.decode(token).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.and_then(|text| text.parse().ok()).ok_or_else(Refusal::next_token)
}

pub(super) fn token(offset: usize) -> String {
    BASE64_STANDARD.encode(offset.to_string())
}

/// `MaxRecords`: 1 to 100, else `default`.
pub(super) fn max_records(given: Option<Number>, default: usize) -> Result<usize, Refusal> {
    let Some(given) = given else { return Ok(default) };
    let records = given.whole(1).filter(|records| *records <= 100).map(|records| records as usize);
    member(records, "maxRecords").map_err(|_| {
        let bound = if given.0 < 1.0 { "greater than or equal to 1" } else { "less than or equal to 100" };
        Refusal::constraint(format!("'{}'", given.0), "maxRecords", format!("Member must have value {bound}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_hold_every_item_once() {
        for most in 1..=8 {
            let (mut seen, mut token) = (Vec::new(), None);
            loop {
                let found = page(0..7, token.as_deref(), most).unwrap();
                assert!(found.items.len() <= most && !found.items.is_empty());
                seen.extend(found.items);
                token = found.next_token;
                if token.is_none() {
                    break;
                }
            }
            assert_eq!(seen, (0..7).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_token_of_ones_own_is_refused() {
        for token in ["", "%", "AAAA"] {
            assert_eq!(page(0..7, Some(token), 1).unwrap_err().code(), "InvalidNextToken", "{token}");
        }
    }
}
