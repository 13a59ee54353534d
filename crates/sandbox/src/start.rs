//! What a confined program is started with: its policy, a folder for its temporary files, and the proxy beside it.

mod variables;
mod watch;

use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tempfile::TempDir;
use tokio::task::AbortHandle;

use crate::{
    OWN_PROCESSES,
    config::{SandboxAllow, SandboxConfig, SandboxMode},
    control::SharedTree,
    files::{self, FileSet, ProgramFiles, SandboxPlaces, SecretPaths},
    hints::AllowedFiles,
    learn::LearnedProfile,
    policy::{BoxPolicy, NetworkRule, OwnTree, UnixSockets},
    proxy::{ConnectList, EgressProxy, ProxyClients},
    refusals::{RefusalLog, RefusalObserver, SandboxRefusal},
    support::{SandboxSupport, UNIX},
};

pub(crate) use variables::proxy_variables;
use variables::{home_variables, temp_variables};
use watch::WatchedRun;

/// The longest path of a folder in which a socket still has a name.
const LONGEST_FOLDER: usize = 60;

/// What all sandboxes share.
#[derive(Clone)]
pub struct SandboxDeps {
    /// What starts a program that confines itself: a program with its first arguments.
    pub entry: Vec<OsString>,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// What no program may read, beside the usual secrets of a user.
    pub secrets: Vec<PathBuf>,
    /// Called with what programs were refused: the server or tool, and what.
    pub observer: Option<RefusalObserver>,
    /// Called with what a program needs whose settings say `learn`, when it has ended.
    pub learner: Option<ProfileObserver>,
}

/// Called with the server or tool, and what it needs.
pub type ProfileObserver = Arc<dyn Fn(&str, &LearnedProfile) + Send + Sync>;

impl SandboxDeps {
    /// Confines programs by this one, whose `main` has to call [`enter`](crate::enter) if its first argument is
    /// [`ARGUMENT`](crate::ARGUMENT).
    ///
    /// # Errors
    /// The path of our own program is unknown.
    pub fn this_program() -> io::Result<Self> {
        // An upgrade may have put another program under our name; Linux still has what runs.
        let program = match cfg!(target_os = "linux") {
            true => PathBuf::from("/proc/self/exe"),
            false => env::current_exe()?,
        };
        let entry = vec![program.into(), crate::ARGUMENT.into()];
        Ok(Self { entry, home: None, secrets: Vec::new(), observer: None, learner: None })
    }
}

/// A program that is to be confined.
#[derive(Clone, Copy, Debug)]
pub struct SandboxedProgram<'a> {
    /// The server or tool that it belongs to.
    pub owner: &'a str,
    /// The program, looked for in `PATH` if it is a bare name.
    pub command: &'a str,
    /// Its arguments, of these only those that its settings have as they are: an interpreter may read a script that is named
    /// here, so nothing that a caller chooses may be among them.
    pub args: &'a [String],
    /// The names of the variables that its settings set, and `PATH` if that is one of them.
    pub env: &'a std::collections::BTreeMap<String, String>,
    /// Where it runs; where we do, if `None`.
    pub cwd: Option<&'a Path>,
}

/// A sandbox for one run of a program; its proxy ends and its temporary folder goes when this is dropped, and what is left of the
/// program is ended a few seconds later.
pub struct Sandbox {
    entry: Vec<OsString>,
    refusals: Arc<RefusalLog>,
    allowed: Option<AllowedFiles>,
    serving: Option<AbortHandle>,
    processes: SharedTree,
    watch: Option<WatchedRun>,
    _folder: TempDir,
}

impl Sandbox {
    /// Makes a sandbox; `None` if the program is started without one: `off`, or `try` where nothing can be confined. Must be
    /// called within a tokio runtime.
    ///
    /// # Errors
    /// Says why the program cannot be confined as its settings demand.
    pub fn open(
        program: &SandboxedProgram<'_>,
        config: &SandboxConfig,
        deps: &SandboxDeps,
    ) -> Result<Option<Self>, String> {
        config.check()?;
        let is_required = match config.mode {
            SandboxMode::Off => return Ok(None),
            SandboxMode::Learn => return Self::watch(program, deps).map(Some),
            SandboxMode::On => true,
            SandboxMode::Try => false,
        };
        let missing = missing(config, SandboxSupport::current());
        let owner = program.owner;
        if is_required && !missing.is_empty() {
            return Err(format!("it cannot be confined: {}", missing.join("; ")));
        }
        for problem in missing.into_iter().chain(SandboxSupport::current().gaps()) {
            tracing::warn!("'{owner}' is not fully confined: {problem}");
        }
        if SandboxSupport::current().landlock_abi == 0 {
            return Ok(None);
        }
        warn_of_direct(owner, config);
        Self::prepare(program, config, deps, is_required).map(Some)
    }

