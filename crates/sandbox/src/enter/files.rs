//! Files, TCP, signals and abstract sockets, by Landlock.

use std::{os::fd::OwnedFd, path::Path, thread};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, NetPort,
    PathBeneath, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2};

use crate::policy::{BoxPolicy, FileAccess, FileRule};

/// The newest version of Landlock that is known here.
const NEWEST: ABI = ABI::V9;

/// Returns the version of Landlock's interface, 0 if there is none.
pub(crate) fn landlock_abi() -> i32 {
    // Only a thread that confines itself is told the version; this one ends then.
    let asked = thread::spawn(|| {
        let ruleset = Ruleset::default().handle_access(AccessFs::MakeBlock)?.create()?;
        Ok::<_, RulesetError>(ruleset.restrict_self()?.landlock)
    });
    match asked.join() {
        Ok(Ok(LandlockStatus::Available { effective_abi, kernel_abi })) => {
            kernel_abi.unwrap_or(effective_abi as i32)
        }
        _ => 0,
    }
}

/// Opens what the rules name, and makes a ruleset of them that is not enforced yet.
///
/// # Errors
/// The system cannot confine what has to be confined.
pub(super) fn ruleset(policy: &BoxPolicy, ports: &[u16]) -> Result<RulesetCreated, String> {
    build(policy, ports).map_err(|error| format!("Landlock refuses its rules: {error}"))
}

fn build(policy: &BoxPolicy, ports: &[u16]) -> Result<RulesetCreated, RulesetError> {
    let needed = match policy.is_required {
        true => CompatLevel::HardRequirement,
        false => CompatLevel::BestEffort,
    };
    let mut rules = Ruleset::default()
        .set_compatibility(needed)
        .handle_access(AccessFs::from_all(ABI::V4))?
        .handle_access(AccessNet::from_all(ABI::V4))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    for rule in &policy.files {
        // What is not there any more needs no rule.
        let Some((file, is_folder)) = open_path(&rule.path) else { continue };
        let access = access(rule, is_folder);
        if !access.is_empty() {
            rules = rules.add_rule(PathBeneath::new(file, access))?;
        }
    }
    for &port in ports {
        rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    Ok(rules)
}

/// Confines this process for good.
///
/// # Errors
/// It was not confined.
pub(super) fn enforce(rules: RulesetCreated) -> Result<(), String> {
    match rules.restrict_self() {
        Ok(status) if status.ruleset != RulesetStatus::NotEnforced => Ok(()),
        Ok(_) => Err("Landlock does not confine it".to_owned()),
        Err(error) => Err(format!("Landlock does not confine it: {error}")),
    }
}

/// Opens a path, none of whose folders may have become a link since it was resolved.
fn open_path(path: &Path) -> Option<(OwnedFd, bool)> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let file = match path.starts_with("/proc") {
        true => open(path, flags, Mode::empty()),
        false => openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS),
    };
    let file = file.ok()?;
    let kind = FileType::from_raw_mode(fstat(&file).ok()?.st_mode);
    Some((file, kind == FileType::Directory))
}

/// What the rule allows on a folder and below it, or on a file.
fn access(rule: &FileRule, is_folder: bool) -> BitFlags<AccessFs> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let change = AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::RemoveDir
        | AccessFs::RemoveFile
        | AccessFs::MakeDir
        | AccessFs::MakeReg
        | AccessFs::MakeSock
        | AccessFs::MakeFifo
        | AccessFs::MakeSym
        | AccessFs::Refer;
    let access = match rule.access {
        FileAccess::List => AccessFs::ReadDir.into(),
        FileAccess::Read => read,
        FileAccess::Run => read | AccessFs::Execute,
        FileAccess::Device => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev,
        FileAccess::Write => read | change,
        FileAccess::Connect => AccessFs::ResolveUnix.into(),
    };
    match is_folder {
        true => access,
        false => access & AccessFs::from_file(NEWEST),
    }
}
