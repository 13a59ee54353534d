//! Fake tools, a fake provider of models and a look at the log, for tests only.

pub mod logs;
pub mod provider;
pub mod tools;

pub use logs::Logs;
pub use provider::{Captured, ProviderServer, Reply};
pub use tools::{Fake, Witness};
