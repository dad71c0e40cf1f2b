//! Suggests the name that was probably meant. Pure.

/// Least similarity of a suggestion: 1 is the same, 0 has nothing in common.
const NEAR: f64 = 0.7;

/// Returns `; did you mean VisibilityTimeout?`, or nothing if no known name is similar.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let lower = name.to_lowercase();
    let near = |it: &str| strsim::normalized_damerau_levenshtein(&lower, &it.to_lowercase());
    let nearest =
        known.into_iter().map(|it| (near(it), it)).max_by(|(one, _), (other, _)| one.total_cmp(other));
    match nearest {
        Some((near, it)) if near >= NEAR => format!("; did you mean {it}?"),
        _ => String::new(),
    }
}

/// Suggests a similar name, else lists the known ones: `; did you mean orders?` or `; known: orders, parcels`.
pub fn or_known(name: &str, known: &[impl AsRef<str>]) -> String {
    match did_you_mean(name, known.iter().map(AsRef::as_ref)).as_str() {
        "" => format!("; {}", list(known)),
        meant => meant.to_owned(),
    }
}

/// `known: orders, parcels`
pub fn list(known: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    if names.is_empty() { "known: none".to_owned() } else { format!("known: {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_name_is_suggested() {
        let known = ["DelaySeconds", "VisibilityTimeout", "QueueName"];
        for (name, expected) in [
            ("VisibiltyTimeout", "; did you mean VisibilityTimeout?"),
            ("queuename", "; did you mean QueueName?"),
            ("QueuName", "; did you mean QueueName?"),
            ("DelaySecond", "; did you mean DelaySeconds?"),
            ("Color", ""),
            ("", ""),
        ] {
            assert_eq!(did_you_mean(name, known), expected, "{name}");
        }
        assert_eq!(did_you_mean("QueueName", []), "");
        assert_eq!(or_known("Color", &known), "; known: DelaySeconds, VisibilityTimeout, QueueName");
        assert_eq!(or_known("QueuName", &known), "; did you mean QueueName?");
        assert_eq!(or_known("QueueName", &[""; 0]), "; known: none");
    }
}
