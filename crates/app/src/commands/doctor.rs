//! `switchboard doctor`: what works, what does not, and what to do about it.

mod checks;
mod cluster;
mod models;
mod places;
mod servers;
mod voice;
mod zwave;

use std::{borrow::Cow, process::ExitCode};

use serde::Serialize;
use serde_json::json;

use self::{models::ModelReport, servers::ServerReport};
use crate::{
    cli::{Cli, Doctor},
    connections::{
        Connections, Interrupted, Needs, is_watched, on_runtime, unless_interrupted, with_servers,
    },
    house::House,
    rehearsal,
    settings::Loaded,
    terminal::{self, Paint, text},
};

/// What came of one check.
#[derive(Debug, PartialEq, Serialize)]
struct Check {
    name: Cow<'static, str>,
    status: Status,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    /// It works.
    Ok,
    /// Good to know.
    Info,
    /// It does not work.
    Broken,
}

impl Check {
    fn new(name: impl Into<Cow<'static, str>>, status: Status, message: impl Into<String>) -> Self {
        Self { name: name.into(), status, message: message.into() }
    }
}

/// Everything that was found.
#[derive(Default)]
struct Findings {
    checks: Vec<Check>,
    servers: Vec<ServerReport>,
    models: Vec<ModelReport>,
}

pub(super) fn run(doctor: &Doctor, cli: &Cli) -> anyhow::Result<ExitCode> {
    let Findings { checks, servers, models } = examine(doctor, cli)?;
    let is_well = checks.iter().all(|check| check.status != Status::Broken);
    if doctor.json {
        let found = json!({"ok": is_well, "checks": checks, "servers": servers, "models": models});
        terminal::print(&found.to_string())?;
    } else {
        terminal::print(&report(&checks, Paint::stdout(cli.color)))?;
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes every check that the config allows.
fn examine(doctor: &Doctor, cli: &Cli) -> anyhow::Result<Findings> {
    let broken = |problem: String| Check::new("config", Status::Broken, problem);
    let mut found = Findings::default();
    let loaded = match rehearsal::load(cli) {
        Ok(loaded) => loaded,
        Err(error) => {
            found.checks.push(broken(format!("{error:#}")));
            return Ok(found);
        }
    };
    found.checks.push(checks::config_file(&loaded));
    let (house, problems) = House::try_build(&loaded);
    let is_sound = problems.is_empty();
    found.checks.extend(problems.into_iter().map(broken));
    found.checks.extend(checks::of_skipped(&loaded));
    if let Some(mut house) = house {
        // What becomes of servers stands in their rows.
        house.is_quiet = true;
        // With settings that make no sense, nothing is started.
        let has_others = loaded.has_others()
            || !loaded.settings.models.is_empty()
            || voice::is_set(&loaded)
            || cluster::is_set(&loaded);
        if is_sound && has_others {
            let probed = with_servers(&house, &loaded, Needs::All, async |connections| {
                unless_interrupted(probe(doctor, &house, &loaded, connections)).await
            });
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
            found.checks.extend(checks::of_tools(&loaded, &house));
        }
    }
    found.checks.extend(servers::switched_off(&loaded));
    let surroundings = async { Ok(checks::of_surroundings(&loaded).await) };
    found.checks.extend(on_runtime(unless_interrupted(surroundings))?);
    found.checks.extend(places::all(&loaded));
    Ok(found)
}

/// Checks the tools and the models while the servers are connected, for their tools count too.
async fn probe(
    doctor: &Doctor,
    house: &House,
    loaded: &Loaded,
    connections: &Connections,
) -> anyhow::Result<Findings> {
    let servers = servers::probe(house, connections, is_watched(doctor.json)).await;
    let mut checks = checks::of_tools(loaded, house);
    checks.extend(servers.iter().map(ServerReport::check));
    let models = models::probe(house, loaded).await;
    checks.extend(models.iter().map(ModelReport::check));
    checks.extend(voice::probe(loaded).await);
    checks.extend(cluster::probe(loaded, connections).await);
    Ok(Findings { checks, servers, models })
}

fn report(checks: &[Check], paint: Paint) -> String {
    let widest = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    let lines = checks.iter().map(|Check { name, status, message }| {
        let mark = match status {
            Status::Ok => paint.green("✓"),
            Status::Info => paint.blue("•"),
            Status::Broken => paint.red("✗"),
        };
        let message = message.replace('\n', &format!("\n{}", " ".repeat(widest + 4)));
        format!("{mark} {}  {message}", paint.bold(&text::pad(name, widest)))
    });
    let broken = checks.iter().filter(|check| check.status == Status::Broken).count();
    let verdict = match broken {
        0 => paint.green("all is well"),
        1 => paint.red("1 thing is broken"),
        many => paint.red(&format!("{many} things are broken")),
    };
    format!("{}\n\n{verdict}", lines.collect::<Vec<_>>().join("\n"))
}
