//! Reads the Cargo project beside a template: its dependency on redrive, and the panic settings of its release build.
//! <https://doc.rust-lang.org/cargo/reference/profiles.html#panic>

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use serde::Deserialize;
use toml::Spanned;

use super::super::Panics;
use super::Source;
use crate::{Node, Resource};

/// Levels to search above a folder for the project's root.
const LEVELS: usize = 8;

#[derive(Deserialize)]
struct Manifest {
    package: Option<toml::Table>,
    profile: Option<Profiles>,
    workspace: Option<toml::Table>,
    dependencies: Option<toml::Table>,
    #[serde(default)]
    bin: Vec<toml::Table>,
}

#[derive(Deserialize)]
struct Profiles {
    release: Option<Release>,
}

#[derive(Deserialize)]
struct Release {
    panic: Option<Spanned<String>>,
}

/// Most manifests, and most bytes of them. A workspace has fewer.
const MOST_FILES: usize = 1_000;
const MOST_BYTES: usize = 8 * 1_024 * 1_024;

/// The manifests beside a template, each read once.
pub(super) struct Manifests<'a> {
    source: &'a Source<'a>,
    known: RefCell<HashMap<PathBuf, Option<Rc<Text>>>>,
    bytes: Cell<usize>,
}

/// A manifest with its text.
struct Text {
    path: PathBuf,
    text: String,
    manifest: Manifest,
}

impl<'a> Manifests<'a> {
    pub(super) fn beside(source: &'a Source<'a>) -> Self {
        Self { source, known: RefCell::default(), bytes: Cell::default() }
    }

    /// Returns true if there are more than are read.
    pub(super) fn are_too_many(&self) -> bool {
        self.known.borrow().len() >= MOST_FILES || self.bytes.get() > MOST_BYTES
    }

    fn of(&self, folder: &Path) -> Option<Rc<Text>> {
        let path = plain(&folder.join("Cargo.toml"));
        if let Some(known) = self.known.borrow().get(&path) {
            return known.clone();
        }
        if self.are_too_many() {
            return None;
        }
        let text = (self.source.file)(&path);
        self.bytes.set(self.bytes.get() + text.as_ref().map_or(0, String::len));
        let read = text.filter(|_| self.bytes.get() <= MOST_BYTES).and_then(|text| {
            let manifest = toml::from_str(&text).ok()?;
            Some(Rc::new(Text { path: path.clone(), text, manifest }))
        });
        self.known.borrow_mut().insert(path, read.clone());
        read
    }

    /// Returns the manifest of the workspace above a folder.
    fn workspace(&self, folder: &Path) -> Option<Rc<Text>> {
        let mut folder = folder.to_owned();
        for _ in 0..LEVELS {
            folder = plain(&folder.join(".."));
            let found = self.of(&folder).filter(|found| found.manifest.workspace.is_some());
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// Returns true if the project's own manifest depends on redrive, or that of the workspace's member that makes the function.
pub(super) fn is_redrive(resource: &Resource, manifests: &Manifests<'_>) -> bool {
    let Some(Project { folder, binary, .. }) = Project::of(resource, manifests.source) else { return false };
    let Some(own) = manifests.of(&folder) else { return false };
    let name = binary.as_deref().unwrap_or_default();
    let mut seen = HashSet::new();
    own.manifest.depends_on_redrive()
        || own.manifest.members().filter(|member| seen.insert(*member)).take(MOST_FILES).any(|member| {
            // The members of a pattern cannot be listed, but most folders are named after their packages.
            let member = manifests.of(&folder.join(member.replace('*', name)));
            let makes = |it: &Manifest| (name.is_empty() || it.makes(name)) && it.depends_on_redrive();
            member.is_some_and(|it| makes(&it.manifest))
        })
}

impl Manifest {
    fn depends_on_redrive(&self) -> bool {
        self.dependencies.iter().flatten().any(|(name, dependency)| {
            dependency.get("package").and_then(toml::Value::as_str).unwrap_or(name) == "redrive"
        })
    }

    fn members(&self) -> impl Iterator<Item = &str> {
        let members = self.workspace.as_ref().and_then(|workspace| workspace.get("members")?.as_array());
        members.into_iter().flatten().filter_map(toml::Value::as_str)
    }

    /// Returns true if it makes a binary of this name.
    fn makes(&self, binary: &str) -> bool {
        let mut named = self.package.iter().chain(&self.bin).filter_map(|it| it.get("name")?.as_str());
        named.any(|name| name == binary)
    }
}

pub(super) fn read(resource: &Resource, manifests: &Manifests<'_>) -> Option<Panics> {
    let Project { folder, by_cargo_lambda, .. } = Project::of(resource, manifests.source)?;
    let own = manifests.of(&folder)?;
    // Cargo reads profiles at the workspace's root only.
    let root = match own.manifest.workspace {
        Some(_) => own,
        None => manifests.workspace(&folder).unwrap_or(own),
    };
    let profile = root.manifest.profile.as_ref().and_then(|profiles| profiles.release.as_ref());
    let strategy = profile.and_then(|release| release.panic.as_ref()).map(|panic| {
        let before = root.text.get(..panic.span().start).unwrap_or_default();
        (panic.get_ref().clone(), before.matches('\n').count() + 1)
    });
    Some(Panics { manifest: root.path.clone(), strategy, by_cargo_lambda })
}

/// The Cargo project of a function.
struct Project {
    folder: PathBuf,
    by_cargo_lambda: bool,
    /// Name of the function's binary, if the template tells it.
    binary: Option<String>,
}

impl Project {
    /// Returns `None` for code that is elsewhere, or that is not compiled.
    fn of(resource: &Resource, source: &Source<'_>) -> Option<Self> {
        let text = |name: &str| resource.properties.text_at(name);
        if text("Runtime").is_some_and(|runtime| !runtime.starts_with("provided"))
            || resource.properties.get("InlineCode").is_some()
        {
            return None;
        }
        let metadata = |name: &str| resource.metadata.as_ref()?.get(name);
        let is_built = metadata("BuildMethod").and_then(Node::as_text) == Some("rust-cargolambda");
        let named = metadata("BuildProperties").and_then(|it| it.get("Binary")?.as_text());
        let code = resource.code()?;
        if code.contains("://") || Path::new(code).is_absolute() {
            return None;
        }
        let base = source.path.parent().unwrap_or(Path::new(""));
        let (folder, prebuilt) = project(Path::new(code));
        let binary = named.map(str::to_owned).or_else(|| {
            let name = Path::new(code).file_name().filter(|_| prebuilt)?;
            Some(name.to_string_lossy().into_owned())
        });
        Some(Self { folder: plain(&base.join(folder)), by_cargo_lambda: prebuilt || is_built, binary })
    }
}

/// Returns the project's folder, and true if the code is in `target/lambda/NAME`, where cargo-lambda puts what it builds.
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

/// Removes `.` and `x/..` from a path.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match (component, plain.components().next_back()) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => drop(plain.pop()),
            _ => plain.push(component),
        }
    }
    plain
}
