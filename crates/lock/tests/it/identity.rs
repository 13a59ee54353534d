//! Which program or address a server is (SPEC LK-1).

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use serde_json::json;
use switchboard_lock::{Identity, LaunchedProgram};
use tempfile::TempDir;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn identity(folder: &Path, command: &str, args: &[&str]) -> Identity {
    let args: Vec<_> = args.iter().map(|word| (*word).to_owned()).collect();
    Identity::of_program(&LaunchedProgram {
        command,
        args: &args,
        cwd: Some(folder),
        search: vec![folder.join("bin")],
        npm_cache: Some(folder.join("npm")),
        uv_cache: Some(folder.join("uv")),
    })
}

// LK-1
#[test]
fn an_npm_package_has_the_integrity_of_its_installation() {
    let locked = json!({"packages": {"node_modules/@org/files": {"version": "1.2.0", "integrity": "sha512-abc"}}}).to_string();
    let package = r#"{"version": "1.2.0"}"#;
    let folder = folder(&[
        ("npm/_npx/0a/node_modules/@org/files/package.json", package),
        ("npm/_npx/0a/node_modules/.package-lock.json", &locked),
        ("own/node_modules/@org/files/package.json", package),
        ("own/node_modules/@org/files/dist/index.js", ""),
        ("own/node_modules/.package-lock.json", &locked),
        ("bin/node", "node"),
    ]);
    let npx = identity(folder.path(), "npx", &["-y", "@org/files@1", "/data"]);
    assert_eq!(npx.package.as_deref(), Some("npm:@org/files@1.2.0"));
    assert_eq!(npx.integrity.as_deref(), Some("sha512-abc"));
    let flag = identity(folder.path(), "npx", &["--package", "@org/files", "files"]);
    assert_eq!(flag, npx);
    let node = identity(folder.path(), "node", &["own/node_modules/@org/files/dist/index.js"]);
    assert_eq!(node, npx);
    // What is not installed has no integrity.
    let other = identity(folder.path(), "npx", &["-y", "other@2"]);
    assert_eq!((other.package.as_deref(), other.integrity), (Some("npm:other@2"), None));
}

// LK-1
#[test]
fn a_python_package_has_the_hash_of_its_record() {
    let record = "mcp_time/server.py,sha256=abc,100\nmcp_time-1.4.dist-info/INSTALLER,sha256=x,2\n../../../bin/mcp-time,sha256=y,3\n";
    let site = "venv/lib/python3.13/site-packages/mcp_time-1.4.dist-info/RECORD";
    let cached = "uv/archive-v0/q/mcp_time-1.4.dist-info/RECORD";
    let places = folder(&[
        (site, record),
        (cached, &record.replace("sha256=x", "sha256=z")),
        ("venv/bin/mcp-time", "#!python"),
        ("venv/bin/python3", ""),
    ]);
    let uvx = identity(places.path(), "uvx", &["--from", "mcp-time==1.4", "serve"]);
    assert_eq!(uvx.package.as_deref(), Some("pypi:mcp-time@1.4"));
    assert!(uvx.integrity.as_deref().unwrap().starts_with("sha256:"), "{uvx:?}");
    // Installed elsewhere, it is the same package.
    assert_eq!(identity(places.path(), "venv/bin/mcp-time", &[]), uvx);
    assert_eq!(identity(places.path(), "venv/bin/python3", &["-m", "mcp_time.server"]), uvx);
    assert_eq!(identity(places.path(), "uv", &["tool", "run", "mcp_time"]), uvx);
    let changed = folder(&[(cached, &record.replace("sha256=abc", "sha256=abd"))]);
    let other = identity(changed.path(), "uvx", &["mcp-time"]);
    assert_eq!(other.package, uvx.package);
    assert_ne!(other.integrity, uvx.integrity);
}

