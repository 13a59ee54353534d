//! The numbers of calls that are always refused.

use libc::c_long;

/// Calls that are forbidden whatever their arguments are.
pub(super) const FORBIDDEN: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // Mounts.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // Namespaces.
    libc::SYS_setns,
    // The kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_kexec_load,
    KEXEC_FILE_LOAD,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    // Keys.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Files past their names.
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Attributes.
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
    // What all processes of the user share.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Calls of this processor alone.
#[cfg(target_arch = "x86_64")]
pub(super) const FORBIDDEN_HERE: &[c_long] =
    &[libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_iopl, libc::SYS_ioperm];

/// Calls of this processor alone.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const FORBIDDEN_HERE: &[c_long] = &[];

/// Calls that change permissions, each with the argument that has them.
pub(super) const MODES: &[(c_long, u8)] =
    &[(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2), (libc::SYS_mknodat, 2)];

/// Calls of this processor alone.
#[cfg(target_arch = "x86_64")]
pub(super) const MODES_HERE: &[(c_long, u8)] =
    &[(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];

/// Calls of this processor alone.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const MODES_HERE: &[(c_long, u8)] = &[];

/// Calls that open files, each with the argument that has its flags; the permissions of a new file follow.
pub(super) const OPENS: &[(c_long, u8)] = &[(libc::SYS_openat, 2)];

/// Calls of this processor alone.
#[cfg(target_arch = "x86_64")]
pub(super) const OPENS_HERE: &[(c_long, u8)] = &[(libc::SYS_open, 1)];

/// Calls of this processor alone.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const OPENS_HERE: &[(c_long, u8)] = &[];

/// Calls that change permissions and owners, whatever they change them to.
pub(super) const CHANGES: &[c_long] =
    &[libc::SYS_fchmod, libc::SYS_fchmodat, FCHMODAT2, libc::SYS_fchown, libc::SYS_fchownat];

/// Calls of this processor alone.
#[cfg(target_arch = "x86_64")]
pub(super) const CHANGES_HERE: &[c_long] = &[libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown];

/// Calls of this processor alone.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const CHANGES_HERE: &[c_long] = &[];

/// Calls whose first argument is a process, or 0 for the caller.
pub(super) const OF_PROCESS: &[c_long] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
];

/// Calls whose second argument is a process, a group or a user, or 0 for that of the caller, each with the first argument that
/// means all processes of a user.
pub(super) const OF_PROCESSES: [(c_long, u64); 2] =
    [(libc::SYS_setpriority, 2), (libc::SYS_ioprio_set, 3)];

/// Calls that programs can do without.
pub(super) const ABSENT: &[c_long] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    libc::SYS_memfd_secret,
    // What is in such memory is counted nowhere, and could be executed.
    libc::SYS_memfd_create,
    // Its flags lie in memory, where the filter does not look: `clone` is asked instead.
    libc::SYS_clone3,
    // So do the permissions of the file that it makes: `openat` is asked instead.
    libc::SYS_openat2,
];

// Not in every C library.
#[cfg(target_arch = "x86_64")]
const KEXEC_FILE_LOAD: c_long = 320;
#[cfg(not(target_arch = "x86_64"))]
const KEXEC_FILE_LOAD: c_long = 294;

// Calls that are too new for the C library; their numbers are the same on all processors.
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const FILE_SETATTR: c_long = 469;
