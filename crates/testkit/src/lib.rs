//! Fake tools, a fake provider of models, a model that obeys and a look at the log, for tests; and a model that follows a
//! script, for everybody who wants to try the loop without a key.

pub mod logs;
pub mod parrot;
pub mod provider;
pub mod script;
pub mod tools;

pub use logs::Logs;
pub use parrot::{Asked, Parrot};
pub use provider::{Captured, ProviderServer, Reply};
pub use script::{Script, ScriptError};
pub use tools::{Fake, Witness};
