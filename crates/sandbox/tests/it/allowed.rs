//! What programs can do in a sandbox.

use std::{path::Path, process::Command};

use switchboard_sandbox::{
    Sandbox, SandboxAllow, SandboxConfig, SandboxHome, SandboxMode, SandboxedProgram,
};

use crate::{
    boxed::{browser, can_confine, can_have_browsers, deps, on, python, run, texts},
    test_host::TestHost,
};

async fn python_in(place: &TestHost, script: &str, allow: SandboxAllow) -> (String, String) {
    let deps = deps(&place.path("home"), &[place.path("shared/state")]);
    let args = ["-c".to_owned(), script.to_owned()];
    let finished = run(python(), &args, &place.path("work"), &on(allow), &deps).await;
    (finished.stdout(), finished.stderr())
}

// SB-1
#[tokio::test]
async fn what_is_allowed_works() {
    if !can_confine() {
        return;
    }
    let place = TestHost::new().await;
    let http = place.http();
    for (script, expected) in [
        ("print(open('../shared/readable').read())".to_owned(), "content"),
        ("print(open('../home/notes/a').read())".to_owned(), "content"),
        ("open('own', 'a').write('!'); print(open('own').read())".to_owned(), "content!"),
        ("import os; os.mkdir('d'); os.rename('own', 'd/own'); print(os.listdir('d'))".to_owned(), "['own']"),
        ("import os; os.chmod('d/own', 0o600); print(oct(os.stat('d/own').st_mode))".to_owned(), "0o100600"),
        ("import tempfile; f = tempfile.TemporaryFile(); f.write(b'x'); print('made')".to_owned(), "made"),
        ("import subprocess; print(subprocess.check_output('echo hi | cat', shell=True).decode())".to_owned(), "hi"),
        ("import ssl; print(ssl.create_default_context() is not None)".to_owned(), "True"),
        ("import threading; t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()".to_owned(), "thread"),
        ("import os; os.nice(1); os.sched_setaffinity(0, os.sched_getaffinity(0)); print('own')".to_owned(), "own"),
        (format!("import urllib.request as r; print(r.urlopen('http://127.0.0.1:{http}/').read())"), "b'hello'"),
    ] {
        let (stdout, stderr) = python_in(&place, &script, place.allowed()).await;
        assert_eq!(stdout.trim(), expected, "{script}\n{stderr}");
    }
}

// SB-1: what browsers do beyond other programs.
#[tokio::test]
async fn a_browser_has_processes_files_and_sockets_of_its_own() {
    if !can_have_browsers() {
        return;
    }
    let place = TestHost::new().await;
    let http = place.http();
    let in_a_child = |code: &str| format!("import os\nif os.fork() == 0: {code}\nelse: os.wait()");
    let sockets = |name: &str| {
        format!(
            "import os, socket, tempfile; os.chdir(tempfile.gettempdir()); a = socket.socket(socket.AF_UNIX); a.bind({name}); \
             a.listen(); b = socket.socket(socket.AF_UNIX); b.connect({name}); b.sendall(b'hi'); print(a.accept()[0].recv(2))"
        )
    };
    for (script, expected) in [
        (in_a_child("print(len(os.listdir('/proc/self/fd')) > 2)"), "True"),
        (in_a_child("print(open('/proc/self/status').read(5))"), "Name:"),
        (sockets("'own'"), "b'hi'"),
        (sockets("'\\0own'"), "b'hi'"),
        ("import os; print([p for p in os.listdir('/proc') if p.isdigit()])".to_owned(), "['1', '2']"),
        ("print(open('/proc/keys').read(), open('/proc/cpuinfo').read() > '')".to_owned(), "True"),
        ("import os; print([p for p in ['/home', '../outside', '../home/.ssh', '../home/notes'] if os.path.exists(p)])".to_owned(), "['../home/notes']"),
        ("import os; open('/dev/shm/x', 'w'); print(os.path.exists(os.environ['TMPDIR'] + '/x'))".to_owned(), "True"),
        ("import os; print(os.getcwd() == os.path.realpath('.'), os.listdir('.'))".to_owned(), "True ['own']"),
        ("print(open('../shared/readable').read(), open('../home/notes/a').read())".to_owned(), "content content"),
        ("import os; open('own', 'a').write('!'); os.rename('own', 'new'); print(open('new').read())".to_owned(), "content!"),
        ("import os, signal; [os.kill(1, it) for it in (signal.SIGTERM, signal.SIGKILL)]; print('there')".to_owned(), "there"),
        ("import subprocess; print(subprocess.check_output('echo hi | cat', shell=True).decode())".to_owned(), "hi"),
        (format!("import urllib.request as r; print(r.urlopen('http://127.0.0.1:{http}/').read())"), "b'hello'"),
    ] {
        let (stdout, stderr) = python_in(&place, &script, browser(place.allowed())).await;
        assert_eq!(stdout.trim(), expected, "{script}\n{stderr}");
    }
}

