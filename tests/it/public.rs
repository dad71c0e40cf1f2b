use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Enums that are complete, since AWS's are, or of which whoever reads them must know each variant: another one is a
/// change of version that Cargo does not make by itself.
const COMPLETE: [&str; 13] = [
    "redrive::once::Change",
    "redrive::once::Claimed",
    "redrive::once::End",
    "redrive_local::AlarmState",
    "redrive_local::AttributeValue",
    "redrive_local::Comparison",
    "redrive_local::EventKind",
    "redrive_local::InvocationOutcome",
    "redrive_local::MissingData",
    "redrive_local::Speed",
    "redrive_sqs::Address",
    "redrive_sqs::RedriveAllowPolicy",
    "redrive_sqs::Refusal",
];

fn read(file: impl AsRef<Path>) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// The public interface of each published library, as `make interface` lists it.
fn listings() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("interface");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |file: &Path| file.file_stem().unwrap().to_str().unwrap().to_owned();
    let listings = files.filter(|file| file.extension().is_some_and(|kind| kind == "txt"));
    listings.map(|file| (name(&file), read(&file))).collect()
}

fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The types and traits of other crates in a listing, by the paths at which they are defined.
fn foreign(listing: &str) -> BTreeSet<&str> {
    let paths = listing.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    let is_foreign = |path: &&str| {
        path.split_once("::").is_some_and(|(name, _)| {
            let is_crate = name.starts_with(|c: char| c.is_ascii_lowercase());
            is_crate && !["core", "alloc", "std"].contains(&name) && !name.starts_with("redrive")
        })
    };
    paths.filter(is_foreign).collect()
}

#[test]
fn every_published_library_is_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = read("Cargo.toml");
    let members = manifest.split("members = [").nth(1).unwrap().split(']').next().unwrap();
    let folders = members.split('"').skip(1).step_by(2).chain([""]).map(|member| root.join(member));
    let libraries = folders
        .filter(|folder| folder.join("src/lib.rs").exists())
        .map(|folder| read(folder.join("Cargo.toml")));
    let published = libraries.filter(|manifest| !manifest.contains("\npublish = false\n"));
    let name = |manifest: String| {
        manifest.split("\nname = \"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let mut names: BTreeSet<_> = published.map(name).collect();
    for internal in ["redrive-event", "redrive-executor", "redrive-template"] {
        assert!(names.remove(internal), "for redrive or the command alone");
    }
    assert_eq!(listings().into_keys().collect::<BTreeSet<_>>(), names);
}

#[test]
fn contributing_lists_every_foreign_type_of_each_library() {
    let contributing = read("CONTRIBUTING.md");
    let section = contributing.split("\n## Types of other crates\n").nth(1).expect("a section");
    let table = section.split("\n## ").next().unwrap();
    let mut listed = BTreeSet::new();
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = row.split(" | ").collect();
        for library in quoted(cells[1]) {
            listed.extend(quoted(cells[0]).map(|path| (library.to_owned(), path.to_owned())));
        }
    }
    let listings = listings();
    let found: BTreeSet<_> = listings
        .iter()
        .flat_map(|(name, listing)| {
            foreign(listing).into_iter().map(move |path| (name.clone(), path.to_owned()))
        })
        .collect();
    assert!(found.len() > 20, "{found:?}");
    assert_eq!(found, listed, "what is in interface/*.txt, and what CONTRIBUTING.md lists");
}

#[test]
fn reexports_has_the_crate_of_every_foreign_type() {
    let listings = listings();
    let as_users_know_it = |path: &str| match path.split("::").next().unwrap() {
        "serde_core" => "serde".to_owned(),
        "tower_service" => "lambda_runtime".to_owned(),
        name => name.to_owned(),
    };
    let crates: BTreeSet<_> = foreign(&listings["redrive"]).into_iter().map(as_users_know_it).collect();
    let reexports =
        listings["redrive"].lines().filter_map(|line| line.strip_prefix("pub use redrive::reexports::"));
    assert_eq!(crates, reexports.map(str::to_owned).collect());
}

/// An enum of which a user may match every variant could never get another one.
#[test]
fn every_public_enum_can_get_another_variant() {
    let listings = listings();
    let complete = listings
        .values()
        .flat_map(|listing| listing.lines())
        .filter_map(|line| line.strip_prefix("pub enum ")?.split('<').next());
    assert_eq!(complete.collect::<BTreeSet<_>>(), BTreeSet::from(COMPLETE));
}
