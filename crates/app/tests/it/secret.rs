//! `switchboard secret` and `${secret:NAME}`.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    thread,
};

use crate::{fixture::wait_until, pty, serving::Serving, test_folder::TestFolder};

/// A tool whose command prints a secret of the vault.
const CONFIG: &str = r#"
[[tools]]
name = "reveal"
description = "Prints a secret"
implementation = { type = "command", program = "printf", args = ["%s|%s", "${secret:MEADOW}", "{word}"] }
[tools.parameters]
type = "object"
properties = { word = { type = "string" } }

[[tools]]
name = "without"
description = "Needs a secret that nobody stored"
implementation = { type = "command", program = "echo", args = ["${secret:NOBODY}"] }
[tools.parameters]
type = "object"

[servers.docs]
url = "https://docs.example"
headers = { Authorization = "Bearer ${secret:docs.token-1}" }

[models.m]
provider = "openai"
model = "x"
api_key = "${secret:MODEL_KEY}"
"#;

const VALUE: &str = "sunflower meadow at dawn";

fn everything_below(folder: &Path, found: &mut Vec<Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => everything_below(&path, found),
            false => found.push(fs::read(&path).unwrap_or_default()),
        }
    }
}

// AU-2
#[test]
fn a_secret_is_stored_used_and_found_nowhere() {
    let place = TestFolder::with_config(CONFIG);
    let ran = place.run_with_stdin(&["secret", "set", "MEADOW"], format!("{VALUE}\n").as_bytes());
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert_eq!(
        ran.stderr,
        "secret MEADOW is stored, encrypted with a key that is in a file that only you can read; the config refers to it as ${secret:MEADOW}\n"
    );
    let called = place.call(&["reveal", "word=x"]);
    assert_eq!(called["result"], format!("{VALUE}|x"), "{called}");
    // What the tool printed is recorded, without the secret, whatever its shape.
    let shown = place.run(&["calls", "show", called["call_id"].as_str().unwrap_or("last")]);
    assert!(!format!("{shown:?}").contains("meadow at dawn"), "{shown:?}");
    let mut files = Vec::new();
    everything_below(&place.path().join("state"), &mut files);
    assert!(files.len() > 3, "{}", files.len());
    let holds = |file: &Vec<u8>| String::from_utf8_lossy(file).contains("meadow at dawn");
    assert!(!files.iter().any(holds));

    assert_eq!(place.run(&["secret", "list"]).stdout, "MEADOW\n");
    assert_eq!(place.run(&["secret", "list", "--json"]).stdout, "[{\"name\":\"MEADOW\"}]\n");
    let rotated = place.run(&["secret", "rotate"]);
    assert_eq!(
        rotated.stderr,
        "the vault has a new key, which is in a file that only you can read\n"
    );
    assert_eq!(place.call(&["reveal", "word=y"])["result"], format!("{VALUE}|y"));
    assert_eq!(place.run(&["secret", "rm", "MEADOW"]).stderr, "secret MEADOW is removed\n");
    assert!(place.refusal(&["secret", "rm", "MEADOW"]).contains("there is no secret `MEADOW`"));
    assert_eq!(place.run(&["secret", "list"]).stdout, "");
}

// AU-2, TK-3
#[test]
fn a_secret_is_in_the_headers_of_an_api() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answering = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let answer =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(head).unwrap()
    });
    let config = format!(
        "[apis.pets]\nopenapi = 'pets.json'\nbase_url = 'http://{address}'\n\
         headers = {{ Authorization = 'Bearer ${{secret:PETS}}' }}\n"
    );
    let description = r#"{"openapi": "3.0.3", "info": {"title": "Pets", "version": "1"},
        "paths": {"/pets": {"get": {"operationId": "pets", "responses": {"200": {"description": "ok"}}}}}}"#;
    let place = TestFolder::with_config(&config).file("pets.json", description);
    let missing = place.error(&["pets__pets"]);
    assert!(missing.contains("the secret PETS is not in the vault"), "{missing}");
    place.run_with_stdin(&["secret", "set", "PETS"], VALUE.as_bytes());
    let called = place.call(&["pets__pets"]);
    assert_eq!(called["success"], true, "{called}");
    let head = answering.join().unwrap().to_lowercase();
    assert!(head.contains(&format!("authorization: bearer {VALUE}")), "{head}");
    assert!(!format!("{:?}", place.run(&["calls", "show", "last"])).contains(VALUE));
}

// AU-2, MC-8
#[test]
fn what_needs_a_missing_secret_is_skipped() {
    let place = TestFolder::with_config(CONFIG);
    let error = place.error(&["without"]);
    assert_eq!(
        error,
        "Tool 'without' is skipped: the secret NOBODY is not in the vault (`switchboard secret set NOBODY`)"
    );
    let servers = place.run(&["servers", "--json"]);
    assert!(servers.stdout.contains("the secret docs.token-1 is not in the vault"), "{servers:?}");
    let asked = place.run(&["ask", "-m", "m", "hello"]);
    assert!(asked.stderr.contains("the secret MODEL_KEY is not in the vault"), "{asked:?}");
    // Everything else works.
    assert_eq!(place.call(&["echo", "message=hi"])["success"], true);
    // A vault that does not open is told as such.
    place.run_with_stdin(&["secret", "set", "NOBODY"], b"x");
    fs::remove_file(place.path().join("state/switchboard/vault/vault.key")).unwrap();
    let error = place.error(&["without"]);
    assert!(
        error.starts_with(
            "Tool 'without' is skipped: the secret NOBODY cannot be read: the key of the vault"
        ),
        "{error}"
    );
}

