//! Splits lists into pages. A token is the index of the first item of the next page.

use super::AwsError;

/// One page of items, with the token for the next page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next_token: Option<String>,
}

/// Returns at most `most` items, from the token's index on.
///
/// # Errors
/// Returns `refused` for a token that was not handed out.
pub(crate) fn page<T>(
    items: impl IntoIterator<Item = T>,
    token: Option<&str>,
    most: usize,
    refused: impl Fn(&str) -> AwsError,
) -> Result<Page<T>, AwsError> {
    let start = offset(token, &refused)?;
    let mut rest = items.into_iter().skip(start).peekable();
    if start > 0 && rest.peek().is_none() {
        return Err(refused(token.unwrap_or_default()));
    }
    let items: Vec<_> = rest.by_ref().take(most).collect();
    let next_token = rest.next().is_some().then(|| (start + items.len()).to_string());
    Ok(Page { items, next_token })
}

/// Returns the number of items that a token skips.
///
/// # Errors
/// Returns `refused` for a token that was not handed out.
pub(crate) fn offset(token: Option<&str>, refused: impl FnOnce(&str) -> AwsError) -> Result<usize, AwsError> {
    token.map_or(Ok(0), |token| token.parse().map_err(|_| refused(token)))
}

#[cfg(test)]
mod tests {
    use super::super::VALIDATION;
    use super::*;

    #[test]
    fn pages_hold_every_item_once() {
        for most in 1..=8 {
            let (mut seen, mut token) = (Vec::new(), None);
            loop {
                let found = page(0..7, token.as_deref(), most, |token| VALIDATION.error(token)).unwrap();
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
        for token in ["", "%", "AAAA", "-1", "7"] {
            let refused = page(0..7, Some(token), 1, |token| VALIDATION.error(token));
            assert_eq!(refused.unwrap_err().to_string(), token);
        }
    }
}
