//! Functions behind the layer, with the real runtime clients.

pub(crate) mod lambda;
pub(crate) mod story;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than anything here takes on the slowest machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A language whose runtime client is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    Node,
}

/// Returns the languages whose clients are installed. Python's must be.
pub(crate) fn languages() -> Vec<Language> {
    let mut languages = vec![Language::Python];
    if node_client().exists() {
        languages.push(Language::Node);
    } else {
        println!(
            "skipped: Node, since its runtime client is not installed: run `make target/node-ric/installed`"
        );
    }
    languages
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

fn node_client() -> PathBuf {
    root().join("target/node-ric/node_modules/aws-lambda-ric/rapid-client.node")
}

impl Language {
    /// Prepares and returns the folder of the function.
    pub(crate) fn folder(self) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("layer-{self:?}"));
        fs::create_dir_all(&folder).unwrap();
        let file = match self {
            Self::Python => "app.py",
            Self::Node => "app.mjs",
        };
        let source = fs::read(root().join("crates/layer/tests/functions").join(file)).unwrap();
        replace(&folder.join(file), &source, 0o644);
        folder
    }

    /// Returns the command that Lambda hands to a wrapper.
    pub(crate) fn command(self) -> Vec<String> {
        let words: &[PathBuf] = match self {
            Self::Python => {
                let python = root().join("target/venv/bin/python");
                assert!(python.exists(), "the Python tools are not installed yet: run `make test` once");
                &[python, "-m".into(), "awslambdaric".into()]
            }
            Self::Node => &["node".into(), node_client().with_file_name("index.mjs")],
        };
        words.iter().map(|word| word.display().to_string()).chain(["app.handler".to_owned()]).collect()
    }

    /// Writes an executable that runs the function behind the layer.
    pub(crate) fn bootstrap(self) -> PathBuf {
        let bootstrap = self.folder().join("bootstrap");
        let words = self.command().join(" ");
        let script = format!("#!/bin/sh\nexec {} {words}\n", env!("CARGO_BIN_EXE_redrive-layer"));
        replace(&bootstrap, script.as_bytes(), 0o755);
        bootstrap
    }
}

/// Replaces a file at once. Tests in parallel never see half of it, nor execute one that is being written.
fn replace(path: &Path, content: &[u8], mode: u32) {
    if fs::read(path).is_ok_and(|known| known == content) {
        return;
    }
    let new = path.with_extension(format!("{}-{:?}", std::process::id(), std::thread::current().id()));
    fs::write(&new, content).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(mode)).unwrap();
    fs::rename(new, path).unwrap();
}
