//! `switchboard serve --install`: the gateway as a service of this user, started at each login.

mod launchd;
mod systemd;

use std::{
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, bail};

use super::with_address;
use crate::{
    cli::{Cli, ServeArgs},
    environment, overrides,
    own_gateway::socket::{self, RunningGateway},
    own_program::PackageRunner,
    settings::LoadedConfig,
    terminal::{self, CommandFailed, text},
};

/// The comment at the start of every file that we write, by which we recognise it.
const MARK: &str =
    "Written by `switchboard serve --install`; `switchboard serve --uninstall` removes it.";

/// Variables that say where our files are, and where programs are found.
const KEPT_VARIABLES: [&str; 5] =
    ["PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"];

/// The command that the service runs.
#[derive(Debug)]
struct Service {
    program: PathBuf,
    args: Vec<String>,
    variables: Vec<(String, String)>,
}

/// The service manager of this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServiceManager {
    Systemd,
    Launchd,
}

/// A command of the service manager.
type ManagerCommand = Vec<String>;

impl ServiceManager {
    const HERE: Self = if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd };

    /// The file of the service.
    fn file(self) -> anyhow::Result<PathBuf> {
        let home = environment::path("HOME").filter(|home| home.is_absolute());
        let config = environment::path("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
        let folder = match self {
            Self::Systemd => config.or(home.map(|home| home.join(".config"))),
            Self::Launchd => home.map(|home| home.join("Library/LaunchAgents")),
        };
        let folder = folder.context("there is no folder for the service: HOME is not set")?;
        Ok(match self {
            Self::Systemd => folder.join("systemd/user").join(systemd::UNIT),
            Self::Launchd => folder.join(format!("{}.plist", launchd::LABEL)),
        })
    }

    fn text(self, service: &Service) -> String {
        match self {
            Self::Systemd => systemd::unit(service),
            Self::Launchd => launchd::plist(service),
        }
    }

    /// Returns the command that checks whether the service manager is available.
    fn question(self) -> ManagerCommand {
        match self {
            Self::Systemd => words("systemctl --user show --property=Version"),
            Self::Launchd => words("launchctl managername"),
        }
    }

    /// Returns the commands that load the file and start the service, or restart it if it runs already.
    fn start(self, file: &Path) -> Vec<ManagerCommand> {
        match self {
            Self::Systemd => systemd::start(),
            Self::Launchd => launchd::start(file, rustix::process::geteuid().as_raw()),
        }
    }

    /// Returns the commands that stop the service: one to run before its file is removed, one after.
    fn stop(self) -> (ManagerCommand, Option<ManagerCommand>) {
        match self {
            Self::Systemd => {
                let reload = words("systemctl --user daemon-reload");
                (words(&format!("systemctl --user disable --now {}", systemd::UNIT)), Some(reload))
            }
            Self::Launchd => (launchd::stop(rustix::process::geteuid().as_raw()), None),
        }
    }

    /// Where to look if the service does not start.
    fn log(self) -> &'static str {
        match self {
            Self::Systemd => "journalctl --user --unit switchboard",
            Self::Launchd => "cat ~/Library/Logs/switchboard.log",
        }
    }
}

