//! Formats counts with their nouns.

/// Formats a count and its noun: `1 message`, `2 messages`, `2,000 deliveries`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    let stem = one.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match (count, stem) {
        (1, _) => format!("1 {one}"),
        (_, Some(stem)) => format!("{} {stem}ies", thousands(count)),
        (_, None) => format!("{} {one}s", thousands(count)),
    }
}

/// Formats a whole number for people: `4,900`.
pub(crate) fn thousands(count: impl ToString + Copy) -> String {
    let digits = count.to_string();
    let is_comma = |at: usize| at > 0 && (digits.len() - at).is_multiple_of(3);
    digits.char_indices().flat_map(|(at, c)| is_comma(at).then_some(',').into_iter().chain([c])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        let told = [0, 1, 2].map(|count| [counted(count, "message"), counted(count, "delivery")]);
        let expected =
            [["0 messages", "0 deliveries"], ["1 message", "1 delivery"], ["2 messages", "2 deliveries"]];
        assert_eq!(told, expected);
        assert_eq!(counted(2, "day"), "2 days");
    }

    #[test]
    fn large_numbers_are_read_in_threes() {
        let told = [0, 999, 1_000, 12_345, 1_234_567].map(|count| thousands(count as u64));
        assert_eq!(told, ["0", "999", "1,000", "12,345", "1,234,567"]);
        assert_eq!(counted(4_900, "letter"), "4,900 letters");
    }
}
