//! A share of a CPU, as Lambda gives it: a control group that limits how long its processes run in each period.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

/// Period of the limit: long enough to show throttling, short enough to be smooth.
const PERIOD_MICROSECONDS: u64 = 20_000;

/// A control group, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Throttle {
    folder: PathBuf,
}

impl Throttle {
    /// Creates a group. Fails if control groups are absent or cannot be made, and says which.
    pub(crate) fn new(cpus: f64) -> anyhow::Result<Self> {
        let name = format!("redrive-bench-{}", std::process::id());
        let root = Path::new("/sys/fs/cgroup");
        let (folder, settings) = if root.join("cgroup.controllers").exists() {
            let controllers = fs::read_to_string(root.join("cgroup.controllers"))?;
            if !controllers.split_whitespace().any(|controller| controller == "cpu") {
                bail!("the control groups in {} have no cpu controller", root.display());
            }
            write(&root.join("cgroup.subtree_control"), "+cpu")?;
            (root.join(name), settings_v2(cpus))
        } else if root.join("cpu/cgroup.procs").exists() {
            (root.join("cpu").join(name), settings_v1(cpus))
        } else {
            bail!("there are no control groups in {}", root.display());
        };
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let throttle = Self { folder };
        for (file, value) in settings {
            write(&throttle.folder.join(file), &value)?;
        }
        Ok(throttle)
    }

    /// Returns the file to which a process writes its id in order to join.
    pub(crate) fn members(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        // Left behind, an empty group does no harm.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// <https://docs.kernel.org/scheduler/sched-bwc.html>
fn settings_v1(cpus: f64) -> Vec<(&'static str, String)> {
    vec![
        ("cpu.cfs_period_us", PERIOD_MICROSECONDS.to_string()),
        ("cpu.cfs_quota_us", quota(cpus).to_string()),
    ]
}

/// <https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files>
fn settings_v2(cpus: f64) -> Vec<(&'static str, String)> {
    vec![("cpu.max", format!("{} {PERIOD_MICROSECONDS}", quota(cpus)))]
}

fn quota(cpus: f64) -> u64 {
    Duration::from_micros(PERIOD_MICROSECONDS).mul_f64(cpus).as_micros() as u64
}

fn write(file: &Path, value: &str) -> anyhow::Result<()> {
    fs::write(file, value).with_context(|| format!("cannot write {value} to {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_quota_of_each_period() {
        assert_eq!(settings_v2(0.29), [("cpu.max", "5800 20000".to_owned())]);
        assert_eq!(settings_v1(0.29)[1], ("cpu.cfs_quota_us", "5800".to_owned()));
    }
}
