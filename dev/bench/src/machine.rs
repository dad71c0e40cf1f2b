//! Describes the machine of a measurement.

use std::fs;
use std::path::Path;
use std::thread;

use crate::target::first_line;

/// Describes the machine, without its name, and the compiler.
pub(crate) fn machine() -> anyhow::Result<String> {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Ok(format!(
        "{}, {} cores, {}, Linux {}; {}",
        model(&cpus).unwrap_or("an unnamed CPU"),
        thread::available_parallelism()?,
        std::env::consts::ARCH,
        kernel.trim(),
        first_line(Path::new("rustc"), "--version")?
    ))
}

fn model(cpus: &str) -> Option<&str> {
    let line = cpus.lines().find_map(|line| line.strip_prefix("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_that_of_the_first_core() {
        let cpus = "processor\t: 0\nmodel name\t: Fast CPU @ 3GHz\nprocessor\t: 1\nmodel name\t: Slow CPU\n";
        assert_eq!(model(cpus), Some("Fast CPU @ 3GHz"));
        assert_eq!(model(""), None);
    }
}
