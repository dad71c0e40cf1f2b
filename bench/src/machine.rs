//! On what it was measured.

use std::fs;
use std::path::Path;
use std::thread;

use serde::Serialize;

use crate::target::says;

/// The machine, without its name.
#[derive(Serialize, Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) architecture: String,
    pub(crate) kernel: String,
    pub(crate) rustc: String,
    /// This and the next are empty where they were not needed.
    pub(crate) python: String,
    pub(crate) node: String,
}

impl Machine {
    pub(crate) fn this(python: Option<&Path>, with_node: bool) -> anyhow::Result<Self> {
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Ok(Self {
            cpu: model(&cpus).unwrap_or("an unnamed CPU").to_owned(),
            cores: thread::available_parallelism()?.get(),
            architecture: std::env::consts::ARCH.to_owned(),
            kernel: format!("Linux {}", kernel.trim()),
            rustc: says(Path::new("rustc"), "--version")?,
            python: python.map_or_else(|| Ok(String::new()), |python| says(python, "--version"))?,
            node: if with_node { says(Path::new("node"), "--version")? } else { String::new() },
        })
    }
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