    fn prepare(
        program: &SandboxedProgram<'_>,
        config: &SandboxConfig,
        deps: &SandboxDeps,
        is_required: bool,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| format!("its sandbox cannot be made: {error}");
        let folder = folder().map_err(failed)?;
        let temp = folder.path().join("tmp");
        fs::create_dir(&temp).map_err(failed)?;
        let (places, search) = environment(program, deps).map_err(failed)?;
        let secrets = SecretPaths::new(deps.home.as_deref(), &deps.secrets);
        let files = ProgramFiles { command: program.command, args: program.args, search: &search };
        make_caches(&config.allow, &places).map_err(failed)?;
        let FileSet { rules, names } =
            files::rules(&files, &config.allow, &places, &secrets, &temp);
        for path in places.missing(&config.allow.write) {
            let owner = program.owner;
            tracing::warn!(
                "'{owner}' cannot write `{path}`, which is not there: create it, or allow its folder"
            );
        }
        let destinations = ConnectList::new(&config.allow.connect);
        let token = token(folder.path());
        let ports = config.allow.connect_direct.clone();
        let network = match ports.is_empty() {
            true => NetworkRule::Proxy {
                token: token.clone(),
                has_destinations: destinations.has_hosts(),
            },
            false => NetworkRule::Direct { token: token.clone(), ports },
        };
        let own_tree = config.allow.has_browser().then(|| own_tree(names, &places));
        let own_env = program.env.keys().cloned().collect();
        let home = (!config.allow.home.is_users()).then(|| temp.join("home"));
        let policy = BoxPolicy {
            files: rules.clone(),
            temp: temp.clone(),
            network,
            unix_sockets: match own_tree {
                Some(_) => UnixSockets::Own,
                None if has_unix(config) => UnixSockets::Any,
                None => UnixSockets::None,
            },
            own_tree,
            memory: config.limits.memory.0,
            processes: config.limits.processes,
            open_files: config.limits.files,
            is_required,
            env: temp_variables(&temp)
                .into_iter()
                .chain(home.iter().flat_map(|home| home_variables(home)))
                .collect(),
            home,
            own_env,
        };
        let refusals = Arc::new(RefusalLog::new(program.owner, deps.observer.clone()));
        let proxy = EgressProxy {
            allowed: destinations,
            clients: ProxyClients::Token(token),
            watched: None,
            refusals: Arc::clone(&refusals),
        };
        let socket = folder.path().join("s");
        let processes = SharedTree::default();
        let of_program = SharedTree::clone(&processes);
        let serving = crate::control::serve(&socket, program.owner, &policy, proxy, of_program)
            .map_err(failed)?;
        let mut entry = deps.entry.clone();
        entry.extend(config.allow.has_browser().then(|| OWN_PROCESSES.into()));
        entry.push(socket.into());
        let allowed =
            Some(AllowedFiles { rules, places, secrets, processes: config.limits.processes });
        let serving = Some(serving);
        Ok(Self { entry, refusals, allowed, serving, processes, watch: None, _folder: folder })
    }

    /// Returns what a watched program needs, by what it did so far; `None` if it is not watched.
    pub fn learned(&self) -> Option<LearnedProfile> {
        Some(self.watch.as_ref()?.strace_run.learned())
    }

    /// What stands before the program and its arguments, so that it confines itself.
    pub fn entry(&self) -> &[OsString] {
        &self.entry
    }

    /// How much it was refused so far; what comes later is asked for with [`hint`](Self::hint).
    pub fn refusals(&self) -> u64 {
        self.refusals.count()
    }

    /// Returns what it was refused so far, as far as that is known: the last of each.
    pub fn refused(&self) -> Vec<SandboxRefusal> {
        match self.watch {
            // What is seen of a watched program is no refusal.
            Some(_) => Vec::new(),
            None => self.refusals.since(0),
        }
    }

