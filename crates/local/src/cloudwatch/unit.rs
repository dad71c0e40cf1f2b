//! Units of measure. CloudWatch keeps values of different units apart and converts none.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDatum.html>

/// A unit of measure, as in `Milliseconds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit(&'static str);

const UNITS: [&str; 27] = [
    "Seconds",
    "Microseconds",
    "Milliseconds",
    "Bytes",
    "Kilobytes",
    "Megabytes",
    "Gigabytes",
    "Terabytes",
    "Bits",
    "Kilobits",
    "Megabits",
    "Gigabits",
    "Terabits",
    "Percent",
    "Count",
    "Bytes/Second",
    "Kilobytes/Second",
    "Megabytes/Second",
    "Gigabytes/Second",
    "Terabytes/Second",
    "Bits/Second",
    "Kilobits/Second",
    "Megabits/Second",
    "Gigabits/Second",
    "Terabits/Second",
    "Count/Second",
    "None",
];

impl Unit {
    pub(crate) const BYTES: Self = Self("Bytes");
    pub(crate) const COUNT: Self = Self("Count");
    pub(crate) const MILLISECONDS: Self = Self("Milliseconds");
    pub(crate) const NONE: Self = Self("None");
    pub(crate) const SECONDS: Self = Self("Seconds");

    /// Returns the unit of this name, or None if CloudWatch does not have it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        UNITS.into_iter().find(|unit| *unit == name).map(Self)
    }

    pub(crate) fn name(self) -> &'static str {
        self.0
    }
}
