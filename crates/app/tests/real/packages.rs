//! What is published, installed into a clean root and used: from nothing to a listed tool.
//!
//! The packages are made of the program that the tests were built with, by the code that makes the published ones; `cargo xtask
//! dist --check` brings its own instead. All in one test, for making them takes longer than using them.
//!
//! The tests' program has a microphone (the feature `cpal`) and so needs ALSA's library, which the clean root has; published ones do not.

mod debian;
mod image;
mod registries;
mod sandbox;
#[cfg(target_os = "linux")]
mod units;

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Packages that were made.
struct Dist {
    folder: PathBuf,
    /// Holds the folder if it was made here; unset if they are those that will be published.
    made: Option<TempDir>,
}

/// How long it may take from nothing to a listed tool.
const LIMIT: Duration = Duration::from_secs(10);

/// Measures the time from nothing to a listed tool.
struct Clock {
    began: Instant,
    /// Unset if the machine may be as slow as it likes, as those that run all tests are.
    limit: Option<Duration>,
}

/// The architectures, as Debian, the kernel and Node.js call them.
const ARCHITECTURES: [[&str; 3]; 2] = [["amd64", "x86_64", "x64"], ["arm64", "aarch64", "arm64"]];

#[test]
fn every_package_installs_into_a_clean_root_and_lists_its_tools() {
    let dist = Dist::find_or_make();
    dist.check_sums();
    dist.check_bill_of_materials();
    let mut found = 0;
    for names in ARCHITECTURES {
        let [debian, kernel, node] = names;
        let Some(archive) = dist.find(&format!("-{kernel}-linux.tar.gz")) else { continue };
        found += 1;
        let unpacked = tempfile::tempdir().unwrap();
        eprintln!("{kernel}: the program alone");
        let clock = dist.clock();
        succeed(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(unpacked.path()));
        let program = only_entry(unpacked.path()).join("switchboard");
        use_it(
            &|| {
                let mut command = match kernel == env::consts::ARCH {
                    true => Command::new(&program),
                    false => {
                        let mut emulator = Command::new(format!("qemu-{kernel}-static"));
                        emulator.arg(&program);
                        emulator
                    }
                };
                command.env_clear().env("HOME", unpacked.path()).env("PATH", "/usr/bin:/bin");
                command
            },
            // Emulated programs are slow.
            if kernel == env::consts::ARCH { clock } else { Clock { limit: None, ..clock } },
        );
        let program = fs::read(program).unwrap();
        // What is published runs on every distribution.
        assert!(dist.made.is_some() || is_static(&program), "{kernel}: it needs a C library");
        if kernel == env::consts::ARCH {
            debian::check(&dist, &dist.only(&format!("_{debian}.deb")), is_static(&program));
            registries::check_wheel(&dist, &dist.only(&format!("{kernel}.whl")));
            registries::check_npm(&dist, &dist.only(".tgz"), node);
            image::check(&dist, &dist.only("-oci.tar"), debian, is_static(&program));
        } else {
            // What runs elsewhere has the same program inside.
            eprintln!("{kernel}: every package has the program that ran");
            let inside = [
                debian::program_in(&dist.only(&format!("_{debian}.deb"))),
                registries::program_in_wheel(&dist.only(&format!("{kernel}.whl"))),
                registries::program_in_npm(&dist.only(".tgz"), node),
                image::program_in(&dist.only("-oci.tar"), debian),
            ];
            assert!(inside.iter().all(|other| *other == program), "{kernel}");
        }
    }
    let expected = if dist.made.is_some() { 1 } else { ARCHITECTURES.len() };
    assert_eq!(found, expected, "architectures in {}", dist.folder.display());
}

impl Dist {
    fn find_or_make() -> Self {
        if let Some(folder) = env::var_os("SWITCHBOARD_DIST") {
            return Self { folder: folder.into(), made: None };
        }
        let made = tempfile::tempdir().unwrap();
        // Without what only debuggers read, as it is published.
        let program = made.path().join("switchboard");
        let strip = ["--strip-debug", env!("CARGO_BIN_EXE_switchboard"), "-o"];
        succeed(Command::new("strip").args(strip).arg(&program));
        let folder = made.path().join("dist");
        let mut xtask = Command::new(env!("CARGO"));
        xtask
            .args(["run", "--quiet", "--package", "xtask", "--", "dist", "--binary"])
            .arg(&program);
        succeed(xtask.arg("--output").arg(&folder).current_dir(repository()));
        Self { folder, made: Some(made) }
    }