    /// Returns what the program was refused after so many refusals, as far as it is known: by the proxy, or by its own words.
    pub fn hint(&self, after: u64, words: &str) -> Option<String> {
        if self.watch.is_some() {
            return None;
        }
        let by_words = self.allowed.as_ref().map(|allowed| allowed.refused(words));
        for refusal in by_words.into_iter().flatten() {
            self.refusals.record(refusal);
        }
        let refused = self.refusals.since(after);
        let texts =
            refused.iter().map(|refusal| format!("{} ({})", refusal.what(), refusal.remedy()));
        let texts: Vec<_> = texts.take(3).collect();
        (!texts.is_empty()).then(|| format!("the sandbox refused {}", texts.join("; ")))
    }

    /// The first refusal in a program's words, without its being remembered.
    pub fn refusal_in(&self, words: &str) -> Option<SandboxRefusal> {
        self.allowed.as_ref()?.refused(words).into_iter().next()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Some(serving) = &self.serving {
            serving.abort();
        }
        #[cfg(target_os = "linux")]
        if let Some(processes) = self.processes.get() {
            processes.clone().end_left();
        }
        if let Some(run) = &self.watch
            && let Some(learner) = &run.learner
        {
            learner(&run.owner, &run.strace_run.learned());
        }
    }
}

/// What these settings need and this system does not have.
pub fn missing(config: &SandboxConfig, support: &SandboxSupport) -> Vec<String> {
    let mut missing = support.missing();
    if has_unix(config) && (1..UNIX).contains(&support.landlock_abi) {
        let abi = support.landlock_abi;
        missing.push(format!(
            "sandbox_allow.connect: Unix sockets cannot be told apart: this kernel has version {abi} of Landlock, and \
             they need {UNIX}"
        ));
    }
    missing
}

/// What is in the program's own file tree, beside what its rules name.
fn own_tree(mut names: Vec<PathBuf>, places: &SandboxPlaces) -> OwnTree {
    let known = places.home().into_iter().chain([places.cwd()]);
    names.extend(known.map(Path::to_owned));
    let folders = places.home().and_then(|home| home.canonicalize().ok()).into_iter().collect();
    OwnTree { names, folders, bound: files::bound_sockets() }
}

fn has_unix(config: &SandboxConfig) -> bool {
    config.allow.connect.iter().any(|entry| entry.starts_with("unix:"))
}

fn warn_of_direct(owner: &str, config: &SandboxConfig) {
    let ports = &config.allow.connect_direct;
    if !ports.is_empty() {
        let ports: Vec<_> = ports.iter().map(ToString::to_string).collect();
        let ports = ports.join(", ");
        tracing::warn!(
            "'{owner}' may connect to port {ports} of every host, and to port 53 to look up names \
             (sandbox_allow.connect_direct)"
        );
    }
}

/// Where a program runs, and where its programs are looked for.
fn environment(
    program: &SandboxedProgram<'_>,
    deps: &SandboxDeps,
) -> io::Result<(SandboxPlaces, Vec<PathBuf>)> {
    let cwd = match program.cwd {
        Some(cwd) => env::current_dir()?.join(cwd),
        None => env::current_dir()?,
    };
    let path = program.env.get("PATH").map(Into::into).or_else(|| env::var_os("PATH"));
    let search = env::split_paths(&path.unwrap_or_default()).collect();
    Ok((SandboxPlaces::new(deps.home.clone(), cwd), search))
}

/// Makes the caches of presets, which can be allowed only if they are there.
fn make_caches(allow: &SandboxAllow, places: &SandboxPlaces) -> io::Result<()> {
    let mut folders = allow.preset.iter().flat_map(|preset| preset.folders());
    folders.try_for_each(|folder| fs::create_dir_all(places.absolute(folder)))
}

/// A folder that only the user can enter, short enough for a socket in it.
fn folder() -> io::Result<TempDir> {
    let usual = env::temp_dir();
    let short = match usual.as_os_str().len() > LONGEST_FOLDER {
        true => PathBuf::from("/tmp"),
        false => usual,
    };
    tempfile::Builder::new().prefix("switchboard-").rand_bytes(12).tempdir_in(short)
}

/// A secret as long as the name of the folder is random.
fn token(folder: &Path) -> String {
    use std::hash::{BuildHasher, RandomState};
    let parts = (0..4).map(|part| RandomState::new().hash_one((part, folder)));
    parts.map(|part| format!("{part:016x}")).collect()
}
