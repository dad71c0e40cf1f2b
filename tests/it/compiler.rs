//! The errors of the compiler for handlers that cannot be called.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the library that was compiled last.
fn library(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libredrive-") && name.ends_with(".rlib")
    };
    let built = |path: &PathBuf| fs::metadata(path).unwrap().modified().unwrap();
    files.filter(is_library).max_by_key(built).expect("Cargo has built the library")
}

/// Compiles a program with this handler, and returns the compiler's errors.
fn errors_of(name: &str, handler: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiler");
    fs::create_dir_all(&folder).unwrap();
    let source = folder.join(format!("{name}.rs"));
    let program = format!(
        "use redrive::{{Consumer, Failure, Message}};\nstruct Plain;\n{handler}\n\
         fn main() {{ drop(Consumer::new(pay).concurrency(5).connect()); }}\n"
    );
    fs::write(&source, program).unwrap();
    let dependencies = Path::new(env!("CARGO_BIN_EXE_orders")).parent().unwrap().join("deps");
    let output = Command::new("rustc")
        .args(["--edition", "2024", "--emit", "metadata", "--out-dir"])
        .arg(&folder)
        .arg("-L")
        .arg(format!("dependency={}", dependencies.display()))
        .arg("--extern")
        .arg(format!("redrive={}", library(&dependencies).display()))
        .arg(source)
        .output()
        .unwrap();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_wrong_handler_is_one_error_that_says_what_it_needs() {
    for (name, handler, expected) in [
        (
            "underived",
            "async fn pay(order: Message<Plain>) -> Result<(), Failure> { drop(order); Ok(()) }",
            &["a handler cannot take `redrive::Message<Plain>`", "derive `serde::Deserialize` for the type"]
                [..],
        ),
        (
            "two_arguments",
            "async fn pay(order: String, rate: u64) -> Result<(), Failure> { drop((order, rate)); Ok(()) }",
            &["function is expected to take 1 argument, but it takes 2 arguments"],
        ),
        (
            "no_result",
            "async fn pay(order: String) -> u64 { drop(order); 1 }",
            &["expected `Result<(), _>`, found `u64`"],
        ),
        (
            "a_number",
            "#[allow(non_upper_case_globals)] const pay: u64 = 1;",
            &["`u64` does not handle messages", "a handler with state is a struct that implements"],
        ),
    ] {
        let errors = errors_of(name, handler);
        for text in expected {
            assert!(errors.contains(text), "{name}: {errors}");
        }
        assert!(errors.contains("due to 1 previous error"), "{name}: {errors}");
    }
}

#[test]
fn a_handler_of_a_message_compiles() {
    let handler =
        "async fn pay(order: Message<String>) -> Result<(), Failure> { drop((order, Plain)); Ok(()) }";
    let errors = errors_of("right", handler);
    assert!(!errors.contains("error"), "{errors}");
}
