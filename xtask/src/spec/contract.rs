//! Reads the requirements from docs/spec.md: bullets that begin with an id, under `##` headings.

use std::fmt;

/// A requirement's id: `EX-3`. Ids order as people count: `ML-9` before `ML-10`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) area: String,
    number: u32,
}

impl Id {
    /// Reads the id that `text` begins with, and returns what follows it.
    pub(super) fn at_start(text: &str) -> Option<(Self, &str)> {
        let (area, rest) = text.split_at_checked(2)?;
        let rest = rest.strip_prefix('-')?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, rest) = rest.split_at(end);
        // `AB-3x` and `AB-3-4` are other people's words.
        let ends_here = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
        if !ends_here || !area.chars().all(|c| c.is_ascii_uppercase()) {
            return None;
        }
        Some((Self { area: area.to_owned(), number: digits.parse().ok()? }, rest))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{}-{}", self.area, self.number))
    }
}

/// All requirements, in the order of the document.
pub(super) struct Contract {
    pub(super) sections: Vec<Section>,
}

pub(super) struct Section {
    pub(super) heading: String,
    pub(super) requirements: Vec<Requirement>,
}

pub(super) struct Requirement {
    pub(super) id: Id,
    /// The whole item on one line, without its id.
    pub(super) text: String,
}

impl Contract {
    pub(super) fn parse(document: &str) -> Self {
        let mut sections: Vec<Section> = Vec::new();
        // Whether the line before belongs to a requirement, which then may go on.
        let mut in_requirement = false;
        for line in document.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                sections.push(Section { heading: heading.to_owned(), requirements: Vec::new() });
                in_requirement = false;
                continue;
            }
            let Some(section) = sections.last_mut() else {
                continue;
            };
            if let Some((id, text)) = line.strip_prefix("- ").and_then(Id::at_start) {
                section.requirements.push(Requirement { id, text: text.trim().to_owned() });
                in_requirement = true;
            } else if in_requirement && line.starts_with("  ") {
                if let Some(requirement) = section.requirements.last_mut() {
                    requirement.text.push(' ');
                    requirement.text.push_str(line.trim());
                }
            } else {
                in_requirement = false;
            }
        }
        sections.retain(|section| !section.requirements.is_empty());
        Self { sections }
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &Id> {
        self.sections
            .iter()
            .flat_map(|section| &section.requirements)
            .map(|requirement| &requirement.id)
    }

    pub(super) fn has(&self, id: &Id) -> bool {
        self.ids().any(|known| known == id)
    }

    /// Whether ids of this area, such as `EX`, exist.
    pub(super) fn has_area(&self, area: &str) -> bool {
        self.ids().any(|known| known.area == area)
    }
}

impl Requirement {
    /// Its first sentence, cut at a word to at most `width` characters.
    pub(super) fn gist(&self, width: usize) -> String {
        let sentence = self.text.find(". ").map_or(self.text.as_str(), |end| &self.text[..end]);
        let sentence = sentence.trim_end_matches(['.', ':', ';']);
        if sentence.chars().count() <= width {
            return sentence.to_owned();
        }
        let cut: String = sentence.chars().take(width.saturating_sub(1)).collect();
        let whole_words = cut.rfind(' ').map_or(cut.as_str(), |end| &cut[..end]);
        format!("{}…", whole_words.trim_end_matches([',', ';', ':']))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "\
# Title
- EX-9 before any section
## 1. Words
- **Tool**: no id
## 2. The call path (EX)
- EX-1 Given a name, it runs.
  Nothing escapes.
- EX-2 Order: a → b.

  Not part of EX-2.
## 3. Records (RC, GW)
- RC-1 Kept.
- GW-10 Served.
";

    #[test]
    fn requirements_are_bullets_with_an_id_under_their_heading() {
        let contract = Contract::parse(DOCUMENT);
        let headings: Vec<&str> =
            contract.sections.iter().map(|section| section.heading.as_str()).collect();
        assert_eq!(headings, ["2. The call path (EX)", "3. Records (RC, GW)"]);
        let ids: Vec<String> = contract.ids().map(Id::to_string).collect();
        assert_eq!(ids, ["EX-1", "EX-2", "RC-1", "GW-10"]);
        assert_eq!(
            contract.sections[0].requirements[0].text,
            "Given a name, it runs. Nothing escapes."
        );
        assert_eq!(contract.sections[0].requirements[1].text, "Order: a → b.");
    }

    #[test]
    fn the_project_s_own_contract_is_read() {
        let contract = Contract::parse(include_str!("../../../docs/spec.md"));
        for id in [
            "EX-1", "TL-6", "VA-4", "AN-5", "RS-6", "LT-3", "ML-10", "MC-8", "HM-2", "RC-2", "GW-4",
        ] {
            let (id, _) = Id::at_start(id).unwrap();
            assert!(contract.has(&id), "{id}");
        }
    }

    #[test]
    fn ids_order_as_people_count() {
        let id = |text| Id::at_start(text).unwrap().0;
        assert!(id("ML-9") < id("ML-10"));
        assert!(id("EX-9") < id("ML-1"));
    }

    #[test]
    fn a_gist_is_the_first_sentence_cut_at_a_word() {
        let requirement =
            |text: &str| Requirement { id: Id::at_start("EX-1").unwrap().0, text: text.to_owned() };
        assert_eq!(requirement("Short. More.").gist(20), "Short");
        assert_eq!(requirement("One, two and three.").gist(12), "One, two…");
        assert_eq!(requirement("ääää öööö.").gist(6), "ääää…");
    }
}
