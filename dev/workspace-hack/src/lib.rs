//! An empty library. All packages of the workspace depend on it in their tests, and it depends on the crates that they share,
//! with all features that any of them needs. So `cargo test -p X` compiles no dependency anew. For the same reason, they depend
//! there on packages of this workspace with all features, even on themselves.
