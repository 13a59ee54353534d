//! What this system can confine.

use std::sync::OnceLock;

use crate::SandboxDeps;

/// The version of Landlock from which TCP is confined; `on` needs it.
const TCP: i32 = 4;

/// The version of Landlock from which signals and abstract sockets are confined.
const SCOPES: i32 = 6;

/// The version of Landlock from which a Unix socket is confined by its path.
pub(crate) const UNIX: i32 = 9;

/// What this system can confine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSupport {
    /// The version of Landlock's interface; 0 if there is none.
    pub landlock_abi: i32,
    /// Whether system calls can be filtered.
    pub has_seccomp: bool,
}

impl SandboxSupport {
    /// Returns what this system can confine; asked once.
    pub fn current() -> &'static Self {
        static CURRENT: OnceLock<SandboxSupport> = OnceLock::new();
        CURRENT.get_or_init(Self::probe)
    }

    /// What `sandbox = "on"` needs and is not there; empty if programs can be confined.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        match self.landlock_abi {
            0 => missing.push(no_landlock().to_owned()),
            abi if abi < TCP => missing.push(format!(
                "TCP cannot be confined: this kernel has version {abi} of Landlock, and TCP needs {TCP} (Linux 6.7)"
            )),
            _ => {}
        }
        if !self.has_seccomp {
            missing.push("system calls cannot be filtered: this system has no seccomp".to_owned());
        }
        missing
    }

    /// What this system cannot confine although programs can be started confined.
    pub fn gaps(&self) -> Option<String> {
        (TCP..SCOPES).contains(&self.landlock_abi).then(|| {
            let abi = self.landlock_abi;
            format!(
                "signals to other processes are not confined: this kernel has version {abi} of Landlock, and \
                 they need {SCOPES} (Linux 6.12)"
            )
        })
    }

    /// One line for people.
    pub fn summary(&self) -> String {
        let landlock = match self.landlock_abi {
            0 => "no Landlock".to_owned(),
            abi => format!("Landlock version {abi}"),
        };
        let seccomp = if self.has_seccomp { "seccomp" } else { "no seccomp" };
        format!("{landlock}, {seccomp}")
    }

    #[cfg(target_os = "linux")]
    fn probe() -> Self {
        let filters = std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail");
        let is_known_processor = crate::enter::can_filter();
        Self {
            landlock_abi: crate::enter::landlock_abi(),
            has_seccomp: is_known_processor
                && filters.is_ok_and(|actions| actions.contains("errno")),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn probe() -> Self {
        Self { landlock_abi: 0, has_seccomp: false }
    }
}

fn no_landlock() -> &'static str {
    if cfg!(target_os = "linux") {
        "files cannot be confined: this kernel has no Landlock, or starts without it (it needs Linux 5.13 and `landlock` \
         in the kernel's `lsm=` list)"
    } else {
        "programs cannot be confined on this system: the sandbox needs Linux"
    }
}

/// Why a program cannot have a network of its own; `None` if it can. Starts our own program to find out, so that this one
/// stays where it is.
pub fn network_problem() -> Option<String> {
    SandboxDeps::this_program().ok()?.probe(&[])
}

impl SandboxDeps {
    /// Why a program cannot have processes and files of its own, which a browser needs; `None` if it can. Starts our own program to
    /// find out.
    pub fn browser_problem(&self) -> Option<String> {
        self.probe(&[crate::OWN_PROCESSES])
    }

    fn probe(&self, what: &[&str]) -> Option<String> {
        let (program, args) = self.entry.split_first()?;
        let mut command = std::process::Command::new(program);
        match command.args(args).args(what).arg(crate::PROBE).output() {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Some(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SB-1
    #[test]
    fn what_is_missing_is_said() {
        let missing = |landlock_abi, has_seccomp| {
            SandboxSupport { landlock_abi, has_seccomp }.missing().join("; ")
        };
        assert_eq!(missing(4, true), "");
        assert_eq!(missing(9, true), "");
        assert!(missing(3, true).contains("TCP cannot be confined"));
        assert!(missing(6, false).contains("no seccomp"));
        if cfg!(target_os = "linux") {
            assert!(missing(0, true).contains("no Landlock"));
        }
        let gaps = |landlock_abi| SandboxSupport { landlock_abi, has_seccomp: true }.gaps();
        assert!(gaps(4).unwrap().contains("signals"));
        assert_eq!(gaps(6), None);
    }
}
