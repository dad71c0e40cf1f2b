//! Builds functions like `sam build`: the binary that the template's metadata names, or an example.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow, bail};
use redrive_iac::nearest::{list, or_known};
use serde::Deserialize;

use super::layered::{self, Layered};
use super::plan::Plan;
use super::stack::Build;
use crate::FunctionConfig;
use crate::command::problem::{OrProblem, Problem};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Executable {
    Binary(PathBuf),
    Layered(Layered),
}

impl Executable {
    pub(super) fn run_in(&self, function: &mut FunctionConfig) {
        match self {
            Self::Binary(path) => function.command.clone_from(path),
            Self::Layered(layered) => layered.run_in(function),
        }
    }
}

/// Builds an executable for each function of the plan, in the same order. Cargo's own messages go to stderr.
pub(super) fn make(plan: &Plan) -> Result<Vec<Executable>, Problem> {
    let directory =
        plan.template.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let make = |build: &Build| match plan.binaries.get(&build.function) {
        Some(binary) => Ok(Executable::Binary(binary.clone())),
        None if build.is_behind_layer => layered::find(build, directory).or_input().map(Executable::Layered),
        None => {
            let made = make_one(build, plan.examples.get(&build.function), directory, plan.release);
            made.map(Executable::Binary)
        }
    };
    plan.stack.builds.iter().map(make).collect()
}

fn make_one(
    build: &Build,
    example: Option<&String>,
    template: &Path,
    release: bool,
) -> Result<PathBuf, Problem> {
    let directory = template.join(code(build).or_input()?);
    if !directory.is_dir() {
        let message = format!("CodeUri of {} is not a directory: {}", build.function, directory.display());
        return Err(Problem::Input(anyhow!("{message} (or pass --binary)")));
    }
    let bootstrap = directory.join("bootstrap");
    if example.is_none() && build.method.is_none() && bootstrap.is_file() {
        return Ok(bootstrap);
    }
    let targets = targets(build, &directory).or_input()?;
    let target = match example {
        Some(name) => choose_example(name, targets),
        None => choose(build, targets),
    };
    let target = target.or_input()?;
    compile(&target, &directory, release)
        .with_context(|| format!("could not build {}", target.name))
        .or_failed()
}

/// Returns the folder with the code of a function, if it can be built here.
fn code(build: &Build) -> anyhow::Result<&str> {
    let obstacle = match build {
        Build { is_image: true, .. } => "a container image".to_owned(),
        Build { runtime: Some(runtime), .. } if !runtime.starts_with("provided") => {
            format!("Runtime {runtime}")
        }
        Build { method: Some(method), .. } if method != "rust-cargolambda" => format!("BuildMethod {method}"),
        Build { code: Some(code), .. } => return Ok(code),
        Build { code: None, .. } => "code that is not in a directory".to_owned(),
    };
    bail!("{0}: {obstacle} cannot be built here, pass --binary {0}=PATH", build.function)
}

/// A target that Cargo can build, with its package.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    package: String,
    kind: TargetKind,
    name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetKind {
    Binary,
    Example,
}

impl TargetKind {
    fn of(target: &PackageTarget) -> Option<Self> {
        let is = |kind: &str| target.kind.iter().any(|found| found == kind);
        is("bin").then_some(Self::Binary).or_else(|| is("example").then_some(Self::Example))
    }

    /// Returns Cargo's flag that builds such a target.
    const fn flag(self) -> &'static str {
        match self {
            Self::Binary => "--bin",
            Self::Example => "--example",
        }
    }
}

fn targets(build: &Build, directory: &Path) -> anyhow::Result<Vec<Target>> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(directory)
        .output()
        .context("could not run cargo")?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        bail!("CodeUri of {}: {}", build.function, error.lines().next().unwrap_or("cargo metadata failed"));
    }
    let metadata: Metadata =
        serde_json::from_slice(&output.stdout).context("could not parse the output of cargo metadata")?;
    Ok(metadata.targets())
}

fn choose(build: &Build, targets: Vec<Target>) -> anyhow::Result<Target> {
    let binaries = only(TargetKind::Binary, targets);
    let names = names(&binaries);
    let by_handler = build.handler.as_ref().filter(|handler| binaries.iter().any(|b| b.name == **handler));
    match build.binary.as_ref().or(by_handler) {
        Some(wanted) => {
            let found = binaries.into_iter().find(|target| target.name == *wanted);
            found.with_context(|| {
                format!("{}: no binary {wanted} in Cargo.toml{}", build.function, or_known(wanted, &names))
            })
        }
        None => match <[Target; 1]>::try_from(binaries) {
            Ok([target]) => Ok(target),
            Err(_) => bail!(
                "{}: name one binary in Metadata.BuildProperties.Binary, or pass --binary; {}",
                build.function,
                list(&names)
            ),
        },
    }
}

