//! Another root: a folder that a process takes for `/`, with no network, nothing of this machine but its kernel, and rights over
//! nothing else. Needs user namespaces, as the tests of the docs do.

use std::{path::Path, process::Command};

use switchboard_testkit::parts::part;

use super::succeed;

/// Unpacks a clean Debian.
pub(crate) fn unpack_debian(root: &Path) {
    let mut tar = Command::new("tar");
    // Devices are the kernel's to make; the machine's own are shown instead.
    tar.args(["--no-same-owner", "--exclude=./dev/*", "-xf", &part("debian-root/root.tar")]);
    succeed(tar.arg("-C").arg(root));
}

/// What starts a program inside the root, as its administrator.
pub(crate) fn as_root(root: &Path) -> Command {
    let prepare = "mount --rbind /dev \"$1/dev\" && mount -t proc proc \"$1/proc\" && \
        cd \"$1\" && root=$1 && shift && exec chroot \"$root\" \"$@\"";
    let mut command = apart();
    command.args(["/bin/sh", "-c", prepare, "sh"]).arg(root);
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root");
    command
}

/// What starts a program inside a root that has the system's `/usr`, and so Python and Node.js, but nothing that was
/// installed otherwise: no Rust, no home, no network. Writes only into the root.
pub(crate) fn with_system(root: &Path) -> Command {
    let prepare = "cd \"$1\" && mkdir -p usr dev proc tmp etc home && \
        for link in bin sbin lib lib64; do [ -e $link ] || cp -P /$link $link; done && \
        mount --rbind /usr usr && mount -o remount,bind,ro usr && \
        mount --rbind /dev dev && mount -t proc proc proc && \
        root=$1 && shift && exec unshare --root \"$root\" --wd /home \"$@\"";
    let mut command = apart();
    command.args(["/bin/sh", "-c", prepare, "sh"]).arg(root);
    let path = "/opt/bin:/usr/local/bin:/usr/bin:/bin";
    command.env_clear().env("PATH", format!("{path}:/usr/sbin:/sbin")).env("HOME", "/home");
    command
}

/// What starts a program inside the root as another user, who can change nothing but what is under `state`.
pub(crate) fn as_user(root: &Path, user: &str, state: &Path, state_inside: &str) -> Command {
    let prepare = "mount --bind \"$1\" \"$1\" && mount --bind \"$3\" \"$1$4\" && \
        mount -o remount,bind,ro \"$1\" && \
        root=$1 && user=$2 && inside=$4 && shift 4 && \
        exec unshare --user --map-user \"$user\" --map-group \"$user\" --root \"$root\" --wd \"$inside\" \"$@\"";
    let mut command = apart();
    command.args(["/bin/sh", "-c", prepare, "sh"]).arg(root).arg(user).arg(state).arg(state_inside);
    command.env_clear();
    command
}

/// New namespaces, in which we have the rights to mount.
fn apart() -> Command {
    let mut command = Command::new("/usr/bin/unshare");
    command.args([
        "--user",
        "--map-root-user",
        "--mount",
        "--pid",
        "--net",
        "--fork",
        "--kill-child",
    ]);
    command
}
