//! System calls that Landlock does not see: which are refused, and the filter that refuses them.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};

use crate::policy::UnixSockets;

mod numbers;
mod rules;

/// The calls that are refused, each with the arguments for which it is; with none, always.
type RefusedCalls = BTreeMap<i64, Vec<SeccompRule>>;

/// Whether the filter knows this processor.
pub(crate) fn can_filter() -> bool {
    processor().is_some()
}

fn processor() -> Option<TargetArch> {
    std::env::consts::ARCH.try_into().ok()
}

/// What decides how much is refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct FilterScope {
    pub(super) unix_sockets: UnixSockets,
    /// Whether nobody else is in the program's network, so that nobody can connect to what listens there.
    pub(super) has_own_network: bool,
    /// Whether mounts keep what must not change, so that permissions and owners of the rest may be changed.
    pub(super) is_protected: bool,
}

/// Installs the filters, for good.
///
/// # Errors
/// The system cannot filter calls.
pub(super) fn filter(scope: FilterScope) -> Result<(), String> {
    let failed = |error: seccompiler::Error| format!("seccomp does not confine it: {error}");
    let wrong = |error: seccompiler::BackendError| failed(error.into());
    // What programs have a way around is said not to be there; the rest is forbidden.
    let absent = compile(rules::absent(), libc::ENOSYS).map_err(wrong)?;
    let forbidden = compile(rules::forbidden(scope).map_err(wrong)?, libc::EPERM);
    let forbidden = other_numbering(forbidden.map_err(wrong)?);
    apply_filter(&absent).map_err(failed)?;
    apply_filter(&forbidden).map_err(failed)
}

fn compile(calls: RefusedCalls, error: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    let name = std::env::consts::ARCH;
    let processor =
        processor().ok_or_else(|| seccompiler::BackendError::InvalidTargetArch(name.to_owned()))?;
    let refuse = SeccompAction::Errno(error.unsigned_abs());
    SeccompFilter::new(calls, SeccompAction::Allow, refuse, processor)?.try_into()
}

/// Puts a check before the filter that refuses all calls of the x32 numbering, which would get around it.
fn other_numbering(filter: BpfProgram) -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_GREATER_OR_EQUAL: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    if !cfg!(target_arch = "x86_64") {
        return filter;
    }
    let refuse = u32::from(SeccompAction::Errno(libc::ENOSYS.unsigned_abs()));
    let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    // The number of the call is the first word. A filter's jumps are relative, so the rest stays as it is.
    let check =
        [step(LOAD_WORD, 0, 0), step(JUMP_IF_GREATER_OR_EQUAL, 1, X32), step(RETURN, 0, refuse)];
    check.into_iter().chain(filter).collect()
}

/// A condition on the lower half of an argument.
fn argument(
    index: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    // SB-1
    #[test]
    fn the_filters_fit_into_the_kernel() {
        let scopes =
            [(UnixSockets::None, true), (UnixSockets::Own, true), (UnixSockets::Any, false)];
        for (unix_sockets, is_protected) in scopes {
            let has_own_network = is_protected;
            let scope = FilterScope { unix_sockets, has_own_network, is_protected };
            let forbidden = rules::forbidden(scope).unwrap();
            let forbidden = compile(forbidden, libc::EPERM);
            let absent = compile(rules::absent(), libc::ENOSYS);
            let length = other_numbering(forbidden.unwrap()).len() + absent.unwrap().len();
            assert!(length < 4096, "{length} steps");
        }
    }
}
