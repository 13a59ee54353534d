//! Writes the tables of one leg: how many scenarios pass, why others do not, and what became of those that do not count; and the
//! one of the authorization server.

use std::fmt::Write;

use anyhow::Result;

use super::results::{Pairing, Scenario};

/// All tables of a leg, as Markdown.
pub(super) fn write(pairings: &[Pairing]) -> Result<String> {
    let tables = [counts(pairings), failures(pairings)?, unscored(pairings)];
    Ok(tables.into_iter().flatten().collect::<Vec<_>>().join("\n"))
}

/// One row per revision, one column per server behind the gateway.
fn counts(pairings: &[Pairing]) -> Option<String> {
    let first = pairings.first()?;
    let of_first = pairings.iter().filter(|pairing| pairing.revision == first.revision);
    let columns: Vec<String> = of_first
        .map(|pairing| match pairing.behind {
            Some(behind) => format!("server behind: {behind}"),
            None => "the client".to_owned(),
        })
        .collect();
    let mut table = head("scored scenarios", &columns);
    for row in pairings.chunk_by(|one, other| one.revision == other.revision) {
        let cells = row.iter().map(|pairing| count(&pairing.scored)).collect::<Vec<_>>();
        let _ = writeln!(
            table,
            "| {}: {} | {} |",
            row[0].revision,
            row[0].scored.len(),
            cells.join(" | ")
        );
    }
    Some(table)
}

fn count(scenarios: &[Scenario]) -> String {
    let passing = scenarios.iter().filter(|scenario| scenario.passes).count();
    let verdict = match scenarios.len() - passing {
        0 => "all pass".to_owned(),
        others => format!("{passing} pass, {others} do not"),
    };
    let (passed, all) = scenarios.iter().fold((0, 0), |(passed, all), scenario| {
        (passed + scenario.passed, all + scenario.passed + scenario.failed)
    });
    format!("{verdict} ({passed} of {all} checks)")
}

/// One row per scored scenario that does not pass everywhere.
fn failures(pairings: &[Pairing]) -> Result<Option<String>> {
    let names = distinct(pairings.iter().flat_map(Pairing::failing));
    let mut table = head("scored, and does not pass", &["where".to_owned(), "why".to_owned()]);
    for name in &names {
        let (mut places, mut reasons) = (Vec::new(), Vec::new());
        for pairing in pairings {
            if let Some(scenario) = pairing.failing().find(|scenario| scenario.name == *name) {
                places.push(format!("{}: {}", place(pairing), checks(scenario)));
                let reason = pairing.reasons.of(name)?;
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        }
        let (places, reasons) = (places.join("<br>"), reasons.join("; "));
        let _ = writeln!(table, "| `{name}` | {places} | {} |", escaped(&reasons));
    }
    Ok((!names.is_empty()).then_some(table))
}

fn place(pairing: &Pairing) -> String {
    match pairing.behind {
        Some(behind) => format!("{} before {behind}", pairing.revision),
        None => pairing.revision.to_owned(),
    }
}

fn checks(scenario: &Scenario) -> String {
    match scenario.failed {
        0 => "a warning".to_owned(),
        _ => share(scenario),
    }
}

/// One row per scenario that the suite runs without counting it, one column per run.
fn unscored(pairings: &[Pairing]) -> Option<String> {
    let all = || pairings.iter().flat_map(|pairing| &pairing.unscored);
    let names = distinct(all().map(|(scenario, _)| scenario));
    let mut columns: Vec<String> = pairings.iter().map(place).collect();
    columns.insert(0, "why not".to_owned());
    let mut table = head("not scored", &columns);
    for name in &names {
        let kind = all().find(|(scenario, _)| scenario.name == *name).map(|(_, kind)| kind);
        let _ = write!(table, "| `{name}` | {} |", kind.map_or("", String::as_str));
        for pairing in pairings {
            let here = pairing.unscored.iter().find(|(scenario, _)| scenario.name == *name);
            let _ = write!(table, " {} |", here.map_or("", |(scenario, _)| verdict(scenario)));
        }
        table.push('\n');
    }
    (!names.is_empty()).then_some(table)
}

/// One row per scenario, one column per revision in which the suite runs it.
pub(super) fn by_scenario(runs: &[(&str, Vec<Scenario>)]) -> String {
    let columns: Vec<_> = runs.iter().map(|(revision, _)| (*revision).to_owned()).collect();
    let mut table = head("scenario", &columns);
    for name in distinct(runs.iter().flat_map(|(_, scenarios)| scenarios)) {
        let cells = runs.iter().map(|(_, scenarios)| {
            let here = scenarios.iter().find(|scenario| scenario.name == name);
            here.map_or(String::new(), |here| format!("{} ({})", verdict(here), share(here)))
        });
        let _ = writeln!(table, "| `{name}` | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    table
}

fn share(scenario: &Scenario) -> String {
    format!("{} of {} checks", scenario.passed, scenario.passed + scenario.failed)
}

fn verdict(scenario: &Scenario) -> &'static str {
    match scenario {
        Scenario { passed: 0, failed: 0, .. } => "checks nothing",
        Scenario { passes: true, .. } => "passes",
        Scenario { passes: false, .. } => "fails",
    }
}

fn head(first: &str, columns: &[String]) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let names = std::iter::once(first).chain(columns.iter().map(String::as_str));
    let rules = vec!["---"; columns.len() + 1];
    line(names.collect()) + &line(rules)
}

/// The names, each once, in the order of their first appearance.
fn distinct<'a>(scenarios: impl Iterator<Item = &'a Scenario>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for scenario in scenarios {
        if !names.contains(&scenario.name.as_str()) {
            names.push(&scenario.name);
        }
    }
    names
}

/// A `|` would end the cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
