//! A server that tries to command the terminal in everything that it says, before every command that there is.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    process::Command,
};

use serde_json::{Value, json};
use switchboard_testkit::{
    ProviderServer, Reply,
    sounds::{babble, silence, wav},
};

use crate::{
    fixture::wait_until,
    pty::{self, Shown, Terminal},
    serve::Serving,
    test_folder::TestFolder,
};

/// A colour of our own, a title, the clipboard, a clear screen, hidden text, the same with C1, directions, a return.
const HOSTILE: &str = "\u{1b}[31mHOSTILE\u{1b}[0m\u{1b}]0;title\u{7}\u{1b}]52;c;AAAA\u{7}\u{1b}[2J\u{1b}[8m\
                       \u{9b}31m\u{90}q\u{9c}\u{202e}\u{2066}\u{200b}\u{feff}\rover";

/// Codes that the program itself writes: colours, and what takes the spinner's line away.
const OURS: [&str; 15] = [
    "\r\u{1b}[2K",
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[3m",
    "\u{1b}[22m",
    "\u{1b}[23m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[34m",
    "\u{1b}[35m",
    "\u{1b}[36m",
    "\u{1b}[39m",
    "\u{1b}[1;31m",
];

/// The server, in shell: `@@` stands for what it says wherever it may say something.
const SERVER: &str = r#"
printf '\033]0;stderr\007\033[31mHOSTILE\302\233\342\200\256\n' >&2
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\),.*/\1/')
  token=$(printf '%s' "$line" | sed -n 's/.*"progressToken":\("[^"]*"\|[0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  refuse() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":%s,"data":%s}}\n' "$id" "$1" '"@@"' '"@@"'; }
  log() { printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":%s,"data":%s}}\n' '"@@"' '"@@"'; }
  case $line in
    *'"method":"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{},"logging":{}},"serverInfo":{"name":"@@","title":"@@","version":"@@"},"instructions":"@@"}'; log ;;
    *'"method":"tools/list"'*) say '{"tools":[{"name":"t","title":"@@","description":"@@","inputSchema":{"type":"object","properties":{"@@":{"type":"string","description":"@@","enum":["@@","b"],"default":"@@"},"plain":{"type":"string","title":"@@"}},"required":["@@"]},"annotations":{"title":"@@"}},{"name":"bi\u202edi","description":"@@","inputSchema":{"type":"object"}},{"name":"@@","description":"@@","inputSchema":{"type":"object"}},{"name":"fails","description":"@@","inputSchema":{"type":"object"}},{"name":"refuses","inputSchema":{"type":"object"}},{"name":"says","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*'"name":"fails"'*) say '{"isError":true,"content":[{"type":"text","text":"@@"}]}' ;;
    *'"method":"tools/call"'*'"name":"says"'*) say '{"content":[{"type":"text","text":"@@"}]}' ;;
    *'"method":"tools/call"'*'"name":"refuses"'*) log; refuse -32000 ;;
    *'"method":"tools/call"'*)
      log
      [ -z "$token" ] || printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":"@@"}}\n' "$token"
      sleep 0.4
      say '{"content":[{"type":"text","text":"@@"},{"type":"image","mimeType":"image/@@","data":"AAEC/w=="},{"type":"resource_link","uri":"r://@@","name":"@@"}]}' ;;
    *'"method":"resources/list"'*) say '{"resources":[{"uri":"r://x","name":"@@","title":"@@","description":"@@","mimeType":"@@"},{"uri":"r://@@","name":"@@"}]}' ;;
    *'"method":"resources/templates/list"'*) say '{"resourceTemplates":[{"uriTemplate":"t://{n}@@","name":"@@","description":"@@"}]}' ;;
    *'"uri":"r://x"'*) say '{"contents":[{"uri":"r://@@","mimeType":"@@","text":"@@"},{"uri":"r://@@","mimeType":"@@","blob":"AAEC/w=="}]}' ;;
    *'"method":"prompts/list"'*) say '{"prompts":[{"name":"p","title":"@@","description":"@@","arguments":[{"name":"@@","description":"@@","required":false}]},{"name":"@@"}]}' ;;
    *'"method":"prompts/get"'*'"name":"p"'*) say '{"description":"@@","messages":[{"role":"user","content":{"type":"text","text":"@@"}},{"role":"assistant","content":{"type":"image","mimeType":"@@","data":""}}]}' ;;
    *'"id":'*) refuse -32601 ;;
  esac
done
"#;

