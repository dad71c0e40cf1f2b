//! Checks of single members that many operations share.

use std::ops::RangeInclusive;

use super::field::Number;
use super::{AwsError, ErrorKind};

impl ErrorKind {
    /// Returns a member that must be present.
    pub(crate) fn required<T>(self, value: Option<T>, member: &str) -> Result<T, AwsError> {
        value.ok_or_else(|| self.not_null(member))
    }

    /// Checks that a member is a whole number within a range.
    pub(crate) fn within(
        self,
        value: Number,
        member: &str,
        range: RangeInclusive<u32>,
    ) -> Result<u32, AwsError> {
        let (least, most) = range.into_inner();
        match value.whole(least) {
            Some(number) if number <= most => Ok(number),
            None if value.0 < f64::from(most) => {
                Err(self.constraint(value.0, member, format!("have value greater than or equal to {least}")))
            }
            _ => Err(self.constraint(value.0, member, format!("have value less than or equal to {most}"))),
        }
    }

    /// Checks the number of characters of a text.
    pub(crate) fn text(
        self,
        value: &str,
        member: &str,
        lengths: RangeInclusive<usize>,
    ) -> Result<(), AwsError> {
        self.length(value.chars().count(), value, member, lengths)
    }

    /// Checks a list of at most `most` texts.
    pub(crate) fn list(self, values: &[String], member: &str, most: usize) -> Result<(), AwsError> {
        self.length(values.len(), &format!("[{}]", values.join(", ")), member, 0..=most)
    }

    fn length(
        self,
        length: usize,
        value: &str,
        member: &str,
        allowed: RangeInclusive<usize>,
    ) -> Result<(), AwsError> {
        let bound = match length {
            length if length < *allowed.start() => format!("greater than or equal to {}", allowed.start()),
            length if length > *allowed.end() => format!("less than or equal to {}", allowed.end()),
            _ => return Ok(()),
        };
        Err(self.constraint(value, member, format!("have length {bound}")))
    }

    /// Checks that a member is one of a few names.
    pub(crate) fn one_of<T: Copy>(
        self,
        value: &str,
        member: &str,
        all: &[T],
        name: impl Fn(T) -> &'static str,
    ) -> Result<T, AwsError> {
        all.iter().copied().find(|each| name(*each) == value).ok_or_else(|| {
            let names: Vec<_> = all.iter().map(|each| name(*each)).collect();
            self.constraint(value, member, format!("satisfy enum value set: [{}]", names.join(", ")))
        })
    }
}