fn choose_example(name: &str, targets: Vec<Target>) -> anyhow::Result<Target> {
    let examples = only(TargetKind::Example, targets);
    let names = names(&examples);
    let found = examples.into_iter().find(|target| target.name == name);
    found
        .with_context(|| format!("--example {name}: no such example in Cargo.toml{}", or_known(name, &names)))
}

fn only(kind: TargetKind, targets: Vec<Target>) -> Vec<Target> {
    targets.into_iter().filter(|target| target.kind == kind).collect()
}

fn names(targets: &[Target]) -> Vec<String> {
    targets.iter().map(|target| target.name.clone()).collect()
}

fn compile(target: &Target, directory: &Path, release: bool) -> anyhow::Result<PathBuf> {
    let output = cargo()
        .args(["build", "--package", &target.package, target.kind.flag(), &target.name])
        .args(["--message-format", "json-render-diagnostics"])
        .args(release.then_some("--release"))
        .current_dir(directory)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("could not run cargo")?;
    if !output.status.success() {
        bail!("cargo build failed");
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    let mut artifacts = lines.lines().filter_map(|line| serde_json::from_str::<Artifact>(line).ok());
    let artifact =
        artifacts.find(|artifact| artifact.target.name == target.name && artifact.executable.is_some());
    artifact.and_then(|artifact| artifact.executable).context("cargo built no executable")
}

/// Returns a command for the Cargo that started this process, or else for `cargo`. Variables about the package that `cargo
/// run` runs are removed, because build scripts that read them, such as that of `ring`, would run again.
fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(name);
        }
    }
    command
}

/// <https://doc.rust-lang.org/cargo/commands/cargo-metadata.html>
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    targets: Vec<PackageTarget>,
}

#[derive(Debug, Deserialize)]
struct PackageTarget {
    name: String,
    #[serde(default)]
    kind: Vec<String>,
}

impl Metadata {
    fn targets(self) -> Vec<Target> {
        let of = |package: Package| {
            let target = move |target: PackageTarget| {
                let (package, kind) = (package.name.clone(), TargetKind::of(&target)?);
                Some(Target { package, kind, name: target.name })
            };
            package.targets.into_iter().filter_map(target)
        };
        self.packages.into_iter().flat_map(of).collect()
    }
}

/// <https://doc.rust-lang.org/cargo/reference/external-tools.html#artifact-messages>
#[derive(Debug, Deserialize)]
struct Artifact {
    target: PackageTarget,
    executable: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(binary: Option<&str>) -> Build {
        Build { function: "Work".to_owned(), binary: binary.map(str::to_owned), ..Build::default() }
    }

    /// Returns binaries of these names, and an example with the name of one of them.
    fn targets(names: &[&str]) -> Vec<Target> {
        let target = |kind, name: &str| Target { package: "p".to_owned(), kind, name: name.to_owned() };
        let binaries = names.iter().map(|name| target(TargetKind::Binary, name));
        binaries.chain([target(TargetKind::Example, "a")]).collect()
    }

    #[test]
    fn a_container_image_needs_a_binary() {
        let image = Build { is_image: true, code: Some(".".to_owned()), ..build(None) };
        let expected = "Work: a container image cannot be built here, pass --binary Work=PATH";
        assert_eq!(code(&image).map_err(|error| error.to_string()), Err(expected.to_owned()));
    }

    #[test]
    fn the_named_binary_is_chosen_or_the_only_one() {
        for (wanted, names, chosen) in [
            (Some("b"), &["a", "b"][..], Ok("b")),
            (None, &["a"], Ok("a")),
            (Some("c"), &["a", "b"], Err("Work: no binary c in Cargo.toml; known: a, b")),
            (
                None,
                &["a", "b"],
                Err(
                    "Work: name one binary in Metadata.BuildProperties.Binary, or pass --binary; known: a, b",
                ),
            ),
        ] {
            let found = choose(&build(wanted), targets(names));
            let found = found.as_ref().map(|target| target.name.as_str()).map_err(ToString::to_string);
            assert_eq!(found, chosen.map_err(str::to_owned));
        }
    }

    #[test]
    fn an_example_is_none_of_the_binaries() {
        let example = choose_example("a", targets(&["a", "b"])).map(|target| target.kind);
        assert_eq!(example.ok(), Some(TargetKind::Example));
        let error = choose_example("b", targets(&["a", "b"])).map_err(|error| error.to_string());
        let expected = "--example b: no such example in Cargo.toml; known: a";
        assert_eq!(error, Err(expected.to_owned()));
    }
}
