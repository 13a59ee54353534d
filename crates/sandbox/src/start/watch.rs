//! A program that is watched instead of confined.

use std::{env, fs, io, sync::Arc};

use super::{
    ProfileObserver, Sandbox, SandboxDeps, SandboxedProgram, environment, folder,
    variables::{proxy_variables, temp_variables},
};
use crate::{
    config::SandboxAllow,
    control::SharedTree,
    files::{self, ProgramFiles, SecretPaths},
    learn::{self, StraceRun},
    proxy::{ConnectList, EgressProxy, ProxyClients, SeenHosts},
    refusals::RefusalLog,
};

/// A program that is watched, and who is told what it needs.
pub(super) struct WatchedRun {
    pub(super) owner: String,
    pub(super) strace_run: StraceRun,
    pub(super) learner: Option<ProfileObserver>,
}

impl Sandbox {
    /// Watches a program instead of confining it.
    pub(super) fn watch(
        program: &SandboxedProgram<'_>,
        deps: &SandboxDeps,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| format!("it cannot be watched: {error}");
        let folder = folder().map_err(failed)?;
        let temp = folder.path().join("tmp");
        fs::create_dir(&temp).map_err(failed)?;
        let (places, search) = environment(program, deps).map_err(failed)?;
        let secrets = SecretPaths::new(deps.home.as_deref(), &deps.secrets);
        let files = ProgramFiles { command: program.command, args: program.args, search: &search };
        let usual = files::rules(&files, &SandboxAllow::default(), &places, &secrets, &temp).rules;
        let trace = folder.path().join("trace");
        let own_search: Vec<_> =
            env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
        let watcher = learn::watcher(&own_search, places.cwd(), &trace)?;
        // What is seen is no refusal, so nobody is told.
        let seen = SeenHosts::default();
        let refusals = Arc::new(RefusalLog::new(program.owner, None));
        let proxy = EgressProxy {
            allowed: ConnectList::default(),
            watched: Some(Arc::clone(&seen)),
            clients: ProxyClients::OwnUser,
            refusals: Arc::clone(&refusals),
        };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let proxy_port = listener.local_addr().map_err(failed)?.port();
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
        let serving = tokio::spawn(Arc::new(proxy).serve(listener)).abort_handle();
        let address = format!("http://127.0.0.1:{proxy_port}");
        let variables = proxy_variables(&address).into_iter().chain(temp_variables(&temp));
        let variables = variables.filter(|(name, _)| !program.env.contains_key(name));
        let variables = variables.map(|(name, value)| format!("{name}={value}").into());
        let entry = std::iter::once("env".into())
            .chain(variables)
            .chain(watcher.into_iter().map(Into::into))
            .collect();
        let scripts = program.args.iter().map(|arg| places.cwd().join(arg));
        let scripts = scripts.filter(|path| path.is_file());
        let folders =
            scripts.filter_map(|path| Some(path.canonicalize().ok()?.parent()?.to_owned()));
        let own_folders = folders.chain(places.cwd().canonicalize()).collect();
        let strace_run = StraceRun { trace, proxy_port, own_folders, usual, places, secrets, seen };
        let owner = program.owner.to_owned();
        let watch = Some(WatchedRun { owner, strace_run, learner: deps.learner.clone() });
        let (serving, processes) = (Some(serving), SharedTree::default());
        Ok(Self { entry, refusals, allowed: None, serving, processes, watch, _folder: folder })
    }
}
