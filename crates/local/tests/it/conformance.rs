//! Runs the checks of `dev/conformance/`, which use other people's clients in Python, against the example `serve`.

use std::path::Path;
use std::process::Command;

#[test]
fn the_local_aws_conforms_to_the_pages_of_aws() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/venv/bin/python");
    if !python.exists() {
        println!("skipped: the Python tools are not installed: run `make target/venv/requirements.stamp`");
        return;
    }
    // Cargo puts tests in `deps`, beside `examples`.
    let serve = std::env::current_exe().unwrap().with_file_name("../examples/serve");
    let serve = format!("--serve={}", serve.display());
    let ran =
        Command::new(python).args(["-m", "pytest", "dev/conformance", &serve]).current_dir(root).output();
    let ran = ran.expect("the venv's Python runs");
    let said = String::from_utf8_lossy(&ran.stdout);
    println!("{}", said.lines().last().unwrap_or_default());
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
}
