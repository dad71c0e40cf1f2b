use serde_json::json;

use super::*;

#[test]
fn short_forms_become_long_forms_wherever_they_stand() {
    let source =
        "a: !Ref B\nb: !If [C, !Sub '${D}', !GetAtt E.Arn]\nc: !Condition F\nd: !Join\n  - ','\n  - [x]\n";
    let expected = json!({
        "a": {"Ref": "B"},
        "b": {"Fn::If": ["C", {"Fn::Sub": "${D}"}, {"Fn::GetAtt": "E.Arn"}]},
        "c": {"Condition": "F"},
        "d": {"Fn::Join": [",", ["x"]]},
    });
    assert_eq!(parse(source).unwrap().to_json(), expected);
}

#[test]
fn scalars_stay_as_they_are_written_but_for_booleans() {
    let document = parse("a: 012345678901\nb: yes\nc: 1.50\nd:\ne: ''").unwrap();
    let text = |key| document.get(key).unwrap().as_text();
    assert_eq!((text("a"), text("b"), text("c")), (Some("012345678901"), Some("true"), Some("1.50")));
    assert_eq!((text("d"), text("e")), (None, Some("")));
}

#[test]
fn a_template_may_be_json() {
    let document = parse(r#"{"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}"#).unwrap();
    assert_eq!(document.get("Resources").unwrap().entries()[0].0, "Q");
}

#[test]
fn errors_name_the_line() {
    for (source, line) in [("a: 1\nb: [1, 2", 2), ("a: 1\n b: 2\n", 2), ("", 1)] {
        let error = parse(source).unwrap_err();
        assert!(error.line.abs_diff(line) <= 1, "{source:?}: {error}");
    }
}

#[test]
fn yaml_that_python_reads_is_accepted() {
    for (source, expected) in [
        ("a:\n  k: [\n    \"x\",\n    'y'\n  ]\n  z: 1\n", json!({"a": {"k": ["x", "y"], "z": 1}})),
        ("a:\n  k: [\n    \"x\"\n]\nz: 1\n", json!({"a": {"k": ["x"]}, "z": 1})),
        ("a:\n  k: {\n    \"x\": \"y\"\n  }\n", json!({"a": {"k": {"x": "y"}}})),
        ("a: !Split [ -, !Ref X ]\n", json!({"a": {"Fn::Split": ["-", {"Ref": "X"}]}})),
        ("é: [-]\nb: !Join [-, [c, -]]\n", json!({"é": ["-"], "b": {"Fn::Join": ["-", ["c", "-"]]}})),
    ] {
        assert_eq!(parse(source).map(|document| document.to_json()), Ok(expected), "{source}");
    }
    let many = format!("a: [{}]", "-, ".repeat(1_000));
    assert!(parse(&many).unwrap_err().message.contains("cannot start with '-'"));
}

#[test]
fn the_last_of_two_keys_counts_and_is_remarked_on() {
    let (document, remarks) = read("a: 1\nb: 2\na: 3\n").unwrap();
    assert_eq!(document.to_json(), json!({"a": 3, "b": 2}));
    let remarks: Vec<_> = remarks.iter().map(ToString::to_string).collect();
    assert_eq!(remarks, ["line 3: the key \"a\" appears twice; the last one is used"]);
}

#[test]
fn merge_keys_are_applied_and_remarked_on() {
    let merged =
        |source: &str| read(source).map(|(document, remarks)| (document.to_json()["m"].clone(), remarks));
    let bases = "b: &b {k: 1, l: 1}\nc: &c {k: 2, n: 2}\n";
    let (own, remarks) = merged(&format!("{bases}m:\n  <<: *b\n  k: 9\n")).unwrap();
    assert_eq!(own, json!({"k": 9, "l": 1}));
    assert_eq!((remarks.len(), remarks[0].line), (1, 4));
    let (first, _) = merged(&format!("{bases}m: {{<<: [*b, *c]}}\n")).unwrap();
    assert_eq!(first, json!({"k": 1, "l": 1, "n": 2}));
    for wrong in ["1", "", "!If [C, {a: 1}, {}]", "[{a: 1}, !If [C, {a: 1}, {}]]", "!Ref A"] {
        let error = merged(&format!("m: {{<<: {wrong}}}")).unwrap_err();
        assert_eq!(error.message, "a merge key (<<) takes a map or a list of maps", "{wrong}");
    }
    let (called, _) = merged("m: {<<: {Fn::Sub: a}, b: {c: !Ref D}}").unwrap();
    assert_eq!(called, json!({"Fn::Sub": "a", "b": {"c": {"Ref": "D"}}}));
}

#[test]
fn the_last_of_two_merge_keys_wins_as_in_python() {
    let (document, remarks) = read("m:\n  <<: {a: 1, c: 1}\n  <<: {a: 2, b: 3}\n  b: 9\n").unwrap();
    assert_eq!(document.to_json()["m"], json!({"a": 2, "b": 9, "c": 1}));
    assert_eq!(remarks.iter().map(|remark| remark.line).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn a_quoted_merge_key_is_a_key() {
    for quoted in ["\"<<\"", "'<<'", "!!str <<"] {
        let (document, remarks) = read(&format!("{quoted}: {{a: 1}}\n")).unwrap();
        assert_eq!((document.to_json(), remarks.len()), (json!({"<<": {"a": 1}}), 0), "{quoted}");
    }
}

#[test]
fn keys_are_read_as_values_are() {
    let (document, remarks) = read("on: 1\n'on': 2\n010: 3\nyes: 4\n").unwrap();
    assert_eq!(document.to_json(), json!({"true": 4, "on": 2, "8": 3}));
    assert_eq!(remarks.len(), 1);
}

/// Each doubles what the one before holds.
fn doubling(levels: usize, first: &str, next: impl Fn(usize) -> String) -> String {
    let lines = (1..=levels).map(|level| format!("a{level}: &a{level} {}\n", next(level - 1)));
    format!("a0: &a0 {first}\n{}", lines.collect::<String>())
}

#[test]
fn an_alias_is_what_it_refers_to_with_its_tag() {
    let document = parse("a: &x !Ref B\nb: *x\nc: [&k d, {*k : 1}]").unwrap();
    assert_eq!(document.to_json(), json!({"a": {"Ref": "B"}, "b": {"Ref": "B"}, "c": ["d", {"d": 1}]}));
    assert_eq!(document.get("b").unwrap().line, 2);
    assert_eq!(parse("a: &a [*a]").unwrap_err().message, "an alias that contains itself");
}

#[test]
fn aliases_that_make_too_much_are_refused() {
    for bomb in [
        doubling(25, "[x]", |one| format!("[*a{one}, *a{one}]")),
        doubling(25, "{k: v}", |one| format!("{{<<: [*a{one}, *a{one}]}}")),
        doubling(25, "!Sub x", |one| format!("!Join [*a{one}, *a{one}]")),
        doubling(25, "{k: v}", |one| format!("!Sub {{a: *a{one}, b: *a{one}}}")),
        format!("a: &a {}\nb: [{}]", "x".repeat(100_000), "*a, ".repeat(1_000)),
        format!("a: {}x{}", "&a [".repeat(99), "]".repeat(99)).replace('x', &"0, ".repeat(10_000)),
    ] {
        let error = parse(&bomb).unwrap_err();
        assert_eq!(error.message, "too large once its aliases are expanded", "{}", &bomb[..20]);
    }
}

#[test]
fn too_deep_nesting_is_refused_before_the_stack_overflows() {
    let chain = doubling(101, "[x]", |one| format!("[*a{one}]"));
    let tags = doubling(101, "!A x", |one| format!("!A {{k: *a{one}}}"));
    let mappings: String = (0..2_000).map(|level| format!("{}k:\n", " ".repeat(level))).collect();
    let closed = |open: &str, close: &str| format!("{}{}", open.repeat(101), close.repeat(101));
    for bomb in [closed("[", "]"), closed("{a: ", "}"), mappings, chain, tags, "- ".repeat(100_000)] {
        let error = parse(&bomb).unwrap_err();
        assert_eq!(error.message, "nested more than 100 levels deep", "{}", &bomb[..20]);
    }
    // The parser has a limit of its own for what stands in one line.
    assert!(parse(&"[".repeat(1_000_000)).is_err() && parse(&"{a: ".repeat(250_000)).is_err());
    assert!(parse(&format!("{}{}", "[".repeat(100), "]".repeat(100))).is_ok());
}

#[test]
fn a_large_file_with_many_dashes_in_texts_is_refused() {
    let lists = |count: usize, padding: usize| {
        format!("a:\n{}# {}\n", "- [-, a]\n".repeat(count), "x".repeat(padding))
    };
    assert!(parse(&lists(60, 0)).is_ok());
    assert!(parse(&lists(2, 1_000_000)).is_ok());
    assert!(parse(&lists(60, 1_000_000)).is_err(), "each is another look at all of it");
}
