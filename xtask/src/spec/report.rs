//! Shows the comparison to a person or to a program.

use std::fmt::Write;

use serde_json::{Value, json};

use super::SpecComparison;
use super::contract::{Id, Requirement, Section};
use super::mentions::SourceLocation;
use crate::shell::paint;

/// How much of a requirement's text is shown.
const GIST_WIDTH: usize = 90;

/// What is named and what is not, by section; the summary comes last.
pub(super) fn text(comparison: &SpecComparison, on_terminal: bool) -> String {
    let mut out = String::new();
    for section in &comparison.contract.sections {
        let _ = writeln!(out, "{}", paint("1", &section.heading, on_terminal));
        add_section(&mut out, comparison, section, on_terminal);
        out.push('\n');
    }
    out.push_str(&summary(comparison));
    out.push('\n');
    out
}

fn add_section(
    out: &mut String,
    comparison: &SpecComparison,
    section: &Section,
    on_terminal: bool,
) {
    let count = |requirement: &Requirement| comparison.named.get(&requirement.id).map(Vec::len);
    let named =
        section.requirements.iter().filter_map(|it| Some(format!("{} ×{}", it.id, count(it)?)));
    let named: Vec<String> = named.collect();
    if !named.is_empty() {
        let _ =
            writeln!(out, "  {} {}", paint("32", "named by tests:", on_terminal), named.join(", "));
    }
    let unnamed: Vec<&Requirement> =
        section.requirements.iter().filter(|it| count(it).is_none()).collect();
    if !unnamed.is_empty() {
        let _ = writeln!(out, "  {}", paint("33", "named by no test yet:", on_terminal));
    }
    for requirement in unnamed {
        let _ = writeln!(out, "    {:<6} {}", requirement.id, requirement.gist(GIST_WIDTH));
    }
}

/// How far the tests are, in one line.
pub(super) fn summary(comparison: &SpecComparison) -> String {
    let all = comparison.contract.ids().count();
    format!("{} of {all} requirements are named by tests", comparison.named.len())
}

/// An id and where it is named.
pub(super) fn line(id: &Id, places: &[SourceLocation]) -> String {
    format!("  {id} in {}", places.iter().map(place).collect::<Vec<_>>().join(", "))
}

/// The same for programs: `{requirements: [{id, section, text, places}], unknown: [{id, places}]}`.
pub(super) fn json(comparison: &SpecComparison) -> Value {
    let requirements = comparison.contract.sections.iter().flat_map(|section| {
        section.requirements.iter().map(|requirement| {
            let places = comparison.named.get(&requirement.id).map_or(&[][..], Vec::as_slice);
            json!({
                "id": requirement.id.to_string(),
                "section": section.heading,
                "text": requirement.text,
                "places": places.iter().map(place).collect::<Vec<_>>(),
            })
        })
    });
    let unknown = comparison.unknown.iter().map(|(id, places)| {
        json!({ "id": id.to_string(), "places": places.iter().map(place).collect::<Vec<_>>() })
    });
    json!({ "requirements": requirements.collect::<Vec<_>>(), "unknown": unknown.collect::<Vec<_>>() })
}

fn place(place: &SourceLocation) -> String {
    format!("{}:{}", place.file, place.line)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::spec::contract::Contract;

    fn comparison() -> SpecComparison {
        let contract =
            Contract::parse("## 2. Calls (EX)\n- EX-1 It runs. Always.\n- EX-2 In order.\n");
        let places = |line| vec![SourceLocation { file: "tests/a.rs".into(), line }];
        let id = |text| Id::at_start(text).unwrap().0;
        let named = BTreeMap::from([(id("EX-1"), places(3))]);
        let unknown = BTreeMap::from([(id("EX-7"), places(9))]);
        SpecComparison { contract, named, unknown }
    }

    #[test]
    fn a_person_reads_sections_then_the_summary() {
        let expected = "\
2. Calls (EX)
  named by tests: EX-1 ×1
  named by no test yet:
    EX-2   In order

1 of 2 requirements are named by tests
";
        assert_eq!(text(&comparison(), false), expected);
    }

    #[test]
    fn a_program_reads_every_requirement_and_where_it_is_named() {
        let expected = json!({
            "requirements": [
                { "id": "EX-1", "section": "2. Calls (EX)", "text": "It runs. Always.", "places": ["tests/a.rs:3"] },
                { "id": "EX-2", "section": "2. Calls (EX)", "text": "In order.", "places": [] },
            ],
            "unknown": [{ "id": "EX-7", "places": ["tests/a.rs:9"] }],
        });
        assert_eq!(json(&comparison()), expected);
    }

    #[test]
    fn an_id_that_does_not_exist_is_an_error_that_names_the_place() {
        let error = comparison().judge().unwrap_err().to_string();
        assert!(error.ends_with("\n  EX-7 in tests/a.rs:9"), "{error}");
    }
}
