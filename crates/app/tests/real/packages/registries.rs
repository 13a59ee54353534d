//! The packages of Python and Node.js, installed without any registry.

use std::{fs, path::Path, process::Command};

use switchboard_testkit::parts::part;

use super::{Dist, succeed, use_it};

/// A command that finds only what is under `folder` and what the system has.
fn at_home(program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    // Node.js and Python may be anywhere.
    let path = std::env::var("PATH").unwrap();
    command.env_clear().env("HOME", folder).env("PATH", path).current_dir(folder);
    command
}

pub(crate) fn check_wheel(dist: &Dist, wheel: &Path) {
    eprintln!("the package of Python");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeed(at_home("python3", folder).args(["-m", "venv", "venv"]));
    let install = ["-m", "pip", "--disable-pip-version-check", "install", "--no-index"];
    succeed(at_home(folder.join("venv/bin/python"), folder).args(install).arg(wheel));
    use_it(&|| at_home(folder.join("venv/bin/switchboard"), folder));
    // pip checks the list of files when it removes them.
    let remove = ["-m", "pip", "uninstall", "--yes", "switchboard-gateway"];
    succeed(at_home(folder.join("venv/bin/python"), folder).args(remove));
    assert!(!folder.join("venv/bin/switchboard").exists());

    eprintln!("uvx switchboard-gateway");
    use_it(&|| {
        let mut command = at_home(part("uv/venv/bin/uvx"), folder);
        command.args(["--offline", "--no-index", "--quiet", "--find-links"]).arg(&dist.folder);
        command.arg("switchboard-gateway");
        command
    });
}

pub(crate) fn check_npm(package: &Path, node: &str) {
    eprintln!("the package of npm");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let install =
        ["install", "--global", "--offline", "--no-audit", "--no-fund", "--prefix", "prefix"];
    succeed(at_home("npm", folder).args(install).arg(package));
    use_it(&|| at_home(folder.join("prefix/bin/switchboard"), folder));
    let program = folder.join("prefix/lib/node_modules/switchboard-gateway/bin");
    fs::remove_dir_all(program.join(format!("linux-{node}"))).unwrap();
    let missing = at_home(folder.join("prefix/bin/switchboard"), folder).output().unwrap();
    let said = String::from_utf8_lossy(&missing.stderr);
    assert!(said.starts_with("error: this package has no switchboard for Linux on"), "{said}");
    assert_eq!(missing.status.code(), Some(1));

    eprintln!("npx switchboard-gateway");
    use_it(&|| {
        let mut command = at_home("npx", folder);
        command.args(["--offline", "--yes", &format!("file:{}", package.display())]);
        command
    });
}

/// The program in the package.
pub(crate) fn program_in_wheel(wheel: &Path) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let unpack = ["-m", "zipfile", "-e"];
    succeed(Command::new("python3").args(unpack).arg(wheel).arg(folder.path()));
    let version = env!("CARGO_PKG_VERSION");
    let scripts = format!("switchboard_gateway-{version}.data/scripts");
    fs::read(folder.path().join(scripts).join("switchboard")).unwrap()
}

/// The program in the package.
pub(crate) fn program_in_npm(package: &Path, node: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    succeed(Command::new("tar").arg("-xzf").arg(package).arg("-C").arg(folder.path()));
    fs::read(folder.path().join(format!("package/bin/linux-{node}/switchboard"))).unwrap()
}
