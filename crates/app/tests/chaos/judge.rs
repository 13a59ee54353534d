//! Compares what callers were told with what the tools wrote down.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

use crate::caller::{CallAttempt, Way};

/// What the tools wrote down of one word.
#[derive(Clone, Copy, Debug, Default)]
struct Noted {
    starts: u32,
    ends: u32,
}

/// What came of it all.
#[derive(Default)]
pub(crate) struct Verdict {
    /// What was not true.
    pub(crate) lies: Vec<String>,
    /// How often each ending was told, by the way it was asked for.
    told: BTreeMap<(Way, &'static str, String), u32>,
    /// One text for each of these endings.
    texts: BTreeMap<(Way, &'static str, String), String>,
    /// How many words were begun more than once (which only `put` and `look` may be).
    again: u32,
}

impl Verdict {
    /// Whether enough went well, and enough did not.
    pub(crate) fn is_telling(&self) -> bool {
        let count = |is_meant: &dyn Fn(&str) -> bool| -> u32 {
            let meant = self.told.iter().filter(|((_, _, ending), _)| is_meant(ending));
            meant.map(|(_, count)| count).sum()
        };
        count(&|ending| ending == "ok") > 100 && count(&|ending| ending != "ok") > 0
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((way, tool, ending), count) in &self.told {
            let text = self.texts.get(&(*way, *tool, ending.clone()));
            writeln!(f, "{way:?} {tool}: {ending} {count} {}", text.map_or("", |text| text))?;
        }
        write!(f, "run again: {}, lies: {}", self.again, self.lies.len())
    }
}

/// Judges every call that was asked for.
pub(crate) fn judge(asked: &[CallAttempt], notes: &str) -> Verdict {
    let mut noted: BTreeMap<&str, Noted> = BTreeMap::new();
    for line in notes.lines() {
        let (what, word) = line.split_once(' ').unwrap();
        let noted = noted.entry(word).or_default();
        match what {
            "start" => noted.starts += 1,
            _ => noted.ends += 1,
        }
    }
    let mut verdict = Verdict::default();
    for asked in asked {
        let ran = noted.get(&*asked.word).copied().unwrap_or_default();
        let ending = ending(asked);
        if let Some(lie) = lie(asked, &ending, ran) {
            verdict.lies.push(format!("{lie}: {ran:?}, {asked:?}"));
        }
        verdict.again += u32::from(ran.starts > 1);
        if let Some(text) = asked.told.as_ref().and_then(|told| told["error"].as_str()) {
            verdict.texts.insert((asked.way, asked.tool, ending.clone()), text.to_owned());
        }
        *verdict.told.entry((asked.way, asked.tool, ending)).or_default() += 1;
    }
    verdict
}

/// `ok`, the error kind, or that nobody could say.
fn ending(asked: &CallAttempt) -> String {
    match &asked.told {
        Some(told) if told["success"] == true => "ok".to_owned(),
        Some(told) => told["error_kind"].as_str().unwrap_or("no envelope").to_owned(),
        None => "nobody answered".to_owned(),
    }
}

/// What is not true about what the caller was told.
fn lie(asked: &CallAttempt, ending: &str, ran: Noted) -> Option<&'static str> {
    let may_repeat = asked.tool != "act";
    if !may_repeat && ran.starts > 1 {
        return Some("it ran twice");
    }
    match ending {
        "ok" if ran.ends == 0 => Some("it is said to have run, and did not"),
        "ok" if !says_done(asked) => Some("the answer is another's"),
        // Who is told so may ask again: nothing must have happened.
        "unavailable" | "overloaded" | "not_found" | "unknown_server" | "denied"
            if asked.tool == "act" && ran.starts > 0 =>
        {
            Some("it ran, and is said not to have")
        }
        "no envelope" => Some("there is no truth in it"),
        "nobody answered" if asked.queued.is_some() => Some("it was queued and lost"),
        _ => None,
    }
}

fn says_done(asked: &CallAttempt) -> bool {
    let result = asked.told.as_ref().map(|told| &told["result"]);
    result.and_then(Value::as_str) == Some(&format!("done {}", asked.word))
}
