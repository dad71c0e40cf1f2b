//! Checks a resource's properties as AWS does. Errors name the property, the value and the allowed values.

use redrive_iac::nearest::did_you_mean;
use redrive_iac::{Node, Resource, TemplateError, scalar};
use redrive_sqs::Quoted;

use super::Result;

/// The properties of a resource, or a part of the properties.
#[derive(Debug, Clone, Copy)]
pub(super) struct Properties<'a> {
    pub(super) node: &'a Node,
    /// The resource's logical id, which errors name.
    pub(super) id: &'a str,
}

/// The allowed values of a property.
#[derive(Debug, Clone, Copy)]
pub(super) enum Allowed {
    Text,
    /// A map of texts, some of which may be unknown.
    Texts,
    Number,
    Flag,
    /// A whole number from the first to the last.
    Whole(u64, u64),
}

impl<'a> Properties<'a> {
    pub(super) fn of(resource: &'a Resource) -> Self {
        Self { node: &resource.properties, id: &resource.id }
    }

    /// Returns a property, which must be known.
    pub(super) fn part(self, name: &str) -> Result<Option<Self>> {
        let part = self.known()?.node.get(name).map(|node| Self { node, ..self });
        part.map(Self::known).transpose()
    }

    fn known(self) -> Result<Self> {
        self.node.unknown().map_or(Ok(self), |why| Err(why.clone()))
    }

    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.node.text_at(name)
    }

    pub(super) fn required(self, name: &str) -> Result<&'a str> {
        self.text(name).ok_or_else(|| self.error(format!("{name} is missing")))
    }

    /// Refuses a property that is not in this list.
    pub(super) fn only(self, allowed: &[&str], whose: &str) -> Result<()> {
        match self.node.entries().iter().find(|(name, _)| !allowed.contains(&name.as_str())) {
            Some((name, value)) => {
                let meant = did_you_mean(name, allowed.iter().copied());
                Err(value.error(format!("{}: unknown property {name} of {whose}{meant}", self.id)))
            }
            None => Ok(()),
        }
    }

    /// Refuses values that are not allowed at some paths, such as `Environment.Variables`.
    pub(super) fn check(self, rules: &[(&str, Allowed)]) -> Result<()> {
        for (path, allowed) in rules {
            let (parts, name) = path.rsplit_once('.').unwrap_or(("", path));
            let parts = parts.split('.').filter(|part| !part.is_empty());
            let step = |part: Option<Self>, name| part.map_or(Ok(None), |part| part.part(name));
            let Some(part) = parts.into_iter().try_fold(Some(self), step)? else { continue };
            let Some(value) = part.part(name)? else { continue };
            match allowed {
                Allowed::Texts => {
                    let known = value.node.entries().iter().filter(|(_, value)| value.unknown().is_none());
                    let names = known.map(|(name, _)| (name.as_str(), Allowed::Text));
                    value.check(&names.collect::<Vec<_>>())?;
                }
                _ => part.check_one(name, value.node, *allowed)?,
            }
        }
        Ok(())
    }

    fn check_one(self, name: &str, value: &Node, allowed: Allowed) -> Result<()> {
        let text = value.as_text();
        let text = text.ok_or_else(|| value.error(format!("{name} of {} must be a string", self.id)))?;
        let refuse = |allowed: &str| Err(self.refuse(name, text, allowed));
        match allowed {
            Allowed::Number if scalar::number::<f64>(text).is_none() => refuse("a number"),
            Allowed::Flag if scalar::flag(text).is_none() => refuse("true, false"),
            Allowed::Whole(first, last)
                if !scalar::number(text).is_some_and(|number| (first..=last).contains(&number)) =>
            {
                refuse(&format!("{first} to {last}"))
            }
            Allowed::Text | Allowed::Texts | Allowed::Number | Allowed::Flag | Allowed::Whole(..) => Ok(()),
        }
    }

    /// Returns the choice with the property's value as its name.
    pub(super) fn choice<T: Copy>(
        self,
        name: &str,
        all: &[T],
        word: impl Fn(&T) -> String,
    ) -> Result<Option<T>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let found = all.iter().find(|it| word(it) == text);
        let allowed = || all.iter().map(word).collect::<Vec<_>>().join(", ");
        found.map(|it| Some(*it)).ok_or_else(|| self.refuse(name, text, &allowed()))
    }

    pub(super) fn error(self, message: impl std::fmt::Display) -> TemplateError {
        self.node.error(format!("{}: {message}", self.id))
    }

    pub(super) fn refuse(self, name: &str, value: &str, allowed: &str) -> TemplateError {
        let place = self.node.get(name).unwrap_or(self.node);
        place.error(format!("{name} of {} is {}, allowed: {allowed}", self.id, Quoted(value)))
    }
}
