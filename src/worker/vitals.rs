use crate::BatchReport;
use std::time::Duration;
#[derive(Debug)]
pub(crate) struct Vitals;
impl Vitals {
    pub(crate) fn new(_: &str) -> Self {
        Self
    }
    pub(crate) fn is_ready(&self) {}
    pub(crate) fn drains(&self) {}
    pub(crate) fn poll_ended(&self, _: bool) {}
    pub(crate) fn keeper_turned(&self) {}
    pub(crate) fn holds(&self, _: usize, _: usize) {}
    pub(crate) fn lease_lost(&self) {}
    pub(crate) fn call_ended(&self, _: Duration, _: usize) {}
    pub(crate) fn reported(&self, _: &BatchReport) {}
}
