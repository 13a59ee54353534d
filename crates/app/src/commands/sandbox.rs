//! `switchboard sandbox learn`: runs a server watched, and prints what it needs in a sandbox (SPEC SB-2).

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    process::ExitCode,
    sync::Arc,
    thread,
};

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchboard_mcp_client::{Start, TransportKind};
use switchboard_sandbox::{LearnedProfile, ProfileOwner, Sandbox, SandboxMode};
use switchboard_toolcall::{CallContext, ToolCall};
use tokio::{signal, sync::mpsc};

use crate::{
    assembly::App,
    cli::{Cli, LearnSandboxArgs, SandboxAction, SandboxArgs},
    connections::{Connections, Needs, with_servers},
    overrides,
    settings::LoadedConfig,
    terminal::{self, CommandFailed, text},
};

/// A line of the calls.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallLine {
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

pub(super) fn run(sandbox: &SandboxArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    match &sandbox.action {
        SandboxAction::Learn(args) => learn(args, cli),
    }
}

fn learn(args: &LearnSandboxArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = watched(&args.server, overrides::load(cli)?)?;
    let calls = args
        .calls
        .as_ref()
        .map(|file| File::open(file).with_context(|| format!("cannot read `{}`", file.display())));
    let calls = calls.transpose()?;
    let app = App::build(&loaded)?;
    let needs = Needs::One(&args.server);
    // What it does is written down whole when it has ended, so that is read afterwards.
    let (sandbox, failed) = with_servers(&app, &loaded, needs, async |connections| {
        let sandbox = started(&args.server, connections).await?;
        let failed = match calls {
            Some(file) => make_calls(&args.server, &app, BufReader::new(file)).await?,
            None => make_calls_until_interrupted(&args.server, &app).await?,
        };
        Ok((sandbox, failed))
    })?;
    print(args, &sandbox.learned().unwrap_or_default())?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The config with the server to be watched, started at once.
fn watched(server: &str, mut loaded: LoadedConfig) -> anyhow::Result<LoadedConfig> {
    let name = text::one_line(server);
    if !loaded.settings.servers.contains_key(server)
        && loaded.settings.tools.iter().any(|tool| tool.name == server)
    {
        bail!(
            "`{name}` is a tool: with `sandbox = \"learn\"` in its definition, a call of it is watched, and `switchboard \
             doctor` names the file with what it needed"
        );
    }
    let Some(config) = loaded.settings.servers.get_mut(server) else {
        bail!("there is no server `{name}` in the config; `switchboard servers` lists them");
    };
    if !config.is_enabled() {
        bail!("server `{name}` is disabled; `switchboard enable {name}` enables it");
    }
    if config.kind() != Ok(TransportKind::Stdio) {
        bail!("server `{name}` is not a program: only a program has a sandbox");
    }
    config.sandbox = SandboxMode::Learn;
    config.start = Start::Eager;
    Ok(loaded)
}

/// Waits until the server is connected; returns what watches it.
async fn started(server: &str, connections: &Connections) -> anyhow::Result<Arc<Sandbox>> {
    let all = connections.all();
    let found = all.iter().find(|candidate| **candidate.name() == *server);
    let server = found.context("the server is not started")?;
    server.wait_until_ready().await;
    if let Err(error) = server.session().await {
        return Err(CommandFailed(error.for_model).into());
    }
    server.open_sandbox().context("the server is not watched")
}

/// Makes the calls of a file; returns how many failed.
async fn make_calls(server: &str, app: &App, calls: impl BufRead) -> anyhow::Result<usize> {
    let mut failed = 0;
    for (index, line) in calls.lines().enumerate() {
        let line = line.context("cannot read the calls")?;
        failed += call(server, app, &line).await.with_context(|| format!("line {}", index + 1))?;
    }
    Ok(failed)
}

/// Makes the calls that somebody types or pipes in, until Ctrl-C; a line that is not a call is reported and skipped.
async fn make_calls_until_interrupted(server: &str, app: &App) -> anyhow::Result<usize> {
    terminal::tell(
        "the server is watched; calls are read as lines of {tool, arguments}, until Ctrl-C",
    );
    let (sender, mut lines) = mpsc::channel(16);
    // Reading a terminal cannot be cancelled, so a thread of its own does it.
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    let mut interrupted = std::pin::pin!(signal::ctrl_c());
    let mut failed = 0;
    loop {
        tokio::select! {
            _ = &mut interrupted => return Ok(failed),
            line = lines.recv() => match line {
                Some(line) => match call(server, app, &line).await {
                    Ok(count) => failed += count,
                    Err(error) => terminal::tell(&format!("{error:#}")),
                },
                // Nothing more will come, but the server runs on.
                None => {
                    let _ = interrupted.as_mut().await;
                    return Ok(failed);
                }
            },
        }
    }
}

/// Makes the call of a line; returns 1 if it failed. Empty lines are skipped.
async fn call(server: &str, app: &App, line: &str) -> anyhow::Result<usize> {
    if line.trim().is_empty() {
        return Ok(0);
    }
    let line: CallLine = serde_json::from_str(line)
        .context("expected a call, such as {\"tool\": \"read_file\", \"arguments\": {}}")?;
    let prefix = format!("{server}{}", app.executor.tools().separator());
    let name = match line.tool.starts_with(&prefix) {
        true => line.tool,
        false => format!("{prefix}{}", line.tool),
    };
    let cx = CallContext::for_owner("command line").with_client("cli");
    let result = app.executor.execute(ToolCall::new(name.clone(), line.arguments), &cx).await;
    match &result.outcome {
        Ok(_) => {
            terminal::tell(&format!("✓ {name}"));
            Ok(0)
        }
        Err(error) => {
            terminal::tell(&format!("✗ {name}: {}", text::one_line(&error.for_model)));
            Ok(1)
        }
    }
}

fn print(args: &LearnSandboxArgs, profile: &LearnedProfile) -> anyhow::Result<()> {
    let server = &args.server;
    if args.json {
        let LearnedProfile { allow, processes, guessed, dangerous, never } = profile;
        let mut shown = json!({
            "server": server, "sandbox_allow": allow, "guessed": guessed, "dangerous": dangerous, "never": never,
        });
        if let Some(processes) = processes {
            shown["sandbox_limits"] = json!({"processes": processes});
        }
        return Ok(terminal::print(&shown.to_string())?);
    }
    Ok(terminal::print(profile.to_toml(ProfileOwner::Server(server)).trim_end())?)
}
