//! Tells whether what is installed is what is declared.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file inside the installed folder that holds all that the installation was made from.
///
/// It holds the inputs themselves: they are small, and unlike a hash they can be compared by eye. It is stored inside the
/// folder that it describes, so that it is removed with it.
pub(crate) struct Stamp {
    path: PathBuf,
    inputs: String,
}

impl Stamp {
    pub(crate) fn new(folder: &Path, inputs: &[&str]) -> Self {
        Self { path: folder.join(".stamp"), inputs: inputs.join("\n") }
    }

    /// Whether the folder was installed, to the end, from these inputs.
    pub(crate) fn is_current(&self) -> bool {
        fs::read_to_string(&self.path).is_ok_and(|written| written == self.inputs)
    }

    /// Says that the installation is complete.
    pub(crate) fn write(&self) -> Result<()> {
        fs::write(&self.path, &self.inputs)
            .with_context(|| format!("failed to write `{}`", self.path.display()))
    }
}