/// Writes the service's file, shows it, and starts the service.
///
/// # Errors
/// The file is somebody else's or cannot be written, or the service does not start.
pub(super) fn install(serve: &ServeArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let manager = ServiceManager::HERE;
    let loaded = overrides::load(cli)?;
    let (file, text) = (manager.file()?, manager.text(&Service::new(serve, &loaded)?));
    let is_new = write(&file, &text)?;
    let shown = file.display();
    terminal::print(&text)?;
    match is_new {
        true => terminal::tell(&format!("written to {shown}")),
        false => terminal::tell(&format!("{shown} is like that already")),
    }
    tell_variables(&loaded);
    let start = manager.start(&file);
    let by_hand = start.iter().map(|command| command.join(" ")).collect::<Vec<_>>().join(" && ");
    if let Err(reason) = run(&manager.question()) {
        terminal::tell(&format!("not started: {reason}. Where it answers, run\n  {by_hand}"));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(RunningGateway { pid, address }) = running_by_hand(manager, &loaded) {
        bail!(CommandFailed(format!(
            "not started: a gateway with this config is running already at {} (pid {pid}); stop it, then run\n  {by_hand}",
            text::one_line(&address)
        )));
    }
    for command in start {
        run(&command).map_err(|reason| {
            CommandFailed(format!("not started: {reason}; `{}` may say more", manager.log()))
        })?;
    }
    terminal::tell("started; it starts again at each login");
    if manager == ServiceManager::Systemd {
        terminal::tell("`loginctl enable-linger` has it run without a login, too");
    }
    Ok(ExitCode::SUCCESS)
}

/// Stops the service and removes its file.
///
/// # Errors
/// The file is somebody else's or cannot be removed, or the service does not stop.
pub(super) fn uninstall() -> anyhow::Result<ExitCode> {
    let manager = ServiceManager::HERE;
    let file = manager.file()?;
    let shown = file.display();
    if read(&file)?.is_none() {
        terminal::tell(&format!("there is no service: {shown} is not there"));
        return Ok(ExitCode::SUCCESS);
    }
    let (stop, reload) = manager.stop();
    let answers = run(&manager.question()).is_ok();
    if answers {
        run(&stop).map_err(|reason| {
            CommandFailed(format!("not removed, for it does not stop: {reason}"))
        })?;
    }
    fs::remove_file(&file).with_context(|| CommandFailed(format!("failed to remove `{shown}`")))?;
    terminal::tell(&format!("removed {shown}"));
    if let Some(reload) = reload.filter(|_| answers) {
        run(&reload).map_err(CommandFailed)?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Service {
    fn new(serve: &ServeArgs, loaded: &LoadedConfig) -> anyhow::Result<Self> {
        let program = env::current_exe().context("failed to find this program")?;
        let program = fs::canonicalize(&program).with_context(|| {
            format!("`{}` is not there; an upgrade may have moved it", program.display())
        })?;
        if let Some(runner) = PackageRunner::of(&program) {
            bail!(CommandFailed(format!(
                "not installed: `{}` is in a cache, which may be emptied at any time; run `{}`, then `switchboard serve --install`",
                program.display(),
                runner.install_command()
            )));
        }
        let mut args = vec!["serve".to_owned()];
        let listen = serve.listen.clone().or(serve.port.map(|port| port.to_string()));
        if let Some(listen) = listen {
            args.extend(["--listen".to_owned(), with_address(&listen)]);
        }
        if let Some(config) = &loaded.file {
            let config = fs::canonicalize(config).unwrap_or_else(|_| config.clone());
            let config = config.to_str().context("the path of the config is not UTF-8")?;
            args.extend(["--config".to_owned(), config.to_owned()]);
        }
        let variable = |name: &str| Some((name.to_owned(), environment::variable(name).ok()?));
        let variables = KEPT_VARIABLES.into_iter().filter_map(variable);
        let variables = variables.filter(|(_, value)| !value.is_empty()).collect();
        Ok(Self { program, args, variables })
    }
}

/// Warns of environment variables that the service will not inherit from this shell.
fn tell_variables(loaded: &LoadedConfig) {
    let config = loaded.file.as_ref().and_then(|file| fs::read_to_string(file).ok());
    if config.is_some_and(|config| config.contains("${")) {
        terminal::tell(
            "The service has none of this shell's variables but PATH and XDG_*: what `${NAME}` in the config stands for \
             goes into secrets.env beside your own config, as NAME=VALUE.",
        );
    }
}

/// Returns the running gateway of this config, if it is not the service.
fn running_by_hand(manager: ServiceManager, loaded: &LoadedConfig) -> Option<RunningGateway> {
    let running = match socket::claim(loaded) {
        Ok(socket::SocketClaim::Taken(running)) => running?,
        _ => return None,
    };
    let own = match manager {
        ServiceManager::Systemd => systemd::main_pid(),
        // `bootout` and `bootstrap` replace whatever runs under the label.
        ServiceManager::Launchd => Some(running.pid),
    };
    (own != Some(running.pid)).then_some(running)
}

/// Returns the content of the service's file; `None` if it does not exist.
///
/// # Errors
/// The file cannot be read, or Switchboard did not write it.
fn read(file: &Path) -> anyhow::Result<Option<String>> {
    let shown = file.display();
    match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("failed to read `{shown}`")),
        Ok(text) if text.contains(MARK) => Ok(Some(text)),
        Ok(_) => bail!(CommandFailed(format!(
            "`{shown}` was not written by Switchboard, so it is left as it is; move it away and try again"
        ))),
    }
}

/// Writes the file, and returns whether its content has changed.
///
/// # Errors
/// The file was not written by Switchboard, or cannot be written.
fn write(file: &Path, text: &str) -> anyhow::Result<bool> {
    if read(file)?.as_deref() == Some(text) {
        return Ok(false);
    }
    let failed = || CommandFailed(format!("failed to write `{}`", file.display()));
    let folder = file.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).with_context(failed)?;
    // Replaced atomically: the service manager may read it at any time.
    let new = file.with_extension("new");
    fs::write(&new, text).and_then(|()| fs::rename(&new, file)).with_context(failed)?;
    Ok(true)
}

/// Runs a command of the service manager.
///
/// # Errors
/// The command failed: its output.
fn run(command: &[String]) -> Result<String, String> {
    let Some((program, args)) = command.split_first() else { return Ok(String::new()) };
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = text::one_line(said.trim());
            Err(format!("`{}` failed: {said}", command.join(" ")))
        }
    }
}

fn words(line: &str) -> ManagerCommand {
    line.split(' ').map(str::to_owned).collect()
}
