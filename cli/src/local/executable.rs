//! Building a function as `sam build` would choose it: the binary that the template's metadata names.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow, bail};
use serde::Deserialize;

use super::plan::Plan;
use crate::problem::{OrProblem, Problem};
use crate::template::Build;

/// An executable for each function of the plan, in the same order. Cargo's own messages go to stderr.
pub(super) fn make(plan: &Plan) -> Result<Vec<PathBuf>, Problem> {
    let directory =
        plan.template.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let make = |build: &Build| match plan.binaries.get(&build.function) {
        Some(binary) => Ok(binary.clone()),
        None => make_one(build, directory, plan.release),
    };
    plan.stack.builds.iter().map(make).collect()
}

fn make_one(build: &Build, template: &Path, release: bool) -> Result<PathBuf, Problem> {
    let directory = template.join(code(build).or_input()?);
    if !directory.is_dir() {
        let message = format!("CodeUri of {} is not a directory: {}", build.function, directory.display());
        return Err(Problem::Input(anyhow!("{message} (or give --binary)")));
    }
    let bootstrap = directory.join("bootstrap");
    if build.method.is_none() && bootstrap.is_file() {
        return Ok(bootstrap);
    }
    let target = find(build, &directory).or_input()?;
    compile(&target, &directory, release)
        .with_context(|| format!("could not build {}", target.binary))
        .or_failed()
}

/// Where the code of a function that can be built here is.
fn code(build: &Build) -> anyhow::Result<&str> {
    let obstacle = match build {
        Build { runtime: Some(runtime), .. } if !runtime.starts_with("provided") => {
            format!("Runtime {runtime}")
        }
        Build { method: Some(method), .. } if method != "rust-cargolambda" => format!("BuildMethod {method}"),
        Build { code: Some(code), .. } => return Ok(code),
        Build { code: None, .. } => "code that is not in a directory".to_owned(),
    };
    bail!("{0}: {obstacle} cannot be built here, give --binary {0}=PATH", build.function)
}

/// A binary and the package it belongs to.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    package: String,
    binary: String,
}

fn find(build: &Build, directory: &Path) -> anyhow::Result<Target> {
    let output = Command::new(cargo())
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(directory)
        .output()
        .context("could not run cargo")?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        bail!("CodeUri of {}: {}", build.function, error.lines().next().unwrap_or("cargo metadata failed"));
    }
    let metadata: Metadata =
        serde_json::from_slice(&output.stdout).context("cargo metadata is not understood")?;
    choose(build, metadata.binaries())
}

fn choose(build: &Build, binaries: Vec<Target>) -> anyhow::Result<Target> {
    let names: Vec<String> = binaries.iter().map(|target| target.binary.clone()).collect();
    let names = names.join(", ");
    let by_handler = build.handler.as_ref().filter(|handler| binaries.iter().any(|b| b.binary == **handler));
    match build.binary.as_ref().or(by_handler) {
        Some(wanted) => {
            let found = binaries.into_iter().find(|target| target.binary == *wanted);
            found.with_context(|| {
                format!("{}: Cargo knows no binary {wanted}; there are: {names}", build.function)
            })
        }
        None => match <[Target; 1]>::try_from(binaries) {
            Ok([target]) => Ok(target),
            Err(_) => bail!(
                "{}: name one binary in Metadata.BuildProperties.Binary, or give --binary; there are: {names}",
                build.function
            ),
        },
    }
}

fn compile(target: &Target, directory: &Path, release: bool) -> anyhow::Result<PathBuf> {
    let output = Command::new(cargo())
        .args(["build", "--package", &target.package, "--bin", &target.binary])
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
        artifacts.find(|artifact| artifact.target.name == target.binary && artifact.executable.is_some());
    artifact.and_then(|artifact| artifact.executable).context("cargo built no executable")
}

/// Cargo tells its subcommands and children which cargo runs them.
fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
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
    fn binaries(self) -> Vec<Target> {
        let targets = self.packages.into_iter().flat_map(|Package { name, targets }| {
            targets.into_iter().map(move |target| (name.clone(), target))
        });
        targets
            .filter(|(_, target)| target.kind.iter().any(|kind| kind == "bin"))
            .map(|(package, target)| Target { package, binary: target.name })
            .collect()
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

    fn targets(names: &[&str]) -> Vec<Target> {
        names.iter().map(|name| Target { package: "p".to_owned(), binary: (*name).to_owned() }).collect()
    }

    #[test]
    fn the_named_binary_is_chosen_or_the_only_one() {
        for (wanted, names, chosen) in [
            (Some("b"), &["a", "b"][..], Ok("b")),
            (None, &["a"], Ok("a")),
            (Some("c"), &["a", "b"], Err("Work: Cargo knows no binary c; there are: a, b")),
            (
                None,
                &["a", "b"],
                Err(
                    "Work: name one binary in Metadata.BuildProperties.Binary, or give --binary; there are: a, b",
                ),
            ),
        ] {
            let found = choose(&build(wanted), targets(names));
            let found = found.as_ref().map(|target| target.binary.as_str()).map_err(ToString::to_string);
            assert_eq!(found, chosen.map_err(str::to_owned));
        }
    }
}
