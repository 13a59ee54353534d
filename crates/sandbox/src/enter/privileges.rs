//! Gives up what root may do beyond its own files, and what programs could give back.

use std::io;

use rustix::{
    io::Errno,
    thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs},
};

/// Drops all capabilities; with `no_new_privs`, no program brings them back.
pub(super) fn drop_all() -> io::Result<()> {
    set_no_new_privs(true)?;
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    match set_capabilities(None, none) {
        Ok(()) | Err(Errno::PERM) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
