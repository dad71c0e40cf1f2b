//! How panics end in the release build of a function whose Cargo project lies beside the template.
//! <https://doc.rust-lang.org/cargo/reference/profiles.html#panic>

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::super::Panics;
use super::Source;
use crate::template::{Node, Resource};

/// A project's root is not further up.
const LEVELS: usize = 8;

#[derive(Deserialize)]
struct Manifest {
    profile: Option<Profiles>,
    workspace: Option<toml::Value>,
    dependencies: Option<toml::Table>,
}

#[derive(Deserialize)]
struct Profiles {
    release: Option<Release>,
}

#[derive(Deserialize)]
struct Release {
    panic: Option<Spanned<String>>,
}

/// Whether cargo-lambda builds it, or its manifest depends on redrive.
pub(super) fn is_redrive(resource: &Resource, source: &Source<'_>) -> bool {
    let Some(project) = Project::of(resource, source) else { return false };
    let depends = || {
        let manifest =
            toml::from_str::<Manifest>(&(source.file)(&project.folder.join("Cargo.toml"))?).ok()?;
        Some(manifest.dependencies?.contains_key("redrive"))
    };
    project.by_cargo_lambda || depends().unwrap_or(false)
}

pub(super) fn read(resource: &Resource, source: &Source<'_>) -> Option<Panics> {
    let Project { folder, by_cargo_lambda } = Project::of(resource, source)?;
    let own = folder.join("Cargo.toml");
    let text = (source.file)(&own)?;
    let manifest = toml::from_str::<Manifest>(&text).ok()?;
    // Profiles count at the workspace's root only.
    let (path, text, manifest) = match manifest.workspace {
        Some(_) => (own, text, manifest),
        None => workspace(&folder, source).unwrap_or((own, text, manifest)),
    };
    let strategy = manifest.profile.and_then(|profiles| profiles.release?.panic).map(|panic| {
        let line = text[..panic.span().start.min(text.len())].matches('\n').count() + 1;
        (panic.into_inner(), line)
    });
    Some(Panics { manifest: path, strategy, by_cargo_lambda })
}

/// Where a function's code is made.
struct Project {
    folder: PathBuf,
    by_cargo_lambda: bool,
}

impl Project {
    /// None for code that is elsewhere, or that no compiler makes.
    fn of(resource: &Resource, source: &Source<'_>) -> Option<Self> {
        let text = |name: &str| resource.properties.get(name).and_then(Node::as_text);
        if text("Runtime").is_some_and(|runtime| !runtime.starts_with("provided"))
            || resource.properties.get("InlineCode").is_some()
        {
            return None;
        }
        let method = resource.metadata.as_ref().and_then(|metadata| metadata.get("BuildMethod"));
        let is_built = method.and_then(Node::as_text) == Some("rust-cargolambda");
        let code = resource.code()?;
        if code.contains("://") || Path::new(code).is_absolute() {
            return None;
        }
        let base = source.path.parent().unwrap_or(Path::new(""));
        let (folder, prebuilt) = project(Path::new(code));
        Some(Self { folder: base.join(folder), by_cargo_lambda: prebuilt || is_built })
    }
}

/// The project's folder for `target/lambda/NAME`, where cargo-lambda puts what it builds.
fn project(code: &Path) -> (PathBuf, bool) {
    let mut folder = PathBuf::new();
    let mut components = code.components().peekable();
    while let Some(component) = components.next() {
        let next = components.peek().map(|next| next.as_os_str());
        if component == Component::Normal("target".as_ref()) && next == Some("lambda".as_ref()) {
            return (folder, true);
        }
        folder.push(component);
    }
    (folder, false)
}

fn workspace(folder: &Path, source: &Source<'_>) -> Option<(PathBuf, String, Manifest)> {
    let mut folder = folder.to_owned();
    for _ in 0..LEVELS {
        folder.push("..");
        let path = folder.join("Cargo.toml");
        let Some(text) = (source.file)(&path) else { continue };
        let Ok(manifest) = toml::from_str::<Manifest>(&text) else { continue };
        if manifest.workspace.is_some() {
            return Some((path, text, manifest));
        }
    }
    None
}
