//! A browser in its sandbox: Chromium, which `@playwright/mcp` starts (SB-1, SB-2).

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
};

use serde_json::{Value, json};

use super::{call, in_place, network::serve_files, place, section};
use crate::serving::{Ending, part};

/// A page whose button says that it was pressed.
const PAGE: &str = "<!doctype html><title>Bees</title>\
                    <button onclick=\"this.textContent = document.title = 'Pressed'\">Press</button>";

/// Starts a gateway, so that calls are calls of one process.
fn serve(folder: &Path) -> Ending {
    let mut command = in_place(folder, &["serve", "--json", "--listen", "127.0.0.1:0"]);
    let mut process = Ending(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("address"), "{line}");
    process
}

/// Uses the browser under these settings; a host that they do not name is refused.
fn browse(folder: &Path, calls: &[(&str, Value, &str)], sandbox: &str) {
    let _gateway = serve(folder);
    for (tool, arguments, expected) in calls {
        let result = call(folder, tool, arguments);
        assert_eq!(result["success"], true, "{tool}: {result}\n{sandbox}");
        assert!(result["result"].to_string().contains(expected), "{tool}: {result}\n{sandbox}");
    }
    let elsewhere = json!({"url": "https://elsewhere.example/"});
    let result = call(folder, "x__browser_navigate", &elsewhere);
    assert_eq!(result["success"], false, "{result}");
    let hint = result["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("sandbox_allow.connect += \"elsewhere.example:443\""), "{result}");
    let doctor = in_place(folder, &["doctor"]).output().unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("has the presets browser"), "{doctor}");
}

#[test]
fn a_browser_works_in_a_sandbox() {
    let folder = place();
    let folder = folder.path();
    let shots = folder.join("shots");
    fs::write(folder.join("work/page.html"), PAGE).unwrap();
    let page = format!("http://127.0.0.1:{}/page.html", serve_files(folder.join("work")));
    let args = ["--headless", "--isolated", "--no-sandbox", "--browser", "chromium"];
    let more = ["--executable-path", "/usr/bin/chromium", "--output-dir", shots.to_str().unwrap()];
    let args: Vec<_> = args.iter().chain(&more).map(|&arg| arg.to_owned()).collect();
    let server = section(&part("mcp-browser/node_modules/.bin/playwright-mcp"), &args);
    let calls = [
        ("x__browser_navigate", json!({"url": page}), "Bees"),
        ("x__browser_snapshot", json!({}), "Press"),
        ("x__browser_click", json!({"element": "the button", "target": "button"}), "Pressed"),
        ("x__browser_take_screenshot", json!({"type": "png", "scale": "css"}), ".png"),
    ];
    let line =
        |(tool, arguments, _): &(&str, Value, &str)| json!({"tool": tool, "arguments": arguments});
    let lines = calls.iter().map(|call| line(call).to_string() + "\n");
    fs::write(folder.join("calls.jsonl"), lines.collect::<String>()).unwrap();
    let config = folder.join("switchboard.toml");
    fs::write(&config, &server).unwrap();
    fs::create_dir(&shots).unwrap();
    let learn = ["sandbox", "learn", "x", "--calls", "calls.jsonl"];
    let learned = in_place(folder, &learn).output().unwrap();
    assert!(learned.status.success(), "{learned:?}");
    let learned = String::from_utf8(learned.stdout).unwrap().replace("[servers.x]\n", "");
    println!("{learned}");
    assert!(!learned.contains("dangerous"), "{learned}");
    for part in ["preset = [\"browser\"], home = \"temporary\"", "\"127.0.0.1:"] {
        assert!(learned.contains(part), "{part}\n{learned}");
    }
    let host = page.split('/').nth(2).unwrap();
    let written = format!(
        "sandbox = \"on\"\nsandbox_allow = {{ preset = [\"browser\"], home = \"temporary\", write = [{shots:?}], connect = [{host:?}] }}\n\
         sandbox_limits = {{ processes = 512 }}\n"
    );
    for sandbox in [learned, written] {
        fs::remove_dir_all(&shots).unwrap();
        fs::create_dir(&shots).unwrap();
        fs::write(&config, format!("{server}{sandbox}")).unwrap();
        browse(folder, &calls, &sandbox);
        let files = fs::read_dir(&shots).unwrap().flatten().map(|entry| entry.path());
        let pictures: Vec<_> =
            files.filter(|file| file.extension() == Some("png".as_ref())).collect();
        let [picture] = &pictures[..] else { panic!("{pictures:?}") };
        let picture = fs::read(picture).unwrap();
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 1000, "{}", picture.len());
    }
}
