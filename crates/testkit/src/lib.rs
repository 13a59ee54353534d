//! Fake tools, a fake provider of models, cassettes of real ones, a real small one, one that obeys and a look at the log, for tests; and a
//! model that follows a script, for everybody who wants to try the loop without a key.

pub mod cassette;
mod http;
pub mod logs;
pub mod parrot;
pub mod provider;
pub mod rules;
pub mod script;
pub mod small_model;
pub mod tools;

pub use cassette::{Cassette, Scrub};
pub use logs::Logs;
pub use parrot::{Asked, Parrot};
pub use provider::{Captured, ProviderServer, Reply};
pub use script::{Script, ScriptError};
pub use small_model::SmallModel;
pub use tools::{Fake, Witness};
