//! LT-3: the recorded answers are what the real mathjs says today.
//!
//! Needs node, and mathjs installed in `$SWITCHBOARD_PARTS/mathjs`; fails without them.

use std::{env, path::Path, process::Command};

use serde_json::Value;

// LT-3
#[test]
fn the_record_is_what_mathjs_says() {
    let parts =
        env::var_os("SWITCHBOARD_PARTS").expect("SWITCHBOARD_PARTS names the folder of real parts");
    let folder = Path::new(&parts).join("mathjs");
    let package = folder.join("node_modules/mathjs/package.json");
    assert!(package.is_file(), "mathjs is not installed: no {}", package.display());

    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("node")
        .arg(here.join("../../parts/mathjs/table.mjs"))
        .arg(here.join("tests/expressions.txt"))
        .current_dir(&folder)
        .output()
        .expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let said = String::from_utf8(output.stdout).expect("the answers are text");
    let said: Vec<Value> =
        said.lines().map(|line| serde_json::from_str(line).expect("an answer is JSON")).collect();
    let recorded =
        std::fs::read_to_string(here.join("tests/mathjs.json")).expect("mathjs.json is there");
    let recorded: Vec<Value> = serde_json::from_str(&recorded).expect("mathjs.json is JSON");
    assert_eq!(said.len(), recorded.len());
    for (said, recorded) in said.iter().zip(&recorded) {
        assert_eq!(said, recorded);
    }
}
