//! `switchboard doctor`: what works, what does not, and what to do about it.

mod checks;
mod cluster;
mod models;
mod profiles;
mod disk;
mod lock;
mod sandbox;
mod servers;
mod voice;
mod zwave;

use std::{borrow::Cow, process::ExitCode};

use serde::Serialize;
use serde_json::json;

use self::{lock::FindingLines, models::ModelReport, servers::ServerReport};
use crate::{
    assembly::App,
    cli::{Cli, DoctorArgs},
    connections::{Connections, Needs, with_servers},
    interrupt::{Interrupted, unless_interrupted},
    overrides,
    own_gateway::OwnGateway,
    runtime::on_runtime,
    settings::LoadedConfig,
    terminal::is_watched,
    terminal::{self, Paint, text},
};

/// The result of one check.
#[derive(Debug, PartialEq, Serialize)]
struct DoctorCheck {
    name: Cow<'static, str>,
    status: CheckStatus,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckStatus {
    /// It works.
    Ok,
    /// Neither good nor bad, but worth knowing.
    Info,
    /// It works, but something else may not because of it.
    Warning,
    /// It does not work.
    Broken,
}

impl DoctorCheck {
    fn new(
        name: impl Into<Cow<'static, str>>,
        status: CheckStatus,
        message: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), status, message: message.into() }
    }
}

/// The results of all checks.
#[derive(Default)]
struct Findings {
    checks: Vec<DoctorCheck>,
    servers: Vec<ServerReport>,
    models: Vec<ModelReport>,
}

pub(super) fn run(doctor: &DoctorArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let Findings { checks, servers, models } = examine(doctor, cli)?;
    let is_well = checks.iter().all(|check| check.status != CheckStatus::Broken);
    if doctor.json {
        let found = json!({"ok": is_well, "checks": checks, "servers": servers, "models": models});
        terminal::print(&found.to_string())?;
    } else {
        terminal::print(&report(&checks, Paint::stdout(cli.color)))?;
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs every check that is possible with this config.
fn examine(doctor: &DoctorArgs, cli: &Cli) -> anyhow::Result<Findings> {
    let broken = |problem: String| DoctorCheck::new("config", CheckStatus::Broken, problem);
    let mut found = Findings::default();
    let loaded = match overrides::load(cli) {
        Ok(loaded) => loaded,
        Err(error) => {
            found.checks.push(broken(format!("{error:#}")));
            return Ok(found);
        }
    };
    found.checks.push(checks::config_file(&loaded));
    let (app, problems) = App::try_build(&loaded);
    let is_sound = problems.is_empty();
    found.checks.extend(problems.into_iter().map(broken));
    found.checks.extend(checks::of_skipped(&loaded));
    let (locked, findings) = lock::check(&loaded);
    found.checks.extend(locked);
    if let Some(mut app) = app {
        // Failures of servers are in their own rows.
        app.is_quiet = true;
        // With invalid settings, nothing is started.
        if is_sound {
            // The cluster is checked by this process itself, so with one the gateway is not used.
            let gateway =
                OwnGateway::find(cli, &loaded).filter(|_| loaded.settings.cluster.nats.is_none());
            let probed = match gateway {
                Some(gateway) => {
                    let probed = probe_in_gateway(&app, &loaded, &gateway, &findings);
                    on_runtime(unless_interrupted(probed))
                }
                None => with_servers(&app, &loaded, Needs::All, async |connections| {
                    let probed = probe(doctor, &app, &loaded, connections, &findings);
                    unless_interrupted(probed).await
                }),
            };
            match probed {
                Err(error) if error.is::<Interrupted>() => return Err(error),
                Err(error) => found.checks.push(broken(format!("{error:#}"))),
                Ok(probed) => {
                    found.checks.extend(probed.checks);
                    found.servers = probed.servers;
                    found.models = probed.models;
                }
            }
        } else {
            found.checks.extend(checks::of_tools(&loaded, &app));
        }
    }
    found.checks.extend(servers::switched_off(&loaded));
    let environment = async { Ok(checks::of_environment(&loaded).await) };
    found.checks.extend(on_runtime(unless_interrupted(environment))?);
    found.checks.extend(sandbox::all(&loaded));
    found.checks.extend(disk::all(&loaded));
    Ok(found)
}

/// Checks the tools and the models while the servers are connected, for their tools count too.
async fn probe(
    doctor: &DoctorArgs,
    app: &App,
    loaded: &LoadedConfig,
    connections: &Connections,
    findings: &FindingLines,
) -> anyhow::Result<Findings> {
    let mut servers = servers::probe(app, connections, is_watched(doctor.json)).await;
    servers.extend(servers::apis(app, loaded, connections).await);
    let mut checks = checks::of_tools(loaded, app);
    checks.extend(servers.iter().map(|server| server.check(findings)));
    let models = models::probe(app, loaded).await;
    checks.extend(models.iter().map(ModelReport::check));
    if models.is_empty() && loaded.skipped.models.is_empty() {
        checks.push(models::none());
    }
    checks.extend(voice::probe(loaded).await);
    checks.extend(cluster::probe(loaded, connections).await);
    Ok(Findings { checks, servers, models })
}

/// As [`probe`], with the servers of the running gateway.
async fn probe_in_gateway(
    app: &App,
    loaded: &LoadedConfig,
    gateway: &OwnGateway,
    findings: &FindingLines,
) -> anyhow::Result<Findings> {
    let servers = servers::probe_in_gateway(app, loaded, gateway).await?;
    let said = "the servers are those of the running gateway; with --alone others are started";
    let mut checks = vec![DoctorCheck::new("gateway", CheckStatus::Info, said)];
    checks.extend(checks::of_tools(loaded, app));
    checks.extend(servers.iter().map(|server| server.check(findings)));
    let models = models::probe(app, loaded).await;
    checks.extend(models.iter().map(ModelReport::check));
    if models.is_empty() && loaded.skipped.models.is_empty() {
        checks.push(models::none());
    }
    checks.extend(voice::probe(loaded).await);
    Ok(Findings { checks, servers, models })
}

fn report(checks: &[DoctorCheck], paint: Paint) -> String {
    let widest = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    let lines = checks.iter().map(|DoctorCheck { name, status, message }| {
        let mark = match status {
            CheckStatus::Ok => paint.green("✓"),
            CheckStatus::Info => paint.blue("•"),
            CheckStatus::Warning => paint.yellow("⚠"),
            CheckStatus::Broken => paint.red("✗"),
        };
        let message = message.replace('\n', &format!("\n{}", " ".repeat(widest + 4)));
        format!("{mark} {}  {message}", paint.bold(&text::pad(name, widest)))
    });
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let verdict = match (count(CheckStatus::Broken), count(CheckStatus::Warning)) {
        (0, 0) => paint.green("all is well"),
        (0, 1) => paint.yellow("all works, with 1 warning"),
        (0, many) => paint.yellow(&format!("all works, with {many} warnings")),
        (1, _) => paint.red("1 thing is broken"),
        (many, _) => paint.red(&format!("{many} things are broken")),
    };
    format!("{}\n\n{verdict}", lines.collect::<Vec<_>>().join("\n"))
}
