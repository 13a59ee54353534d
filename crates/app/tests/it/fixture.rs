//! Servers to connect to: the one that misbehaves as told, and a small one of our own with resources and prompts.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use crate::test_folder::TestFolder;

/// The bit of SIGINT in the masks of `/proc`.
const SIGINT: u64 = 1 << 1;

/// The example `misbehaving_server` of crates/mcp-client; its modes are told at its top.
pub(crate) fn misbehaving() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let test = env::current_exe().unwrap();
        let folder = test.parent().and_then(Path::parent).unwrap();
        let program = folder.join("examples/misbehaving_server");
        // A test of the whole workspace has built it; one of this package alone has not.
        if !program.exists() {
            build(folder);
        }
        program.display().to_string()
    })
}

fn build(folder: &Path) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "-p", "switchboard-mcp-client", "--example", "misbehaving_server"]);
    cargo.arg("--target-dir").arg(folder.parent().unwrap());
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(cargo.status().unwrap().success());
}

/// The section of a server in these modes.
pub(crate) fn section(name: &str, modes: &str) -> String {
    format!("[servers.{name}]\ncommand = {:?}\nargs = [{modes:?}]\n", misbehaving())
}

/// As [`section`], but the server leaves its pid in the file `NAME.pid` first.
pub(crate) fn section_with_pid(name: &str, modes: &str) -> String {
    let program = misbehaving();
    let script = format!("echo $$ > {name}.new; mv {name}.new {name}.pid; exec {program} {modes}");
    format!("[servers.{name}]\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n")
}

/// Where attempts follow each other at once.
pub(crate) const NO_DELAY: &str = "[mcp]\nretry_base_delay = \"1ms\"\n";

/// A server with resources and prompts, in shell: what it answers is all that it knows.
pub(crate) const LIBRARY: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\),.*/\1/')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  refuse() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"%s"}}\n' "$id" "$1" "$2"; }
  case $line in
    *'"method":"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"resources":{},"prompts":{}},"serverInfo":{"name":"library","version":"2.1"}}' ;;
    *'"method":"resources/list"'*) say '{"resources":[{"uri":"book://one","name":"one","description":"The first"},{"uri":"book://logo","name":"logo","mimeType":"image/png"}]}' ;;
    *'"method":"resources/templates/list"'*) say '{"resourceTemplates":[{"uriTemplate":"page://{n}","name":"page"}]}' ;;
    *'"uri":"book://one"'*) say '{"contents":[{"uri":"book://one","text":"Once upon a time"}]}' ;;
    *'"uri":"book://logo"'*) say '{"contents":[{"uri":"book://logo","mimeType":"image/png","blob":"AAEC/w=="}]}' ;;
    *'"uri":"page://7"'*) say '{"contents":[{"uri":"page://7","text":"Page seven"}]}' ;;
    *'"method":"resources/read"'*) refuse -32002 'Resource not found' ;;
    *'"method":"prompts/list"'*) say '{"prompts":[{"name":"review","description":"Reviews code","arguments":[{"name":"lines","required":true},{"name":"tone"}]}]}' ;;
    *'"method":"prompts/get"'*'"lines":"5"'*) say '{"messages":[{"role":"user","content":{"type":"text","text":"Review 5 lines"}},{"role":"assistant","content":{"type":"image","mimeType":"image/png","data":""}}]}' ;;
    *'"method":"prompts/get"'*) refuse -32602 'lines is missing' ;;
    *'"id":'*) refuse -32601 'Method not found' ;;
  esac
done
"#;

/// A place with the library as the server `NAME`.
pub(crate) fn library(name: &str, more: &str) -> TestFolder {
    let config = format!("{more}[servers.{name}]\ncommand = \"sh\"\nargs = [\"library.sh\"]\n");
    TestFolder::with_config(&config).file("library.sh", LIBRARY)
}

/// The pid that a server left in its file, as soon as it has.
pub(crate) fn pid(place: &TestFolder, name: &str) -> u32 {
    let file = place.path().join(format!("{name}.pid"));
    wait_until("the server has started", || file.exists());
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

/// Whether the process still runs.
pub(crate) fn runs(pid: u32) -> bool {
    PathBuf::from(format!("/proc/{pid}")).exists()
}

/// Waits for something that must come soon.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    #[expect(clippy::disallowed_methods, reason = "processes live in real time")]
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "not within 20s: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until Ctrl-C is handled by the command itself, and does not just end its process.
pub(crate) fn wait_until_interruptible(command: &Child) {
    let file = format!("/proc/{}/status", command.id());
    wait_until("the command handles Ctrl-C", || {
        let status = fs::read_to_string(&file).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        caught.is_some_and(|mask| mask & SIGINT != 0)
    });
}
