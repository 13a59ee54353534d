//! Limits for root, which `RLIMIT_NPROC` does not hold: a control group.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

use crate::policy::BoxPolicy;

/// Where control groups are.
const ROOT: &str = "/sys/fs/cgroup";

/// The groups that were made.
#[derive(Default)]
pub(super) struct TaskGroups {
    pub(super) folders: Vec<PathBuf>,
    pub(super) problem: Option<String>,
}

/// Puts this process into control groups of its own, if it is root's.
pub(super) fn join(policy: &BoxPolicy) -> TaskGroups {
    let mut groups = TaskGroups::default();
    if !geteuid().is_root() {
        return groups;
    }
    // The number of a process may be 1 for many of them.
    let name = policy.temp.parent().and_then(Path::file_name).unwrap_or_default();
    let (memory, processes) = (policy.memory.to_string(), policy.processes.to_string());
    let is_unified = Path::new(ROOT).join("cgroup.controllers").exists();
    let wanted: &[(&str, &[(&str, &str)])] = match is_unified {
        true => &[("", &[("pids.max", &processes), ("memory.max", &memory)])],
        false => &[
            ("pids", &[("pids.max", &processes)]),
            ("memory", &[("memory.limit_in_bytes", &memory)]),
        ],
    };
    for (controller, limits) in wanted {
        match make(&Path::new(ROOT).join(controller).join(name), limits) {
            Ok(folder) => groups.folders.push(folder),
            Err(error) => {
                let problem = format!("root's processes cannot be limited in number: {error}");
                groups.problem = groups.problem.or(Some(problem));
            }
        }
    }
    groups
}

fn make(folder: &Path, limits: &[(&str, &str)]) -> io::Result<PathBuf> {
    fs::create_dir(folder)?;
    let filled = limits.iter().try_for_each(|(file, value)| fs::write(folder.join(file), value));
    // 0 is the process that writes.
    match filled.and_then(|()| fs::write(folder.join("cgroup.procs"), "0")) {
        Ok(()) => Ok(folder.to_owned()),
        Err(error) => {
            let _ = fs::remove_dir(folder);
            Err(error)
        }
    }
}