// LK-1: a cache keeps what was used before and after.
#[test]
fn a_pinned_version_is_the_one_in_the_cache_that_runs() {
    let package = |version: &str| format!("{{\"version\": \"{version}\"}}");
    let (old, new) = (package("1.2.0"), package("1.3.0"));
    let places = folder(&[
        ("npm/_npx/0a/node_modules/@org/files/package.json", &old),
        ("npm/_npx/0a/node_modules/.package-lock.json", "{}"),
        ("npm/_npx/0b/node_modules/@org/files/package.json", &new),
        ("npm/_npx/0b/node_modules/.package-lock.json", "{}"),
        ("uv/archive-v0/a/mcp_time-1.4.0.dist-info/RECORD", "one.py,sha256=a,1"),
        ("uv/archive-v0/b/mcp_time-1.5.dist-info/RECORD", "one.py,sha256=b,1"),
    ]);
    for older in
        ["npm/_npx/0a/node_modules/.package-lock.json", "uv/archive-v0/a/mcp_time-1.4.0.dist-info"]
    {
        let earlier = SystemTime::now() - Duration::from_secs(3600);
        fs::File::open(places.path().join(older)).unwrap().set_modified(earlier).unwrap();
    }
    for (command, wanted, expected) in [
        ("npx", "@org/files@1.2.0", "npm:@org/files@1.2.0"),
        ("npx", "@org/files@1.3.0", "npm:@org/files@1.3.0"),
        ("npx", "@org/files@^1.2.0", "npm:@org/files@1.3.0"),
        ("npx", "@org/files@latest", "npm:@org/files@1.3.0"),
        ("npx", "@org/files", "npm:@org/files@1.3.0"),
        // One that is not there has no integrity.
        ("npx", "@org/files@1.2.9", "npm:@org/files@1.2.9"),
        ("uvx", "mcp-time==1.4", "pypi:mcp-time@1.4.0"),
        ("uvx", "mcp-time@1.4.0", "pypi:mcp-time@1.4.0"),
        ("uvx", "mcp-time[cli]==1.5", "pypi:mcp-time@1.5"),
        ("uvx", "mcp-time>=1.4", "pypi:mcp-time@1.5"),
        ("uvx", "mcp-time@latest", "pypi:mcp-time@1.5"),
        ("uvx", "mcp-time==1.6", "pypi:mcp-time==1.6"),
    ] {
        let found = identity(places.path(), command, &[wanted]);
        assert_eq!(found.package.as_deref(), Some(expected), "{command} {wanted}");
    }
}

// LK-1
#[test]
fn a_program_or_script_has_a_hash() {
    let folder =
        folder(&[("bin/serve", "one"), ("bin/python3.13", "python"), ("server.py", "two")]);
    let program = identity(folder.path(), "serve", &[]);
    let hash = "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";
    assert_eq!(program.program.as_deref(), Some(hash));
    let script = identity(folder.path(), "python3.13", &["-u", "server.py"]);
    assert_eq!(script.program, None, "what python is says nothing about the server");
    assert!(script.script.is_some());
    fs::write(folder.path().join("server.py"), "three").unwrap();
    let now = identity(folder.path(), "python3.13", &["-u", "server.py"]);
    let differs = now.differences(&script);
    assert!(differs.len() == 1 && differs[0].starts_with("script: [-sha256:"), "{differs:?}");
    assert_eq!(identity(folder.path(), "not-there", &[]), Identity::default());
}

// LK-1
#[test]
fn containers_and_addresses_are_told() {
    let here = Path::new("/");
    let args = [
        "run",
        "--rm",
        "-i",
        "-e",
        "TOKEN",
        "--mount",
        "type=bind,src=/a,dst=/b",
        "ghcr.io/org/server@sha256:ab",
        "stdio",
    ];
    let image = identity(here, "docker", &args).image;
    assert_eq!(image.as_deref(), Some("ghcr.io/org/server@sha256:ab"));
    // The values of flags are no images.
    for flags in [
        "-h name --entrypoint sh -l a=b --platform linux/amd64",
        "-it -m 1g --cpus 2 --pull always --read-only --init",
        "-itv /a:/b -eA --env=B --rm -P --cap-drop ALL --security-opt x",
    ] {
        let words = format!("--context far run {flags} org/server:1 -h");
        let words: Vec<_> = words.split(' ').collect();
        let image = identity(here, "docker", &words).image;
        assert_eq!(image.as_deref(), Some("org/server:1"), "{flags}");
    }
    let url = Identity::of_url("https://ada:secret@mcp.example.com/mcp?key=secret#top").url;
    assert_eq!(url.as_deref(), Some("https://mcp.example.com/mcp"));
    assert_eq!(Identity::of_url("nonsense").url, None);
}
