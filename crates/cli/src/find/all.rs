//! The flags that select one queue, or all queues of several profiles and regions.

use anyhow::anyhow;
use clap::error::Error;
use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::Which;
use crate::fleet::Places;
use crate::problem::Problem;

/// What was typed.
#[derive(Debug, Clone, Default)]
pub(crate) struct WhichOrAll {
    pub(crate) which: Which,
    profiles: Vec<String>,
    regions: Vec<String>,
}

impl WhichOrAll {
    /// Returns the places of all queues.
    pub(crate) fn places(&self) -> Places {
        let (profiles, regions, place) =
            (self.profiles.clone(), self.regions.clone(), self.which.place.clone());
        Places { profiles, regions, endpoint_url: place.endpoint_url, timeout: place.timeout }
    }

    /// Returns the flags of one queue.
    ///
    /// # Errors
    /// Several profiles or regions were given.
    pub(crate) fn only(&self) -> Result<&Which, Problem> {
        for (flag, given) in [("--profile", &self.profiles), ("--region", &self.regions)] {
            if given.len() > 1 {
                return Err(Problem::Input(anyhow!(
                    "{flag} is given {} times, allowed: once, unless --all",
                    given.len()
                )));
            }
        }
        Ok(&self.which)
    }
}

impl Args for WhichOrAll {
    fn augment_args(command: Command) -> Command {
        let repeated =
            |command: Command, id| command.mut_arg(id, |argument| argument.action(ArgAction::Append));
        ["profile", "region"].into_iter().fold(Which::augment_args(command), repeated)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for WhichOrAll {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let many = |id| matches.get_many::<String>(id).into_iter().flatten().cloned().collect();
        let (profiles, regions) = (many("profile"), many("region"));
        Ok(Self { which: Which::from_arg_matches(matches)?, profiles, regions })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
