//! Keeps the secrets in this process's memory out of core dumps.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The size that no dump has. The kernel of Linux pipes a dump to a program that collects them (core(5)) whatever the limit is,
/// even if it is 0, except for this value.
const LIMIT: u64 = if cfg!(target_os = "linux") { 1 } else { 0 };

/// Disables core dumps of this process and of those that it starts, which may raise the limit again.
pub(crate) fn disable() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    let limit = maximum.map_or(LIMIT, |most| most.min(LIMIT));
    let limited = setrlimit(Resource::Core, Rlimit { current: Some(limit), maximum });
    if let Err(error) = limited.map_err(io::Error::from).and(refuse()) {
        tracing::debug!(%error, "core dumps could not be disabled");
    }
}

/// Makes this process one that is not dumped, whatever its limit, and that no other process of the user reads the memory of.
#[cfg(target_os = "linux")]
fn refuse() -> io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

#[cfg(not(target_os = "linux"))]
fn refuse() -> io::Result<()> {
    Ok(())
}
