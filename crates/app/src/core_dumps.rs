//! Keeps the secrets in this process's memory out of core dumps.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Disables core dumps of this process and of those that it starts, which may raise the limit again.
pub(crate) fn disable() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    if let Err(error) = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum }) {
        tracing::debug!(%error, "core dumps could not be disabled");
    }
}
