//! Fake tools and a look at the log, for tests only.

pub mod logs;
pub mod tools;

pub use logs::Logs;
pub use tools::{Fake, Witness};
