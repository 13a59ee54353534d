//! A bare name that no local tool has: any server may have it, so all are started and waited for (SPEC TL-6). A misspelt
//! name would seem to hang without a word.

use clap::ColorChoice;
use switchboard_runtime::{ToolManager, lookup::close_names};

use crate::{
    completion,
    settings::LoadedConfig,
    terminal::{self, Paint, text},
};

/// Tells the person what is waited for, and which known names are similar.
pub(super) fn print_suggestion(
    name: &str,
    tools: &ToolManager,
    loaded: &LoadedConfig,
    color: ColorChoice,
) {
    let local = tools.listed().into_iter().map(|tool| tool.name().to_string());
    let recorded = completion::recorded_tools(loaded).into_iter();
    let known: Vec<_> = local.chain(recorded).collect();
    let line = line(name, tools.separator(), &known, loaded.enabled_servers().count());
    terminal::tell(&Paint::stderr(color).dim(&text::one_line(&line)));
}

fn line(name: &str, separator: &str, known: &[String], servers: usize) -> String {
    let bare = |known: &str| known.split_once(separator).map_or(known, |(_, own)| own).to_owned();
    let own: Vec<_> = known.iter().map(|known| bare(known)).collect();
    let near = close_names(name, own.iter().map(String::as_str)).first().copied();
    let near = near.and_then(|near| own.iter().position(|own| own == near));
    let near = near.and_then(|at| known.get(at)).filter(|near| bare(near) != name);
    let hint = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
    let servers = match servers {
        1 => "the server".to_owned(),
        many => format!("{many} servers"),
    };
    format!("`{name}` is not a local tool{hint}; looking for it on {servers}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_those_of_local_tools_and_of_recorded_ones() {
        let known = ["math_eval", "time__get_current_time"].map(str::to_owned);
        let cases = [
            (
                "math_evl",
                "is not a local tool (did you mean `math_eval`?); looking for it on 2 servers",
            ),
            (
                "get_curent_time",
                "is not a local tool (did you mean `time__get_current_time`?); looking for it on 2 servers",
            ),
            // A name that a server had is no mistake.
            ("get_current_time", "is not a local tool; looking for it on 2 servers"),
            ("x", "is not a local tool; looking for it on 2 servers"),
        ];
        for (name, expected) in cases {
            assert_eq!(line(name, "__", &known, 2), format!("`{name}` {expected}"));
        }
        assert!(line("x", "__", &[], 1).ends_with("on the server"));
    }
}
