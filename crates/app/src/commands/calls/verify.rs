//! `switchboard calls verify`: whether the records are as they were written.

use std::process::ExitCode;

use switchboard_audit::SignatureStatus;

use super::{failed, store_folder};
use crate::{
    cli::Cli,
    settings::LoadedConfig,
    terminal::{self, Paint},
};

pub(super) fn run(json: bool, loaded: &LoadedConfig, cli: &Cli) -> anyhow::Result<ExitCode> {
    let report = switchboard_audit::verify(store_folder(loaded)?).map_err(failed)?;
    if json {
        terminal::print(&serde_json::to_string(&report)?)?;
    } else {
        let paint = Paint::stdout(cli.color);
        let mut lines: Vec<String> = Vec::new();
        for damage in &report.damage {
            let place = damage.line.map(|line| format!(", line {line}")).unwrap_or_default();
            lines.push(paint.red(&format!("damaged: {}{place}: {}", damage.file, damage.what)));
        }
        for segment in &report.torn {
            lines.push(paint.yellow(&format!(
                "segment {segment}: its process died while it wrote; the next one that writes repairs it"
            )));
        }
        let word = if report.is_clean() {
            paint.green("all is as it was written")
        } else {
            paint.bold_red("not as it was written")
        };
        lines.push(format!(
            "{word}: {} calls in {} lines of {} segments, {} runs, {} segments dropped before",
            report.calls, report.lines, report.segments, report.runs, report.dropped
        ));
        if report.removed > 0 {
            lines.push(format!("{} lines lost their content to retention", report.removed));
        }
        match report.signatures {
            SignatureStatus::No => {}
            SignatureStatus::Unchecked => {
                lines.push(paint.yellow(
                    "the lines are signed, which was not checked: `[audit] key` is missing",
                ))
            }
            SignatureStatus::Checked => {
                lines.push("signatures were checked with the key".to_owned())
            }
        }
        lines.push(format!("head {}", report.head));
        terminal::print(&lines.join("\n"))?;
    }
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
