//! Runs a function in Python or Node behind redrive's Lambda layer, with the user's interpreter and runtime client.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

use super::stack::Build;
use crate::FunctionConfig;
use crate::command::shell::word;

/// Name of the layer's executable, which may be installed beside this command.
const LAYER: &str = "redrive-layer";

/// The command of a function behind the layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layered {
    layer: PathBuf,
    /// The command that Lambda passes to a wrapper.
    runtime: Vec<String>,
    folder: PathBuf,
    handler: String,
}

impl Layered {
    pub(super) fn run_in(&self, function: &mut FunctionConfig) {
        function.command.clone_from(&self.layer);
        function.arguments.clone_from(&self.runtime);
        function.folder = Some(self.folder.clone());
        function.environment.insert("_HANDLER".to_owned(), self.handler.clone());
    }
}

/// Finds the layer, the interpreter and its client.
///
/// # Errors
/// Returns an error if one of them is missing, with the way to install it.
pub(super) fn find(build: &Build, template: &Path) -> anyhow::Result<Layered> {
    let function = &build.function;
    let code = build.code.as_ref();
    let code = code.with_context(|| {
        format!("{function}: its code is in no folder beside the template: write it there, and set CodeUri")
    })?;
    let folder =
        template.join(code).canonicalize().with_context(|| format!("CodeUri of {function}: {code}"))?;
    ensure!(
        folder.is_dir(),
        "CodeUri of {function} is not a folder: {code}; unpack it, and set CodeUri to the folder"
    );
    let handler = build.handler.clone().with_context(|| format!("{function} has no Handler"))?;
    let mut runtime = match build.runtime.as_deref().unwrap_or_default() {
        runtime if runtime.starts_with("python") => {
            let has_client = Command::new("python3")
                .args(["-c", "import awslambdaric"])
                .current_dir(&folder)
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .status();
            ensure!(
                has_client.is_ok_and(|status| status.success()),
                "{function}: python3 has no Lambda runtime client; install it: python3 -m pip install awslambdaric"
            );
            ["python3", "-m", "awslambdaric"].map(str::to_owned).to_vec()
        }
        runtime if runtime.starts_with("nodejs") => {
            let installed = folder.ancestors().map(|it| it.join("node_modules/.bin")).chain(path());
            let client =
                installed.map(|folder| folder.join("aws-lambda-ric")).find(|client| client.is_file());
            let client = client.with_context(|| {
                format!(
                    "{function}: the Lambda runtime client of Node is missing; install it: npm install --no-save --prefix {} aws-lambda-ric",
                    word(&folder.to_string_lossy())
                )
            })?;
            vec!["node".to_owned(), client.canonicalize()?.display().to_string()]
        }
        runtime => {
            bail!("{function}: Runtime is {runtime:?}, allowed behind the layer here: python3.x or nodejs")
        }
    };
    runtime.push(handler.clone());
    let own = std::env::current_exe().context("could not find the command itself")?;
    let mut folders = own.parent().map(Path::to_owned).into_iter().chain(path());
    let layer = folders.find_map(|folder| Some(folder.join(LAYER)).filter(|layer| layer.is_file()));
    let layer = layer.with_context(|| {
        format!("{function} runs behind the layer: {LAYER} is missing; put it beside redrive or into a folder of PATH")
    })?;
    Ok(Layered { layer, runtime, folder, handler })
}

fn path() -> impl Iterator<Item = PathBuf> {
    std::env::var_os("PATH").into_iter().flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>())
}
