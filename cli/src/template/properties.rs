//! A resource's properties as typed values, with errors that name the property, the value and what is allowed.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::document::{Node, TemplateError};

/// The properties of a resource, or a part of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Properties<'a> {
    pub(super) node: &'a Node,
    /// How errors name the resource: its logical id.
    id: &'a str,
}

type Result<T> = std::result::Result<T, TemplateError>;

impl<'a> Properties<'a> {
    pub(super) fn new(id: &'a str, node: &'a Node) -> Self {
        Self { node, id }
    }

    pub(super) fn part(self, name: &str) -> Option<Self> {
        self.node.get(name).map(|node| Self { node, id: self.id })
    }

    /// Refuses a property that is none of these.
    pub(super) fn only(self, allowed: &[&str], whose: &str) -> Result<()> {
        match self.node.entries().iter().find(|(name, _)| !allowed.contains(&name.as_str())) {
            Some((name, value)) => {
                Err(value.error(format!("{}: {name} is nothing that {whose} has", self.id)))
            }
            None => Ok(()),
        }
    }

    pub(super) fn text(self, name: &str) -> Result<Option<&'a str>> {
        let Some(node) = self.node.get(name) else { return Ok(None) };
        node.as_text().map(Some).ok_or_else(|| node.error(format!("{name} of {} must be a text", self.id)))
    }

    pub(super) fn required(self, name: &str) -> Result<&'a str> {
        self.text(name)?.ok_or_else(|| self.error(format!("{name} is missing")))
    }

    pub(super) fn whole(self, name: &str, allowed: RangeInclusive<u32>) -> Result<Option<u32>> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match text.parse::<u32>() {
            Ok(number) if allowed.contains(&number) => Ok(Some(number)),
            _ => Err(self.refuse(name, text, &format!("{} to {}", allowed.start(), allowed.end()))),
        }
    }

    pub(super) fn seconds(self, name: &str, allowed: RangeInclusive<u32>) -> Result<Option<Duration>> {
        Ok(self.whole(name, allowed)?.map(|seconds| Duration::from_secs(seconds.into())))
    }

    pub(super) fn flag(self, name: &str, default: bool) -> Result<bool> {
        match self.text(name)? {
            None => Ok(default),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(text) => Err(self.refuse(name, text, "true, false")),
        }
    }

    /// One of a few words, or the default.
    pub(super) fn choice<T: Copy>(self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match choices.iter().find(|(word, _)| *word == text) {
            Some((_, choice)) => Ok(Some(*choice)),
            None => {
                let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
                Err(self.refuse(name, text, &words.join(", ")))
            }
        }
    }

    pub(super) fn texts(self) -> Result<BTreeMap<String, String>> {
        let entries = self.node.entries().iter();
        entries
            .map(|(name, value)| match value.as_text() {
                Some(text) => Ok((name.clone(), text.to_owned())),
                None => Err(value.error(format!("{name} of {} must be a text", self.id))),
            })
            .collect()
    }

    pub(super) fn error(self, message: impl std::fmt::Display) -> TemplateError {
        self.node.error(format!("{}: {message}", self.id))
    }

    pub(super) fn refuse(self, name: &str, value: &str, allowed: &str) -> TemplateError {
        let place = self.node.get(name).unwrap_or(self.node);
        place.error(format!("{name} of {} is {value:?}, allowed: {allowed}", self.id))
    }
}
