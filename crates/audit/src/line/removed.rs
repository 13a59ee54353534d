//! The line that takes the place of one whose content retention removed.

use super::{JournalLine, first_id};
use crate::chain::{self, REMOVED};

/// Returns the line that takes the place of a call's line: with its id, its tick, its hash, and the tool if the line names it.
///
/// It is as long as the line was, so that all lines stay where they are: the index, exports and other readers know lines by their
/// offset. `None` if the line is not of a call, or was removed before.
pub(crate) fn without_content(line: &[u8]) -> Option<Vec<u8>> {
    let tool = match JournalLine::parse(line)? {
        JournalLine::Open(open) => Some(open.tool),
        JournalLine::End(_) => None,
        JournalLine::Unknown(_) | JournalLine::Other => return None,
    };
    let end = chain::end_with_tick(line)?;
    let mut removed = REMOVED.to_vec();
    removed.extend_from_slice(first_id(line)?.to_string().as_bytes());
    removed.push(b'"');
    if let Some(tool) = tool {
        removed.extend_from_slice(b",\"tool\":");
        serde_json::to_writer(&mut removed, &tool).ok()?;
    }
    // A line of a call has more than that: when it began, or how it ended.
    let room = line.len().checked_sub(end.len())?;
    if removed.len() > room {
        return None;
    }
    removed.resize(room, b' ');
    removed.extend_from_slice(end);
    Some(removed)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        chain::{Hash, SealedLine, seal},
        line::{LineKind, last_tick},
    };

    fn line(text: &str) -> Vec<u8> {
        let mut line = text.as_bytes().to_vec();
        seal(&mut line, 0, &Hash::NONE, None);
        line.pop();
        line
    }

    // RC-1
    #[test]
    fn what_is_left_of_a_line_is_its_id_its_tool_and_its_place_in_the_chain() {
        let id = "01M7Q9Z3W8N4V2T6X1R5K0YBDC";
        let begun = line(&format!(
            r#"{{"open":"{id}","at":"2026-07-28T10:00:00Z","tool":"s__\"x","arguments":{{"a":"secret"}},"tick":17"#
        ));
        let ended = line(&format!(
            r#"{{"end":"{id}","outcome":"ok","duration_ns":1,"bytes":1,"result":"secret","tick":18"#
        ));
        for (line, tool) in [(begun, Some("s__\"x")), (ended, None)] {
            let removed = without_content(&line).unwrap();
            assert_eq!(removed.len(), line.len());
            let (was, is) =
                (SealedLine::parse(&line).unwrap(), SealedLine::parse(&removed).unwrap());
            assert_eq!(was.hash, is.hash);
            assert!(is.is_removed() && is.follows(&Hash::NONE) && !was.is_removed());
            assert_eq!(
                (last_tick(&removed), first_id(&removed)),
                (last_tick(&line), first_id(&line))
            );
            assert_eq!(LineKind::of(&removed), Some(LineKind::Removed));
            let value: Value = serde_json::from_slice(&removed).unwrap();
            assert_eq!((value["removed"].as_str(), value["tool"].as_str()), (Some(id), tool));
            assert!(!String::from_utf8(removed.clone()).unwrap().contains("secret"));
            assert_eq!(without_content(&removed), None);
        }
        assert_eq!(without_content(&line(&json!({"sealed": 1}).to_string())), None);
    }
}