/// A place whose server, script, tokens and records are hostile.
fn place(more: &str) -> TestFolder {
    // As JSON, so that it stands in the server's answers; a `$` of the shell or a quote is not in it.
    let said = Value::from(HOSTILE).to_string();
    let said = said.trim_matches('"');
    let escaped: String = said
        .chars()
        .map(|c| match c.is_ascii() {
            true => c.to_string(),
            false => format!("\\u{:04x}", u32::from(c)),
        })
        .collect();
    let config = format!("{more}[servers.h]\ncommand = \"sh\"\nargs = [\"server.sh\"]\n");
    let turns = json!([
        {"text": HOSTILE, "tool_calls": [{"id": "c1", "name": "h__t", "args": {HOSTILE: "b", "plain": HOSTILE}}]},
        {"text": "", "tool_calls": [{"id": "c2", "name": "h__fails", "args": {}}]},
        {"text": format!("# {HOSTILE}\n- **{HOSTILE}** `{HOSTILE}`")},
    ]);
    let theirs = json!({"mcpServers": {
        HOSTILE: {"command": HOSTILE, "args": [HOSTILE], "env": {format!("{HOSTILE}_KEY"): HOSTILE}},
        "other": {"type": HOSTILE},
        "asks": {"command": "x", "env": {"A": format!("${{input:{HOSTILE}}}")}},
    }});
    TestFolder::with_config(&config)
        .file("server.sh", SERVER.replace("@@", &escaped))
        .file("script.json", json!({"turns": turns}).to_string())
        .file("theirs.json", theirs.to_string())
        .file("copy.toml", &config)
        .file("bad.toml", format!("[servers.\"{}\"]\nnonsense = 1\n", escaped))
        .file("calls.jsonl", "{\"tool\": \"t\", \"arguments\": {}}\n{\"tool\": \"bidi\"}\n")
        .file("said.wav", wav(&[silence(0.5), babble(1.5, 0.3), silence(2.0)].concat()))
}

/// Runs a command whose output goes to a terminal; nobody types.
fn output_of(place: &TestFolder, words: &[&str]) -> Shown {
    let mut command = place.command(words);
    command.env("RUST_LOG", "debug");
    pty::run_without_keyboard(command)
}

/// Fails where anything commands the terminal that is not ours.
fn check(what: &str, shown: &str) {
    assert!(!shown.contains("\u{1b}[31mHOSTILE"), "{what}: a colour came through\n{shown:?}");
    let mut rest = shown.to_owned();
    for code in OURS {
        rest = rest.replace(code, "");
    }
    // The terminal itself makes `\r\n` of `\n`; an emoji of ours has a part that cannot be seen.
    let rest = rest.replace("\r\n", "\n").replace("⚠\u{fe0f}", "");
    let is_bad = |c: char| switchboard_toolcall::text::is_hidden(c) && !matches!(c, '\n' | '\t');
    if let Some(at) = rest.find(is_bad) {
        let around: String = rest[at..].chars().take(40).collect();
        panic!("{what}: {around:?} came through\n{shown:?}");
    }
}

/// The commands that a help page lists.
fn listed(place: &TestFolder, words: &[&str]) -> BTreeSet<String> {
    let help = place.run(&[words, &["--help"]].concat()).stdout;
    // Those of the program stand in groups, those of a command under one title.
    let title = if words.is_empty() { "Everyday:\n" } else { "Commands:\n" };
    let Some((_, commands)) = help.split_once(title) else {
        assert!(!words.is_empty(), "the program lists its commands: {help}");
        return BTreeSet::new();
    };
    let commands = commands.lines().take_while(|line| !line.ends_with("ptions:"));
    let names = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Every command of the program, subcommands with a space.
fn all_commands(place: &TestFolder) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for command in listed(place, &[]) {
        let below = listed(place, &[&command]);
        all.extend(below.iter().map(|name| format!("{command} {name}")));
        all.insert(command);
    }
    all
}

/// Whether what the server or somebody else says must be seen in what a command shows.
#[derive(Clone, Copy, PartialEq)]
enum HostileText {
    Required,
    Optional,
}
use HostileText::{Optional, Required};

