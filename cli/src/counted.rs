//! Numbers of things in words.

/// `1 message`, `2 messages`, `2 deliveries`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    let stem = one.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match (count, stem) {
        (1, _) => format!("1 {one}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {one}s"),
    }
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
}
