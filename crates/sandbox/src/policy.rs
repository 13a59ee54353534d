//! What a program is confined to, worked out: sent to the process that confines itself before it becomes the program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What may be done with a path and everything below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum FileAccess {
    /// Reading the names in a folder.
    List,
    /// Reading.
    Read,
    /// Reading, and running as a program.
    Run,
    /// Reading and writing a device.
    Device,
    /// Reading, creating, changing and removing.
    Write,
    /// Connecting to a Unix socket.
    Connect,
}

/// A path with what may be done below it; symbolic links are resolved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct FileRule {
    pub(crate) path: PathBuf,
    pub(crate) access: FileAccess,
}

/// How the program reaches the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NetworkRule {
    /// Through the proxy alone, from a network of its own where that can be had. `token` lets it use a proxy that others reach too.
    Proxy { token: String, has_destinations: bool },
    /// Through the proxy, or to these ports of every host.
    Direct { ports: Vec<u16>, token: String },
}

/// Which Unix sockets may be opened, beside pairs of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum UnixSockets {
    /// None.
    None,
    /// Those that are connected, where no others than the program's own can be reached.
    Own,
    /// Any.
    Any,
}

/// What a program needs that has a file tree of its own, in which only what its rules name is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnTree {
    /// Paths by which what the rules name is known too: their links are in the tree.
    pub(crate) names: Vec<PathBuf>,
    /// Folders that are there, though they may be empty.
    pub(crate) folders: Vec<PathBuf>,
    /// The Unix sockets that the kernel knows, which are not in the tree, as are those that are found there.
    pub(crate) bound: Vec<PathBuf>,
}

/// Everything that the confining process has to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BoxPolicy {
    pub(crate) files: Vec<FileRule>,
    /// The folder for its temporary files.
    pub(crate) temp: PathBuf,
    /// Its home folder, if that has to be made.
    pub(crate) home: Option<PathBuf>,
    pub(crate) network: NetworkRule,
    pub(crate) unix_sockets: UnixSockets,
    /// The file tree of its own, if it has one; then it has processes of its own too.
    pub(crate) own_tree: Option<OwnTree>,
    pub(crate) memory: u64,
    pub(crate) processes: u64,
    pub(crate) open_files: u64,
    /// Whether the program does not start where something is missing.
    pub(crate) is_required: bool,
    /// Variables that are set, unless the program's own settings set them.
    pub(crate) env: Vec<(String, String)>,
    /// Variables that the program's settings set.
    pub(crate) own_env: Vec<String>,
}

/// What the confining process answers, beside the socket of the proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BoxReport {
    /// Whether the program is alone in its network.
    pub(crate) has_own_network: bool,
    /// What could not be confined.
    pub(crate) missing: Vec<String>,
    /// The control groups that were made for it.
    pub(crate) task_groups: Vec<PathBuf>,
}
