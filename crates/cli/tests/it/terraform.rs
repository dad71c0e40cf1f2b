//! The output of `terraform show -json` in place of a template. `doctor_corpus` tests the doctor's findings in it.

use std::path::{Path, PathBuf};

use crate::support::{Ran, command, local};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doctor/corpus")
}

fn run(line: &str) -> Ran {
    Ran::of(command(line).current_dir(corpus()))
}

/// A plan with so many bytes of no concern.
fn padded(bytes: usize) -> tempfile::NamedTempFile {
    let plan = std::fs::read_to_string(corpus().join("terraform-guide.json")).expect("it is there");
    let file = tempfile::Builder::new().suffix(".json").tempfile().expect("there is room for a file");
    let padding = format!("{{\"padding\": \"{}\",", "x".repeat(bytes));
    std::fs::write(file.path(), plan.replacen('{', &padding, 1)).expect("the file is ours");
    file
}

#[test]
fn a_finding_is_at_the_address_of_its_resource() {
    let only = "--only dead-letter-retention";
    let title = "error dead-letter-retention at terraform-state.json: aws_sqs_queue.dead\n";
    run(&format!("doctor terraform-state.json {only}")).ended(1).stdout_starts(title);
    let command = "::error file=terraform-state.json,title=dead-letter-retention::";
    run(&format!("doctor --format github terraform-state.json {only}")).ended(1).stdout_starts(command);
}

#[test]
fn a_plan_may_begin_with_a_byte_order_mark() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let name = "terraform-state.json";
    let plan = std::fs::read_to_string(corpus().join(name)).expect("it is there");
    std::fs::write(folder.path().join(name), format!("\u{feff}{plan}")).expect("the folder is ours");
    let ran = Ran::of(command(&format!("doctor --template {name}")).current_dir(folder.path()));
    assert_eq!(ran.ended(1).stdout, run(&format!("doctor --template {name}")).stdout);
}

#[test]
fn a_schedule_is_that_of_the_plan() {
    let ran = run("schedule --template terraform-guide.json");
    ran.ended(0);
    assert!(ran.stdout.starts_with("aws_sqs_queue.orders (standard): 5 deliveries"), "{}", ran.stdout);
}

#[test]
fn a_plan_is_not_run() {
    let ran = Ran::of(&mut local(&corpus(), "--template terraform-guide.json"));
    ran.refused(2, "redrive: terraform-guide.json is what Terraform prints; redrive local runs SAM and");
}

#[test]
fn a_folder_may_hold_plans() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    std::fs::copy(corpus().join("terraform-state.json"), folder.path().join("state.json"))
        .expect("it is there");
    let ran = Ran::of(command("doctor .").current_dir(folder.path()));
    ran.ended(1);
    assert!(
        ran.stdout.contains("error dead-letter-retention at state.json: aws_sqs_queue.dead\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_plan_may_be_larger_than_a_template() {
    let mib = 1_024 * 1_024;
    let large = padded(8 * mib);
    run(&format!("doctor --template {}", large.path().display())).ended(0);
    let larger = padded(65 * mib);
    run(&format!("doctor --template {}", larger.path().display()))
        .refused(2, &format!("redrive: could not read the template {}: more than ", larger.path().display()));
}
