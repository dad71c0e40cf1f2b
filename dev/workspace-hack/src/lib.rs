//! Nothing. All packages of the workspace depend on this one in their tests, and it depends on what they share, with all
//! features that any of them needs. So `cargo test -p X` compiles no dependency anew. For
//! the same reason they name packages of this workspace with all features there, even themselves.