// SB-1: a program with processes of its own ends like any other.
#[tokio::test]
async fn a_browser_ends_like_any_program() {
    if !can_have_browsers() {
        return;
    }
    let place = TestHost::new().await;
    let deps = deps(&place.path("home"), &[]);
    let config = on(browser(place.allowed()));
    let end = async |command: &str, script: &str| {
        let args = ["-c".to_owned(), script.to_owned()];
        let finished = run(command, &args, &place.path("work"), &config, &deps).await;
        (finished.output.status.code(), finished.stderr())
    };
    assert_eq!(end("sh", "exit 7").await.0, Some(7));
    assert_eq!(end("sh", "kill -9 $$").await.0, Some(128 + 9));
    // It does not wait for what the program leaves behind.
    assert_eq!(end("sh", "sleep 600 & exit 0").await.0, Some(0));
    let not_there = "cannot start 'no-such-program': No such file or directory\n";
    assert_eq!(end("no-such-program", "").await, (Some(127), not_there.to_owned()));
}

// SB-1: where the system does not let it have processes of its own.
#[tokio::test]
async fn a_browser_without_processes_of_its_own_is_not_started() {
    let forbid = "echo 0 > /proc/sys/user/max_pid_namespaces && exec \"$@\"";
    let before = ["unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh"];
    let can_forbid = Command::new(before[0]).args(&before[1..]).arg("true").status();
    if !can_have_browsers() || !can_forbid.is_ok_and(|status| status.success()) {
        return;
    }
    let place = TestHost::new().await;
    let mut deps = deps(&place.path("home"), &[]);
    let entry = std::mem::take(&mut deps.entry);
    deps.entry = before.into_iter().map(Into::into).chain(entry).collect();
    let problem = deps.browser_problem().unwrap();
    assert!(problem.contains("namespaces are not allowed here"), "{problem}");
    let script = "import socket\nprint('runs')\nsocket.socket(socket.AF_UNIX)";
    let args = ["-c".to_owned(), script.to_owned()];
    let config = on(browser(place.allowed()));
    let finished = run(python(), &args, &place.path("work"), &config, &deps).await;
    assert_eq!(finished.output.status.code(), Some(127), "{}", finished.stderr());
    assert!(
        finished.stderr().contains("which a browser needs: user namespaces"),
        "{}",
        finished.stderr()
    );
    // What is left is still confined: a Unix socket could be anybody's.
    let config = SandboxConfig { mode: SandboxMode::Try, ..config };
    let finished = run(python(), &args, &place.path("work"), &config, &deps).await;
    assert_eq!(finished.stdout(), "runs\n", "{}", finished.stderr());
    assert!(finished.stderr().contains("PermissionError"), "{}", finished.stderr());
}

// SB-1
#[tokio::test]
async fn a_refusal_names_what_was_refused() {
    if !can_confine() {
        return;
    }
    let place = TestHost::new().await;
    let deps = deps(&place.path("home"), &[]);
    let secret = place.path("outside/secret");
    let script = format!("open({secret:?})");
    let args = ["-c".to_owned(), script];
    let config = on(SandboxAllow::default());
    let finished = run(python(), &args, Path::new("/"), &config, &deps).await;
    let hint = finished.sandbox.hint(0, &finished.stderr()).unwrap();
    assert!(hint.contains(&format!("sandbox_allow.read += {secret:?}")), "{hint}");
}

