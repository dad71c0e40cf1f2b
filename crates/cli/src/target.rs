//! The flags that select a file, a stack or a function, from which a subject is read.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use redrive_iac::deployment::Deployment;
use redrive_iac::deployment::template::{self, Source};
use redrive_local::command::arguments::key_and_value;

use crate::aws::{Aws, Place};
use crate::deployed::{self, Deployed};
use crate::input;
use crate::problem::{OrProblem, Problem};
use crate::wait::wait;

/// What was typed.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Where to look")]
pub(crate) struct Target {
    /// SAM or CloudFormation template, or the output of `terraform show -json` for a plan or a state; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stack", "function"])]
    pub(crate) template: Option<PathBuf>,

    /// Value of a template parameter (may be repeated)
    #[arg(long = "parameter", value_name = "KEY=VALUE", value_parser = key_and_value, conflicts_with_all = ["stack", "function"])]
    pub(crate) parameters: Vec<(String, String)>,

    /// Deployed CloudFormation stack
    #[arg(long, value_name = "NAME", conflicts_with = "function")]
    pub(crate) stack: Option<String>,

    /// Deployed Lambda function
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Option<String>,

    #[command(flatten)]
    pub(crate) place: Place,
}

impl Target {
    pub(crate) fn names_nothing(&self) -> bool {
        self.template.is_none() && self.stack.is_none() && self.function.is_none()
    }

    /// Reads the selected target, or the template at `otherwise` if nothing is selected and there is a path.
    ///
    /// # Errors
    /// The file, stack or function does not exist or cannot be understood, or permission is missing.
    pub(crate) fn read(&self, otherwise: Option<&Path>) -> Result<Option<Deployment>, Problem> {
        let deployed = match (&self.stack, &self.function) {
            (Some(name), _) => Deployed::Stack(name),
            (None, Some(name)) => Deployed::Function(name),
            (None, None) => {
                let path = self.template.as_deref().or(otherwise);
                if path.is_none() && !self.parameters.is_empty() {
                    return Err(Problem::Input(anyhow!("--parameter requires --template")));
                }
                return path.map(|path| self.of_template(path)).transpose();
            }
        };
        let subject = wait(async {
            let aws = Aws::connect(&self.place).await.or_input()?;
            deployed::read(&aws, deployed).await.or_failed()
        });
        subject.map(Some)
    }

    fn of_template(&self, path: &Path) -> Result<Deployment, Problem> {
        let text = input::template(path).or_input()?;
        let path = input::named(path);
        let source = Source {
            path,
            text: &text,
            parameters: &self.parameters,
            region: self.place.region.as_deref(),
            deployed: None,
            file: &input::mentioned,
        };
        template::read(&source).with_context(|| path.display().to_string()).or_input()
    }
}
