//! `switchboard doctor`: what works, what does not, and what to do about it.

mod checks;

use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;

use crate::{
    cli::{Cli, Doctor},
    terminal::{self, Paint, text},
};

/// What came of one check.
#[derive(Debug, PartialEq, Serialize)]
struct Check {
    name: &'static str,
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

pub(super) fn run(doctor: &Doctor, cli: &Cli) -> anyhow::Result<ExitCode> {
    let checks = checks::all(cli.config.as_deref());
    let is_well = checks.iter().all(|check| check.status != Status::Broken);
    if doctor.json {
        terminal::print(&json!({"ok": is_well, "checks": checks}).to_string())?;
    } else {
        terminal::print(&report(&checks, Paint::stdout(cli.color)))?;
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn report(checks: &[Check], paint: Paint) -> String {
    let widest = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
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
