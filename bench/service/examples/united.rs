//! Does nothing. A build that names it has Cargo unite features with those of dev-dependencies, as it does for tests:
//! so nothing that tests need is compiled twice.

fn main() {}
