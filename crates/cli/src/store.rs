//! Place of the history, the snoozes and the journal: a folder of this machine, or a DynamoDB table that a team shares.

mod table;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::bail;
use redrive_sqs::Quoted;

pub(crate) use self::table::{Change, Table};
use crate::aws::Aws;
use crate::problem::{OrProblem, Problem};

const OF_TABLE: &str = "dynamodb:";

#[derive(Debug, Clone)]
pub(crate) enum Store {
    Off,
    Folder(PathBuf),
    Table(Table),
}

/// The place as configured. A table has a name or ARN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StorePlace {
    Off,
    Folder(PathBuf),
    Table(String),
}

impl StorePlace {
    /// # Errors
    /// The environment names a table with an invalid name.
    pub(crate) fn from_env() -> Result<Self, Problem> {
        Self::read(None, |name| std::env::var_os(name)).or_input()
    }

    /// Returns the place from the flag, else from the environment, which `variable` reads.
    ///
    /// # Errors
    /// The table's name is invalid.
    pub(crate) fn read(
        flag: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> anyhow::Result<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let (by, given) = match flag {
            Some(flag) => ("--journal", Some(flag.to_owned())),
            None => ("REDRIVE_JOURNAL", set("REDRIVE_JOURNAL")),
        };
        let Some(path) = given.or_else(|| of_state(&variable)) else { return Ok(Self::Off) };
        match path.to_str().map(|text| (text, text.strip_prefix(OF_TABLE))) {
            Some(("off", _)) => Ok(Self::Off),
            Some((_, Some(table))) if is_table(table) => Ok(Self::Table(table.to_owned())),
            Some((text, Some(_))) => bail!(
                "{by} is {}, allowed: a folder, off, or {OF_TABLE} and the name or ARN of a DynamoDB table",
                Quoted(text)
            ),
            Some((_, None)) | None => Ok(Self::Folder(path)),
        }
    }

    /// Returns a folder of this machine for files beside the history, if there is one.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        match self {
            Self::Folder(folder) => Some(folder.clone()),
            Self::Off | Self::Table(_) => of_state(&|name: &str| std::env::var_os(name)),
        }
    }

    /// Opens the store. Calls `connect` for a table only.
    ///
    /// # Errors
    /// Those of `connect`.
    pub(crate) async fn reach(
        self,
        connect: impl AsyncFnOnce() -> Result<Aws, Problem>,
    ) -> Result<Store, Problem> {
        Ok(match self {
            Self::Off => Store::Off,
            Self::Folder(folder) => Store::Folder(folder),
            Self::Table(name) => Store::Table(Table::new(&connect().await?, name)),
        })
    }
}

/// Returns the user's folder for state.
fn of_state(variable: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // The specification requires ignoring relative paths: https://specifications.freedesktop.org/basedir-spec/latest/
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("redrive"))
}

/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html>
fn is_table(table: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let is_name = |name: &str| (3..=255).contains(&name.len()) && name.chars().all(is_known);
    match *table.split(':').collect::<Vec<_>>() {
        [name] => is_name(name),
        ["arn", _, "dynamodb", region, account, resource] => {
            !region.is_empty() && !account.is_empty() && resource.strip_prefix("table/").is_some_and(is_name)
        }
        _ => false,
    }
}

/// Returns the region of a table's ARN.
fn region_of(table: &str) -> Option<&str> {
    table.split(':').nth(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(flag: Option<&str>, variables: &[(&str, &str)]) -> Result<StorePlace, String> {
        let variable = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        };
        StorePlace::read(flag.map(Path::new), variable).map_err(|error| error.to_string())
    }

    #[test]
    fn the_folder_is_the_users_state_unless_one_is_given() {
        let home = ("HOME", "/home/ada");
        let state = |path: &str| Ok(StorePlace::Folder(PathBuf::from(path)));
        assert_eq!(named(None, &[home]), state("/home/ada/.local/state/redrive"));
        assert_eq!(named(None, &[home, ("XDG_STATE_HOME", "/state")]), state("/state/redrive"));
        let relative = named(None, &[home, ("XDG_STATE_HOME", "state")]);
        assert_eq!(relative, state("/home/ada/.local/state/redrive"));
        assert_eq!(named(None, &[home, ("REDRIVE_JOURNAL", "/journal")]), state("/journal"));
        assert_eq!(named(Some("here"), &[home, ("REDRIVE_JOURNAL", "off")]), state("here"));
        assert_eq!(named(None, &[home, ("REDRIVE_JOURNAL", "off")]), Ok(StorePlace::Off));
        assert_eq!(named(Some("off"), &[home]), Ok(StorePlace::Off));
        assert_eq!(named(None, &[]), Ok(StorePlace::Off));
    }

    #[test]
    fn a_table_is_named_by_its_name_or_its_arn() {
        let arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/team.redrive";
        for table in ["team-redrive", arn] {
            assert_eq!(
                named(Some(&format!("dynamodb:{table}")), &[]),
                Ok(StorePlace::Table(table.to_owned()))
            );
        }
        assert_eq!((region_of("team-redrive"), region_of(arn)), (None, Some("eu-west-1")));
        assert_eq!(
            named(Some("./dynamodb:x"), &[]),
            Ok(StorePlace::Folder(PathBuf::from("./dynamodb:x"))),
            "a folder of that name"
        );
        for table in ["", "ab", "a b c", "arn:aws:dynamodb:eu-west-1:123456789012:index/x-y-z", "arn:aws:sqs"]
        {
            let error = named(None, &[("REDRIVE_JOURNAL", &format!("dynamodb:{table}"))]).unwrap_err();
            let expected = format!(
                "REDRIVE_JOURNAL is \"dynamodb:{table}\", allowed: a folder, off, or dynamodb: and the name or ARN of a DynamoDB table"
            );
            assert_eq!(error, expected);
        }
    }
}