// SB-1
#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    if !can_confine() {
        return;
    }
    let place = TestHost::new().await;
    let deps = deps(&place.path("home"), &[]);
    let config = on(SandboxAllow::default());
    let finished = run("no-such-program", &[], Path::new("/"), &config, &deps).await;
    assert_eq!(finished.output.status.code(), Some(127));
    let expected = "cannot start 'no-such-program': No such file or directory\n";
    assert_eq!(finished.stderr(), expected);
}

// SB-1
#[tokio::test]
async fn a_program_elsewhere_runs_if_it_is_named() {
    if !can_confine() {
        return;
    }
    let place = TestHost::new().await;
    let program = place.path("outside/program");
    let script = format!("import subprocess; print(subprocess.run([{program:?}]).returncode)");
    let allow = SandboxAllow { run: texts([&program]), ..SandboxAllow::default() };
    let (stdout, stderr) = python_in(&place, &script, allow).await;
    assert_eq!(stdout.trim(), "0", "{stderr}");
}

// SB-1
#[tokio::test]
async fn try_starts_what_on_refuses() {
    if !can_confine() {
        return;
    }
    let place = TestHost::new().await;
    let deps = deps(&place.path("home"), &[]);
    let connect = vec![format!("unix:{}", place.path("outside/unix").display())];
    let allow = SandboxAllow { connect, ..SandboxAllow::default() };
    let env = std::collections::BTreeMap::new();
    let program = SandboxedProgram { owner: "x", command: "true", args: &[], env: &env, cwd: None };
    let open = |mode| {
        let config = SandboxConfig { mode, ..on(allow.clone()) };
        Sandbox::open(&program, &config, &deps).map(|open| open.is_some())
    };
    assert_eq!(open(SandboxMode::Try), Ok(true));
    assert_eq!(open(SandboxMode::Off), Ok(false));
    if switchboard_sandbox::SandboxSupport::current().landlock_abi < 9 {
        let refused = open(SandboxMode::On).unwrap_err();
        assert!(refused.contains("Unix sockets cannot be told apart"), "{refused}");
    }
}

// SB-1: `run` opens what may be written too.
#[tokio::test]
async fn what_is_written_runs_where_run_says_so() {
    if !can_confine() {
        return;
    }
    let place = TestHost::new().await;
    std::fs::create_dir(place.path("work/bin")).unwrap();
    let script = "import os, shutil, subprocess, sys, tempfile\n\
                  for folder in ['.', 'bin', tempfile.gettempdir()]:\n  \
                  path = os.path.join(folder, 'true')\n  shutil.copyfile('/bin/true', path)\n  os.chmod(path, 0o755)\n  \
                  try:\n    print(subprocess.run([os.path.abspath(path)]).returncode)\n  \
                  except PermissionError:\n    print('refused')";
    let bin = place.path("work/bin").display().to_string();
    for (run, expected) in [
        (vec![], "refused refused refused"),
        (vec![bin], "refused 0 refused"),
        (vec!["$TMPDIR".to_owned()], "refused refused 0"),
    ] {
        let allow = SandboxAllow { run, ..place.allowed() };
        let (stdout, stderr) = python_in(&place, script, allow).await;
        assert_eq!(stdout.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{stderr}");
    }
}

// SB-1: whoever looks for settings in a home finds an empty one.
#[tokio::test]
async fn a_home_may_be_temporary() {
    if !can_confine() {
        return;
    }
    let place = TestHost::new().await;
    let script = "import os; home = os.path.expanduser('~'); open(home + '/.x', 'w').write('x'); \
                  print(home.startswith(os.environ['TMPDIR']), os.listdir(home), os.environ['XDG_CONFIG_HOME'].startswith(home))";
    let allow = SandboxAllow { home: SandboxHome::Temporary, ..SandboxAllow::default() };
    for _ in 0..2 {
        let (stdout, stderr) = python_in(&place, script, allow.clone()).await;
        assert_eq!(stdout.trim(), "True ['.x'] True", "{stderr}");
    }
}