/// Each command with arguments, and whether something hostile must be seen. `ARGUMENTS` and `STT` stand for what is known
/// only later.
const CASES: &[(&str, &[&str], HostileText)] = &[
    ("tools", &[], Required),
    ("tools", &["h__t"], Required),
    ("tools", &["*"], Required),
    ("tools", &["--json"], Required),
    ("tools", &[HOSTILE], Required),
    ("call", &["h__t", "ARGUMENTS"], Required),
    ("call", &["h__t", "ARGUMENTS", "--text"], Required),
    ("call", &["h__t", "ARGUMENTS", "--json"], Required),
    ("call", &["h__t", "ARGUMENTS", "-o", "picture"], Required),
    ("call", &["h__fails"], Required),
    ("call", &["h__fails", "--text"], Required),
    ("call", &["h__refuses", "--text"], Required),
    ("call", &["h__t", "x=1"], Required),
    ("call", &["h__bidi"], Required),
    ("call", &[HOSTILE], Required),
    ("resources", &[], Required),
    ("resources", &["--json"], Required),
    ("resources", &["r://x"], Required),
    ("resources", &["r://y"], Required),
    ("prompts", &[], Required),
    ("prompts", &["p"], Required),
    ("prompts", &["p", "--json"], Required),
    ("prompts", &["nobody"], Required),
    ("ask", &["-m", "script:script.json", "hi"], Required),
    ("ask", &["-m", "script:script.json", "--json", "hi"], Required),
    ("ask", &["-m", HOSTILE, "hi"], Required),
    ("chat", &["-m", "script:script.json"], Required),
    ("chat", &["--list"], Required),
    ("doctor", &[], Required),
    ("doctor", &["--json"], Required),
    ("add", &["h2", "--config", "new.toml", "--", "sh", "server.sh"], Required),
    ("enable", &["h", "--config", "copy.toml"], Optional),
    ("disable", &["h", "--config", "copy.toml"], Optional),
    ("remove", &["h", "--config", "copy.toml"], Optional),
    ("init", &["--config", "fresh.toml"], Optional),
    ("connect", &["cursor", "--print"], Optional),
    ("import", &["theirs.json", "--config", "new.toml"], Required),
    ("import", &["theirs.json", "--config", "new.toml", "--json"], Required),
    ("trust", &["sub"], Required),
    ("completions", &["bash"], Optional),
    ("token", &["new", "--name", "x", "--tools", HOSTILE], Optional),
    ("token new", &["--name", HOSTILE], Optional),
    ("token list", &[], Required),
    ("token list", &["--json"], Required),
    ("token revoke", &[HOSTILE], Required),
    ("token sign", &[HOSTILE], Optional),
    ("config", &["path"], Optional),
    ("config path", &[], Optional),
    ("config check", &["--config", "bad.toml"], Optional),
    ("config schema", &[], Optional),
    ("login", &[HOSTILE], Optional),
    ("logout", &[HOSTILE], Optional),
    ("secret", &["list"], Optional),
    ("secret list", &[], Optional),
    ("secret set", &[HOSTILE], Optional),
    ("secret rm", &[HOSTILE], Optional),
    ("secret rotate", &[], Optional),
    ("approve", &[HOSTILE], Required),
    ("approve", &["--rules"], Optional),
    ("calls", &[], Required),
    ("calls", &["--json"], Required),
    ("calls show", &[HOSTILE], Required),
    ("calls stats", &[], Optional),
    ("calls export", &[], Required),
    ("calls export", &["--format", "csv"], Required),
    ("calls export", &["--as", "mocks"], Required),
    ("calls verify", &[], Optional),
    ("calls gc", &[], Optional),
    ("policy", &["test"], Optional),
    ("profile", &["list"], Optional),
    ("profile list", &[], Optional),
    ("profile test", &[HOSTILE], Required),
    ("policy test", &["--config", "rules.toml"], Optional),
    ("zwave", &["--mqtt", HOSTILE], Optional),
    ("voice", &["-m", "script:script.json", "--source", "wav:said.wav", "--stt", "STT"], Required),
    ("worker", &["--nats", "nats://127.0.0.1:1", "--group", HOSTILE], Required),
    ("cluster", &["rotate-secret"], Optional),
    ("cluster rotate-secret", &["--forget-old"], Optional),
    ("serve", &["--listen", HOSTILE], Required),
    ("servers", &[], Optional),
    ("restart", &[HOSTILE], Optional),
    ("logs", &[HOSTILE], Optional),
    ("runs", &[], Optional),
    ("runs show", &[HOSTILE], Required),
    ("runs resume", &[HOSTILE], Optional),
    ("runs rerun", &[HOSTILE], Optional),
    ("runs diff", &[HOSTILE, HOSTILE], Optional),
    ("runs export", &[HOSTILE], Optional),
    ("sandbox", &["learn", HOSTILE], Optional),
    ("sandbox learn", &["h", "--calls", "calls.jsonl"], Optional),
    // From here on the lock applies.
    ("lock", &["--json"], Required),
    ("lock", &["--check"], Optional),
    ("lock", &["--update", "h"], Optional),
    ("trust", &["h"], Optional),
];

#[tokio::test(flavor = "multi_thread")]
async fn no_command_lets_a_server_command_the_terminal() {
    // PO-2, EX-5
    let stt = ProviderServer::start([Reply::json(200, &json!({"text": HOSTILE}))]).await;
    let stt = format!("{}/v1", stt.url());
    tokio::task::spawn_blocking(move || walk(&stt)).await.unwrap();
}