    /// The file whose name ends so.
    fn find(&self, end: &str) -> Option<PathBuf> {
        let files = fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
        let mut found = files.filter(|file| file.to_string_lossy().ends_with(end));
        let first = found.next();
        assert!(found.next().is_none(), "several files end in {end}");
        first
    }

    fn only(&self, end: &str) -> PathBuf {
        self.find(end).unwrap_or_else(|| panic!("no {end} in {}", self.folder.display()))
    }

    /// Starts now, when there is nothing.
    fn clock(&self) -> Clock {
        Clock { began: Instant::now(), limit: self.made.is_none().then_some(LIMIT) }
    }

    fn check_sums(&self) {
        let mut sums = Command::new("sha256sum");
        let said = succeed(sums.args(["--check", "SHA256SUMS"]).current_dir(&self.folder));
        let files = fs::read_dir(&self.folder).unwrap().count();
        assert_eq!(said.lines().count(), files - 1, "{said}");
    }

    /// Whether it names all that it refers to, and names crates by what the lock file says.
    fn check_bill_of_materials(&self) {
        let bill: Value =
            serde_json::from_slice(&fs::read(self.only(".cdx.json")).unwrap()).unwrap();
        assert_eq!(
            (&bill["bomFormat"], &bill["specVersion"]),
            (&json!("CycloneDX"), &json!("1.6"))
        );
        let components = bill["components"].as_array().unwrap();
        let mut references: Vec<_> = components.iter().map(|one| &one["bom-ref"]).collect();
        references.push(&bill["metadata"]["component"]["bom-ref"]);
        for one in bill["dependencies"].as_array().unwrap() {
            assert!(references.contains(&&one["ref"]), "{one}");
            for used in one["dependsOn"].as_array().unwrap() {
                assert!(references.contains(&used), "{used} of {one}");
            }
        }
        let lock = fs::read_to_string(repository().join("Cargo.lock")).unwrap();
        let named = |name: &str| components.iter().find(|one| one["name"] == name).unwrap();
        let checksum = named("tokio")["hashes"][0]["content"].as_str().unwrap();
        assert!(lock.contains(&format!("checksum = \"{checksum}\"")));
        assert!(named("sqlite")["version"].as_str().unwrap().starts_with("3."));
        // A macro runs while the program is built, and is no part of it.
        assert!(components.iter().all(|one| one["name"] != "serde_derive"));
    }
}

impl Clock {
    fn stop(self) {
        let taken = self.began.elapsed();
        eprintln!("  from nothing to a listed tool: {:.1} s", taken.as_secs_f64());
        assert!(self.limit.is_none_or(|limit| taken < limit), "it took {taken:?}");
    }
}

/// Lists the tools, calls one, and serves them as an MCP server over stdio.
fn use_it(program: &dyn Fn() -> Command, clock: Clock) {
    let tools = succeed(program().arg("tools"));
    clock.stop();
    assert!(tools.lines().any(|line| line.starts_with("math_eval\t")), "{tools}");
    let version = succeed(program().arg("--version"));
    assert!(version.starts_with("switchboard "), "{version}");
    let answer = succeed(program().args(["call", "math_eval", "expression=2+2"]));
    assert!(answer.contains('4'), "{answer}");
    serve_stdio(program().args(["serve", "--stdio"]));
}

/// Speaks MCP with a server until it has listed its tools.
fn serve_stdio(command: &mut Command) {
    let mut server = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let messages = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let listed =
        messages.into_iter().find(|message| message["id"] == 2).expect("it lists its tools");
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "math_eval"), "{listed}");
    drop(input);
    assert!(server.wait().unwrap().success());
}

/// Runs a command that must succeed, and returns what it printed.
fn succeed(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| {
        panic!("failed to start {}: {error}", command.get_program().to_string_lossy())
    });
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (said(&output.stdout), said(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{stdout}\n{stderr}", output.status);
    stdout
}

fn only_entry(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let first = entries.next().unwrap();
    assert!(entries.next().is_none(), "{}", folder.display());
    first
}

/// Whether a program needs no C library: no segment names a loader.
fn is_static(program: &[u8]) -> bool {
    let loaders: [&[u8]; 2] = [b"/lib64/ld-linux-x86-64.so.2\0", b"/lib/ld-linux-aarch64.so.1\0"];
    let head = &program[..program.len().min(4096)];
    loaders.iter().all(|loader| !head.windows(loader.len()).any(|window| window == *loader))
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
