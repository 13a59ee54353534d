//! What a program was refused, and what line of its settings would allow it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

/// How many refusals of a program are remembered.
const MOST: usize = 64;

/// Something that a program was refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SandboxRefusal {
    /// Reading a path.
    Read(String),
    /// Changing a path.
    Write(String),
    /// Running a program.
    Run(String),
    /// Connecting to `host:port`.
    Connect(String),
    /// Reading or changing what no sandbox allows.
    Secret(String),
    /// More memory than it may have, which ended it.
    Memory(String),
    /// More processes and threads than it may have.
    Processes(String),
}

impl SandboxRefusal {
    /// The path or host.
    pub fn what(&self) -> &str {
        match self {
            Self::Read(what)
            | Self::Write(what)
            | Self::Run(what)
            | Self::Connect(what)
            | Self::Secret(what)
            | Self::Memory(what)
            | Self::Processes(what) => what,
        }
    }

    /// The line that would allow it.
    pub fn remedy(&self) -> String {
        let key = match self {
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::Run(_) => "run",
            Self::Connect(_) => "connect",
            Self::Secret(_) => return "no sandbox allows it".to_owned(),
            Self::Memory(_) => return "to allow it: raise sandbox_limits.memory".to_owned(),
            Self::Processes(_) => return "to allow it: raise sandbox_limits.processes".to_owned(),
        };
        format!("to allow it: sandbox_allow.{key} += {:?}", self.what())
    }
}

/// Called with each refusal that was not known yet.
pub type RefusalObserver = Arc<dyn Fn(&str, &SandboxRefusal) + Send + Sync>;

/// The last refusals of one program.
pub(crate) struct RefusalLog {
    /// The server or tool that it belongs to.
    owner: String,
    seen: Mutex<SeenRefusals>,
    observer: Option<RefusalObserver>,
}

#[derive(Default)]
struct SeenRefusals {
    count: u64,
    last: VecDeque<(u64, SandboxRefusal)>,
}

impl RefusalLog {
    pub(crate) fn new(owner: &str, observer: Option<RefusalObserver>) -> Self {
        Self { owner: owner.to_owned(), seen: Mutex::default(), observer }
    }

    /// Remembers a refusal.
    pub(crate) fn record(&self, refusal: SandboxRefusal) {
        let is_new = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.count += 1;
            let count = seen.count;
            let known = seen.last.iter().position(|(_, known)| *known == refusal);
            if let Some(known) = known {
                seen.last.remove(known);
            }
            seen.last.push_back((count, refusal.clone()));
            if seen.last.len() > MOST {
                seen.last.pop_front();
            }
            known.is_none()
        };
        if is_new && let Some(observer) = &self.observer {
            observer(&self.owner, &refusal);
        }
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).count
    }

    /// Those after so many.
    pub(crate) fn since(&self, count: u64) -> Vec<SandboxRefusal> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let later = seen.last.iter().filter(|(number, _)| *number > count);
        later.map(|(_, refusal)| refusal.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SB-1
    #[test]
    fn a_refusal_is_observed_once_and_found_again() {
        let observed = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&observed);
        let observer: RefusalObserver = Arc::new(move |owner, refusal| {
            sink.lock().unwrap().push(format!("{owner} {}", refusal.what()));
        });
        let refusals = RefusalLog::new("x", Some(observer));
        refusals.record(SandboxRefusal::Connect("a:1".to_owned()));
        let count = refusals.count();
        refusals.record(SandboxRefusal::Read("/b".to_owned()));
        refusals.record(SandboxRefusal::Connect("a:1".to_owned()));
        assert_eq!(refusals.since(count).len(), 2);
        assert_eq!(*observed.lock().unwrap(), ["x a:1", "x /b"]);
    }
}
