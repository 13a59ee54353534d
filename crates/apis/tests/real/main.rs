//! GitHub's own description, and Prism, which checks requests against it (SPEC TK-3).

#![expect(clippy::unwrap_used, reason = "helpers of tests may, like tests")]
#![expect(clippy::disallowed_methods, reason = "processes live in real time")]

mod bodies;
mod example;
mod github;
mod prism;
