//! Runs programs in a sandbox.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use switchboard_sandbox::{
    Sandbox, SandboxAllow, SandboxConfig, SandboxDeps, SandboxMode, SandboxPreset, SandboxSupport,
    SandboxedProgram,
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

/// What starts a program that confines itself: an example of this crate.
pub(crate) fn deps(home: &Path, secrets: &[PathBuf]) -> SandboxDeps {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("examples/sandbox_entry");
    assert!(program.exists(), "{} is built with the tests", program.display());
    SandboxDeps {
        entry: vec![program.into(), "__sandbox".into()],
        home: Some(home.to_owned()),
        secrets: secrets.to_owned(),
        observer: None,
        learner: None,
    }
}

/// Settings that confine, with what is allowed.
pub(crate) fn on(allow: SandboxAllow) -> SandboxConfig {
    SandboxConfig { mode: SandboxMode::On, allow, ..SandboxConfig::default() }
}

/// The same, for a program that is or starts a browser.
pub(crate) fn browser(allow: SandboxAllow) -> SandboxAllow {
    SandboxAllow { preset: vec![SandboxPreset::Browser], ..allow }
}

/// Texts, as settings have them.
pub(crate) fn texts<const N: usize>(paths: [&Path; N]) -> Vec<String> {
    paths.map(|path| path.display().to_string()).into()
}

/// Whether this kernel can confine; where it cannot, it has to say so.
pub(crate) fn can_confine() -> bool {
    let missing = SandboxSupport::current().missing();
    if missing.is_empty() {
        return true;
    }
    if cfg!(feature = "real-parts") {
        panic!("the sandbox has to be tested here: {missing:?}");
    }
    let deps = deps(Path::new("/nowhere"), &[]);
    let env = BTreeMap::new();
    let program = SandboxedProgram { owner: "x", command: "true", args: &[], env: &env, cwd: None };
    let refused = Sandbox::open(&program, &on(SandboxAllow::default()), &deps).err().unwrap();
    assert!(refused.contains(&missing[0]), "{refused}");
    false
}

/// Whether this system lets programs have processes and files of their own; where it does not, such a program has to say so.
pub(crate) fn can_have_browsers() -> bool {
    if !can_confine() {
        return false;
    }
    let deps = deps(Path::new("/nowhere"), &[]);
    let Some(problem) = deps.browser_problem() else { return true };
    if cfg!(feature = "real-parts") {
        panic!("the sandbox has to be tested here: {problem}");
    }
    false
}

/// A Python that is a file of the system, if there is one.
pub(crate) fn python() -> &'static str {
    if Path::new("/usr/bin/python3").exists() { "/usr/bin/python3" } else { "python3" }
}

/// A program that ran in a sandbox.
pub(crate) struct Finished {
    pub(crate) output: Output,
    pub(crate) sandbox: Sandbox,
}

impl Finished {
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}

/// A confined shell that runs until this is dropped.
pub(crate) struct ConfinedShell {
    pub(crate) child: Child,
    _sandbox: Sandbox,
}

impl ConfinedShell {
    /// Starts one and waits until it runs its program.
    pub(crate) async fn start(cwd: &Path, allow: SandboxAllow, deps: &SandboxDeps) -> Self {
        let args = ["-c".to_owned(), "echo begun; read line".to_owned()];
        let env = BTreeMap::from([("SECRET".to_owned(), "secret".to_owned())]);
        let program = SandboxedProgram {
            owner: "other",
            command: "sh",
            args: &args,
            env: &env,
            cwd: Some(cwd),
        };
        let sandbox = Sandbox::open(&program, &on(allow), deps).unwrap().expect("it is confined");
        let (entry, first) = sandbox.entry().split_first().unwrap();
        let mut child = Command::new(entry)
            .args(first)
            .arg("sh")
            .args(&args)
            .envs(&env)
            .current_dir(cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut line).await.unwrap();
        assert_eq!(line, "begun\n");
        Self { child, _sandbox: sandbox }
    }
}

/// Runs a program in a sandbox until it ends.
pub(crate) async fn run(
    command: &str,
    args: &[String],
    cwd: &Path,
    config: &SandboxConfig,
    deps: &SandboxDeps,
) -> Finished {
    let env = BTreeMap::new();
    let program = SandboxedProgram { owner: "test", command, args, env: &env, cwd: Some(cwd) };
    let sandbox = Sandbox::open(&program, config, deps).unwrap().expect("it is confined");
    let (entry, first) = sandbox.entry().split_first().unwrap();
    let mut child = Command::new(entry);
    child.args(first).arg(command).args(args).current_dir(cwd).kill_on_drop(true);
    let output = child.output().await.unwrap();
    Finished { output, sandbox }
}
