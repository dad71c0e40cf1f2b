//! CPU time and memory of a running process, from the kernel.

use std::fs;
use std::time::Duration;

use anyhow::Context;
use nix::unistd::Pid;

/// The usage of a process at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// User and system time of all threads.
    pub(crate) cpu: Duration,
    /// The most memory that was ever resident.
    pub(crate) peak_mib: f64,
}

impl Usage {
    pub(crate) fn of(process: Pid) -> anyhow::Result<Self> {
        let path = format!("/proc/{process}/status");
        let status = fs::read_to_string(&path).context(path)?;
        let peak = peak_kib(&status).with_context(|| format!("process {process} has no memory any more"))?;
        Ok(Self { cpu: cpu(process)?, peak_mib: peak / 1024.0 })
    }
}

fn peak_kib(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Reads the clock of a process, which has nanoseconds. `/proc/PID/stat` only has hundredths of a second.
#[cfg(target_os = "linux")]
fn cpu(process: Pid) -> anyhow::Result<Duration> {
    let time = nix::time::clock_getcpuclockid(process).and_then(nix::time::clock_gettime);
    Ok(time.with_context(|| format!("the clock of process {process}"))?.into())
}

#[cfg(not(target_os = "linux"))]
fn cpu(_: Pid) -> anyhow::Result<Duration> {
    anyhow::bail!("measuring needs Linux")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_from_the_status_of_a_process() {
        assert_eq!(peak_kib("VmPeak:\t  10 kB\nVmHWM:\t    3460 kB\nVmRSS:\t 1 kB\n"), Some(3460.0));
        assert_eq!(peak_kib("Name:\tzombie\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_works_uses_cpu_and_memory() {
        let before = Usage::of(Pid::this()).unwrap();
        let sum: u64 = std::hint::black_box(0..20_000_000_u64).map(std::hint::black_box).sum();
        let after = Usage::of(Pid::this()).unwrap();
        assert!(sum > 0 && after.cpu > before.cpu, "{before:?}, {after:?}");
        // The kernel's counts are approximate: of two readings, the later one may be lower.
        assert!(after.peak_mib > 1.0, "{after:?}");
    }
}
