use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Names with a dot, as attributes and metrics have.
fn names<'a>(words: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    let is_name = |word: &&str| word.contains('.') && !word.contains("://");
    words.filter(is_name).collect()
}

#[test]
fn the_tables_of_the_page_have_all_names_that_the_code_has() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let code = fs::read_to_string(package.join("src/conventions.rs")).unwrap();
    let page = fs::read_to_string(package.join("../../docs/opentelemetry.md")).unwrap();
    let constants = code.lines().filter(|line| line.starts_with("pub(crate) const"));
    let in_code = names(constants.filter_map(|line| line.split('"').nth(1)));
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(names(rows), in_code);
    assert!(in_code.len() > 10, "{in_code:?}");

    let schema = code.split("opentelemetry.io/schemas/").nth(1).unwrap();
    let version = schema.split('"').next().unwrap();
    assert!(page.contains(&format!("version {version}")), "the page does not say that {version} is followed");
}
