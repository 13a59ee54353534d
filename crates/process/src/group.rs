//! The process group that a program was started in.

use std::sync::atomic::{AtomicI32, Ordering};

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process_group, test_kill_process_group};

/// The number of a process group, once it is known.
#[derive(Default)]
pub struct ProcessGroup(AtomicI32);

impl ProcessGroup {
    /// Notes that the child leads the group.
    pub fn led_by(&self, child: &tokio::process::Child) {
        let number = child.id().and_then(|number| i32::try_from(number).ok());
        self.0.store(number.unwrap_or_default(), Ordering::Relaxed);
    }

    /// Notes which group the guard says that it started. The first number counts: the server writes to stderr too.
    pub fn learn(&self, number: &[u8]) {
        let number = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
        // Such a number is invalid, and 1 would mean all processes.
        if let Some(number) = number.filter(|number| *number > 1) {
            let _ = self.0.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Returns the number of the group, if it is known.
    pub fn number(&self) -> Option<u32> {
        self.pid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs())
    }

    /// Sends a signal to all processes of the group.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            // An empty group is fine.
            let _ = kill_process_group(pid, signal);
        }
    }

    /// Returns whether the group is empty.
    pub fn is_empty(&self) -> bool {
        self.pid().is_none_or(|pid| test_kill_process_group(pid).is_err())
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.0.load(Ordering::Relaxed))
    }
}
