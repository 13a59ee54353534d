//! Fake tools, a fake provider of models, cassettes of real ones and a look at the log, for tests only.

pub mod cassette;
mod http;
pub mod logs;
pub mod provider;
pub mod small_model;
pub mod tools;

pub use cassette::{Cassette, Scrub};
pub use logs::Logs;
pub use provider::{Captured, ProviderServer, Reply};
pub use small_model::SmallModel;
pub use tools::{Fake, Witness};
