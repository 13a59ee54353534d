//! What was seen becomes a script for the linker.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
};

/// How many functions of one name are taken together. More are most likely many kinds of one generic function, of which
/// few are meant; these are named with the compiler's hash, which holds until the compiler or a dependency changes.
const ALIKE: usize = 4;

/// A build with a profile inlines otherwise, so it may have hot functions that were not seen; and to it all that hardly ever
/// ran is unlikely, which then lies behind the rest. Names of Rust's functions begin with an underscore.
const REST: &str = "    *(.text.hot .text.hot.*)
    *(.text._*)
    *(.text .text.*)
  }
}
INSERT BEFORE .init;
";

/// The functions of a program as `nm -n` lists them, in the order in which they lie there.
pub(super) fn functions(listed: &str) -> Vec<&str> {
    listed.lines().filter_map(function_of).collect()
}

fn function_of(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(' ')?;
    let (kind, name) = rest.split_once(' ')?;
    matches!(kind, "t" | "T" | "w" | "W").then_some(name)
}

/// How often each function was called, as callgrind wrote it down.
pub(super) fn calls(profile: &str) -> HashMap<&str, u64> {
    let mut names = HashMap::new();
    let mut calls = HashMap::new();
    let mut called = None;
    for line in profile.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        match key {
            "fn" | "cfn" => {
                // A name is written out once, and is a number from then on.
                let (number, name) = value.split_once(' ').unwrap_or((value, ""));
                if !name.is_empty() {
                    // The rounds of a recursion are told apart by a number behind the name.
                    names.insert(number, name.split('\'').next().unwrap_or(name));
                }
                called = names.get(number).copied();
                if let Some(name) = called {
                    calls.entry(name).or_insert(0);
                }
            }
            "calls" => {
                let count: u64 = value.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
                *called.and_then(|name| calls.get_mut(name)).unwrap_or(&mut 0) += count;
            }
            _ => {}
        }
    }
    calls
}

/// The script: first what every call of an era passes through, then what was needed at all.
pub(super) fn write(functions: &[&str], calls: &HashMap<&str, u64>, of_an_era: u64) -> String {
    let mut alike = HashMap::new();
    for name in functions {
        *alike.entry(without_hash(name)).or_insert(0) += 1;
    }
    let pattern = |name: &str| match without_hash(name) {
        general if alike[&general] <= ALIKE => general,
        _ => name.to_owned(),
    };
    let seen = functions.iter().filter_map(|name| Some((name, *calls.get(name)?)));
    let (always, once): (Vec<_>, Vec<_>) = seen.partition(|(_, count)| *count >= of_an_era);
    let mut script = String::from(
        "/* Written by `cargo xtask layout`: what a call passes through, then what else a start does. */\n\
         SECTIONS\n{\n  .text :\n  {\n",
    );
    let mut written = HashSet::new();
    for (name, _) in always.into_iter().chain(once) {
        let pattern = pattern(name);
        if !written.contains(&pattern) {
            // What the compiler thinks hot or unlikely has a prefix that says so. Writing to a string cannot fail.
            _ = writeln!(
                script,
                "    *(.text.{pattern} .text.hot.{pattern} .text.unlikely.{pattern})"
            );
            written.insert(pattern);
        }
    }
    script.push_str(REST);
    script
}

/// The name without what the compiler and the versions of crates have put into it.
fn without_hash(name: &str) -> String {
    match name.rsplit_once("17h") {
        Some((path, hash)) if name.starts_with("_ZN") && hash.len() >= 17 => format!("{path}17h*"),
        _ => match name.strip_prefix("_R") {
            Some(path) => format!("_R{}", without_crates(path)),
            None => name.to_owned(),
        },
    }
}

/// A name of the newer kind: each crate in it stands behind `Cs` and a hash that ends with an underscore.
fn without_crates(path: &str) -> String {
    let mut parts = path.split("Cs");
    let mut general = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        general.push_str("Cs");
        match part.split_once('_') {
            Some((hash, rest)) if hash.chars().all(|char| char.is_ascii_alphanumeric()) => {
                general.push_str("*_");
                general.push_str(rest);
            }
            _ => general.push_str(part),
        }
    }
    general
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_left_open() {
        let cases = [
            ("_ZN5hyper4poll17h0123456789abcdefE", "_ZN5hyper4poll17h*"),
            ("_ZN5hyper4poll17h0123456789abcdefE.llvm.123", "_ZN5hyper4poll17h*"),
            ("_RNvNtCsgEmfK2I1SDS_4core3str4find", "_RNvNtCs*_4core3str4find"),
            ("_RNvXNtCsab1_3stdNtCsc2_4core", "_RNvXNtCs*_3stdNtCs*_4core"),
            ("sqlite3VdbeExec", "sqlite3VdbeExec"),
            ("x17h", "x17h"),
        ];
        for (name, general) in cases {
            assert_eq!(without_hash(name), general);
        }
    }

    #[test]
    fn a_profile_says_how_often() {
        let profile = "positions: line\nfn=(1) main\n1 5\ncfn=(2) work'2\ncalls=3 7\n1 90\ncfn=(2)\ncalls=2 7\n1 8\nfn=(2)\n1 1\n";
        let calls = calls(profile);
        assert_eq!((calls["main"], calls["work"], calls.len()), (0, 5, 2));
    }

    #[test]
    fn what_is_always_needed_comes_first() {
        let listed = "01 t start\n02 T _ZN1a17h0123456789abcdefE\n03 d data\n04 t never\n05 W _ZN1a17h1123456789abcdefE\n   U puts\n";
        let functions = functions(listed);
        assert_eq!(functions.len(), 4);
        let counted = [(functions[0], 1), (functions[1], 9), (functions[3], 8)];
        let script = write(&functions, &HashMap::from(counted), 8);
        let placed: Vec<_> =
            script.lines().filter_map(|line| line.trim().strip_prefix("*(.text")).collect();
        let wanted = [
            "._ZN1a17h* .text.hot._ZN1a17h* .text.unlikely._ZN1a17h*)",
            ".start .text.hot.start .text.unlikely.start)",
            ".hot .text.hot.*)",
            "._*)",
            " .text.*)",
        ];
        assert_eq!(placed, wanted);
        // Many of one name are most likely not all meant.
        let many: Vec<_> = (0..9).map(|n| format!("_ZN1a17h{n}123456789abcdefE")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let script = write(&many, &HashMap::from([(many[4], 1)]), 8);
        assert!(script.contains("*(.text._ZN1a17h4123456789abcdefE ."));
    }
}