fn walk(stt: &str) {
    let place = place("");
    let bad = fs::read(place.path().join("bad.toml")).unwrap();
    let rules =
        "[policy]\ndeny = [\"h__*\"]\n[servers.h]\ncommand = \"sh\"\nargs = [\"server.sh\"]\n";
    let place = place.file("sub/switchboard.toml", bad).file("rules.toml", rules);
    let arguments = json!({HOSTILE: "b", "plain": HOSTILE}).to_string();

    let covered: BTreeSet<String> =
        CASES.iter().map(|(command, ..)| (*command).to_owned()).collect();
    let missing: Vec<_> = all_commands(&place).difference(&covered).cloned().collect();
    assert!(missing.is_empty(), "commands without a case here: {missing:?}");

    let mut silent = Vec::new();
    for &(command, more, hostile_text) in CASES {
        let more = more.iter().map(|word| match *word {
            "ARGUMENTS" => arguments.as_str(),
            "STT" => stt,
            word => word,
        });
        let words: Vec<&str> = command.split(' ').chain(more).collect();
        let seen = match command {
            "chat" => talk(&place, &words),
            _ => output_of(&place, &words),
        };
        check(&format!("{words:?}"), &seen.text);
        if hostile_text == Required {
            // Columns may cut it.
            let is_seen = seen.text.contains("HOST") || seen.text.contains("over");
            (!is_seen).then(|| silent.push(format!("{words:?}: {seen:?}")));
        }
    }
    assert!(silent.is_empty(), "these show nothing of it:\n{}", silent.join("\n"));
    let wrong = output_of(&place, &["tools", "--config", "bad.toml"]);
    check("a wrong config", &wrong.text);

    // All about every call that there was.
    let calls = place.run(&["calls", "--json"]).json();
    for call in calls.as_array().unwrap() {
        let id = call["id"].as_str().unwrap();
        check("calls show", &output_of(&place, &["calls", "show", id]).text);
        check("calls show --json", &output_of(&place, &["calls", "show", id, "--json"]).text);
    }
}

/// Runs a chat whose lines come from a file, with commands of its own.
fn talk(place: &TestFolder, words: &[&str]) -> Shown {
    let lines = place.path().join("lines");
    fs::write(
        &lines,
        format!("{HOSTILE}\n/tools\n/model\n{HOSTILE}\n/model {HOSTILE}\n/{HOSTILE}\n"),
    )
    .unwrap();
    let mut command = place.command(words);
    command.stdin(File::open(lines).unwrap());
    pty::run_without_keyboard(command)
}

#[test]
fn a_person_is_asked_in_harmless_words() {
    // PO-2
    let place = place("[policy]\nask = [\"*fails\"]\n");
    let arguments = json!({HOSTILE: HOSTILE}).to_string();
    let asked = pty::run(place.command(&["call", "h__fails", &arguments]), &[("Allow it?", "n")]);
    check("the question", &asked.text);
    assert!(asked.text.contains("HOSTILE"), "{asked:?}");

    // The same from elsewhere.
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let _waiting = serving.begin("/api/tools/h__fails/call", &arguments);
    let list = || place.run(&["approve", "--json"]).json();
    wait_until("the call waits", || !list().as_array().unwrap().is_empty());
    let id = list()[0]["id"].as_str().unwrap().to_owned();
    for words in [&["approve"][..], &["approve", "--json"], &["approve", &id, "--always"]] {
        let seen = output_of(&place, words);
        check(&format!("{words:?}"), &seen.text);
    }
    check("the rules", &output_of(&place, &["approve", "--rules"]).text);
}

#[test]
fn the_log_of_a_gateway_is_harmless() {
    // EX-5
    let place = place("");
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("RUST_LOG", "trace");
    let terminal = Terminal::start(command);
    terminal.shows("HOSTILE");
    let pid = terminal.pid().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    check("serve", &terminal.ended().text);
}

#[test]
fn data_that_goes_to_a_file_or_a_program_stays_as_it_is() {
    // RS-3
    let place = place("");
    let read = place.run(&["resources", "r://x"]).stdout;
    assert!(read.starts_with(HOSTILE), "{read:?}");
    let called = place.run(&["call", "h__says", "--text"]).stdout;
    assert_eq!(called, format!("{HOSTILE}\n"));
    let prompt = place.run(&["prompts", "p"]).stdout;
    assert!(prompt.starts_with(&format!("user: {HOSTILE}")), "{prompt:?}");
    // Names and descriptions are no data.
    for words in [&["tools"][..], &["tools", "h__t"], &["resources"], &["prompts"], &["doctor"]] {
        check(&format!("{words:?} in a pipe"), &place.run(words).stdout);
    }
}
