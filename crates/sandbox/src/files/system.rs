//! What every program needs of the system.

#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;

use crate::policy::{FileAccess, FileRule};

/// Where systems keep their programs and libraries.
const PROGRAMS: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/home/linuxbrew/.linuxbrew",
];

/// What programs read to find their way.
const READ: &[&str] = &[
    "/etc",
    "/run/NetworkManager/resolv.conf",
    "/run/resolvconf",
    "/run/systemd/resolve",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
    "/var/lib/ca-certificates",
];

/// What the kernel says of itself, and of the process that becomes the program. The folders of other processes are not
/// here, nor those of the program's children, whose numbers nobody knows yet.
const KERNEL: &[&str] = &[
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys",
    "/proc/uptime",
    "/proc/version",
];

/// Devices that hold nobody's data. Terminals are left out: what is written to one may become a command.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Whether a path is among the system's own programs.
#[cfg(target_os = "linux")]
pub(super) fn has_program(path: &Path) -> bool {
    PROGRAMS.iter().any(|programs| path.starts_with(programs))
}

/// Returns the paths with what may be done with them.
pub(super) fn rules() -> Vec<(PathBuf, FileAccess)> {
    let with = |paths: &[&str], access| -> Vec<(PathBuf, FileAccess)> {
        paths.iter().map(|path| (PathBuf::from(path), access)).collect()
    };
    [
        with(PROGRAMS, FileAccess::Run),
        with(READ, FileAccess::Read),
        with(DEVICES, FileAccess::Device),
    ]
    .concat()
}

/// Returns the rules for what the kernel says. `/proc/self` stays a name: it means the process that opens it.
pub(super) fn kernel_rules() -> Vec<FileRule> {
    let rule = |path: &&str| FileRule { path: path.into(), access: FileAccess::Read };
    KERNEL.iter().map(rule).collect()
}