// AU-2: nothing empty, nothing from the command line, one newline less, no other names.
#[test]
fn what_cannot_be_stored_is_refused() {
    let place = TestFolder::new();
    for nothing in ["", "\n", "\r\n"] {
        let ran = place.run_with_stdin(&["secret", "set", "X"], nothing.as_bytes());
        assert_eq!(
            (ran.status, ran.stderr.as_str()),
            (2, "error: the secret is empty; nothing was stored\n")
        );
    }
    for name in ["", "a b", "a/b", "ä"] {
        let ran = place.run_with_stdin(&["secret", "set", name], b"x");
        assert!(ran.status == 2 && ran.stderr.contains("cannot name a secret"), "{ran:?}");
    }
    let ran = place.run_with_stdin(&["secret", "set", "X", "value"], b"x");
    assert!(ran.status == 2 && ran.stderr.contains("unexpected argument"), "{ran:?}");
    assert!(!place.path().join("state/switchboard/vault").exists());
    let ran = place.run_with_stdin(&["secret", "set", "X"], b"\xff");
    assert_eq!(ran.status, 2, "{ran:?}");
    let homeless = TestFolder::new().homeless().run_with_stdin(&["secret", "set", "X"], b"x");
    assert!(homeless.stderr.contains("there is no folder for the vault"), "{homeless:?}");
}

// AU-2
#[test]
fn on_a_terminal_nothing_is_shown() {
    let place = TestFolder::new();
    let shown = pty::run(place.command(&["secret", "set", "X"]), &[("Value of X: ", "hunter2\n")]);
    let shown = format!("{shown:?}");
    assert!(shown.contains("secret X is stored") && !shown.contains("hunter2"), "{shown}");
    let place = place.file("switchboard.toml", CONFIG.replace("MEADOW", "X"));
    assert_eq!(place.call(&["reveal", "word=y"])["result"], "hunter2|y");
}

// AU-2: Ctrl-C at the question stores nothing, and the terminal shows again what is typed.
#[test]
fn an_interrupted_question_leaves_the_terminal_as_it_was() {
    let place = TestFolder::new();
    let terminal = pty::start(place.command(&["secret", "set", "X"]));
    terminal.shows("Value of X: ");
    assert!(!terminal.echoes());
    let pid = terminal.pid().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    wait_until("the terminal echoes", || terminal.echoes());
    assert_eq!(terminal.ended().status, 130);
    assert!(!place.path().join("state/switchboard/vault").exists());
}

// AU-2: what is in memory is not written when the process crashes, neither to a file nor by a program that collects dumps, which
// Linux starts for every limit but this.
#[test]
#[cfg(target_os = "linux")]
fn there_are_no_core_dumps() {
    let config = "[[tools]]\nname = \"limit\"\ndescription = \"Prints the limit of core dumps\"\n\
                  implementation = { type = \"command\", program = \"sh\", \
                  args = [\"-c\", \"grep 'core file' /proc/self/limits | cut -c26-30\"] }\n\
                  [tools.parameters]\ntype = \"object\"\n";
    let place = TestFolder::with_config(config);
    let words = place.command(&["call", "limit"]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -S -c $(ulimit -H -c); exec \"$0\" \"$@\""]).arg(words.get_program());
    shell.args(words.get_args()).current_dir(place.path()).env_clear();
    shell.envs(words.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = crate::test_folder::CommandOutput::of(shell.output().unwrap());
    assert_eq!((ran.status, ran.stdout.trim()), (0, "1"), "{ran:?}");
}

// AU-2: nor does anything else dump it.
#[test]
#[cfg(target_os = "linux")]
fn a_crash_dumps_nothing() {
    use std::os::unix::process::ExitStatusExt;
    let place = TestFolder::new();
    let mut gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    gateway.signal("-ABRT");
    let status = gateway.child.wait().unwrap();
    assert!(status.signal().is_some() && !status.core_dumped(), "{status:?}");
}

// AU-2: a keyring that accepts and never answers holds nobody up.
#[test]
fn a_silent_keyring_is_not_waited_for() {
    let place = TestFolder::new();
    let socket = place.path().join("bus");
    let bus = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let place =
        place.variable("DBUS_SESSION_BUS_ADDRESS", &format!("unix:path={}", socket.display()));
    let ran = place.run_with_stdin(&["secret", "set", "MEADOW"], VALUE.as_bytes());
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.stderr.contains("with a key that is in a file"), "{ran:?}");
    let place = place.file("switchboard.toml", CONFIG);
    assert_eq!(place.call(&["reveal", "word=x"])["result"], format!("{VALUE}|x"));
    bus.set_nonblocking(true).unwrap();
    assert!(bus.accept().is_ok(), "nobody has asked the keyring");
}
