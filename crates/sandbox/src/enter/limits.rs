//! How much the program may take, by resource limits.

use std::{fs, io, os::unix::fs::MetadataExt};

use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};

use crate::policy::BoxPolicy;

/// Sets the limits. Memory is that of data, which is what a program uses: address space is reserved freely by Node and others.
pub(super) fn set(policy: &BoxPolicy) -> io::Result<()> {
    limit(Resource::Core, 0)?;
    limit(Resource::Data, policy.memory)?;
    limit(Resource::Nofile, policy.open_files)?;
    // The system counts all processes of the user; in a user namespace of our own, those of the program alone.
    let others = if in_own_namespace() { 0 } else { tasks_of_user() };
    limit(Resource::Nproc, policy.processes.saturating_add(others))
}

fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let value = getrlimit(resource).maximum.map_or(value, |most| most.min(value));
    setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })?;
    Ok(())
}

/// Whether this process is in a user namespace of its own: a map of one user.
fn in_own_namespace() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().nth(2) == Some("1")
}

/// How many processes and threads the user has.
fn tasks_of_user() -> u64 {
    let user = geteuid().as_raw();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_user = processes.filter(|process| process.metadata().is_ok_and(|it| it.uid() == user));
    // A folder has two links, and one more for each folder in it.
    let tasks = of_user.filter_map(|process| fs::metadata(process.path().join("task")).ok());
    tasks.map(|tasks| tasks.nlink().saturating_sub(2)).sum()
}
