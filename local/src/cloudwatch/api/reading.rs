//! What reading values by GetMetricData and by GetMetricStatistics has in common.

use std::ops::Range;
use std::time::SystemTime;

use crate::cloudwatch::second;

/// The seconds from start to end, the end left out. The start goes back to a whole minute, or for shorter periods to a
/// whole one of these.
pub(super) fn range(start: SystemTime, end: SystemTime, period: u64) -> Range<u64> {
    let start = second(start);
    // A moment within a second is after its beginning.
    let end = second(end + std::time::Duration::from_nanos(999_999_999));
    start - start % period.min(60)..end
}
