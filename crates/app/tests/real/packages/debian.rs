//! The package for Debian, in a Debian that has nothing but dpkg.

use std::{fs, path::Path, process::Command};

use super::{Dist, sandbox, succeed, use_it};

pub(crate) fn check(dist: &Dist, package: &Path, is_static: bool) {
    eprintln!("the package for Debian");
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    sandbox::unpack_debian(root);
    fs::copy(package, root.join("package.deb")).unwrap();
    let clock = dist.clock();
    succeed(sandbox::as_root(root).args(["dpkg", "--install", "/package.deb"]));
    use_it(
        &|| {
            let mut command = sandbox::as_root(root);
            command.arg("switchboard");
            command
        },
        clock,
    );
    // The config of the services can be read as it is, and a program that needs no library depends on none.
    succeed(sandbox::as_root(root).args([
        "switchboard",
        "tools",
        "--config",
        "/etc/switchboard/switchboard.toml",
    ]));
    let depends = succeed(sandbox::as_root(root).args([
        "dpkg-query",
        "-W",
        "-f",
        "${Depends}",
        "switchboard-gateway",
    ]));
    assert_eq!(depends, if is_static { "" } else { "libc6" });
    for file in [
        "usr/lib/systemd/system/switchboard.service",
        "usr/lib/systemd/system/switchboard-worker.service",
        "usr/lib/sysusers.d/switchboard.conf",
        "usr/share/bash-completion/completions/switchboard",
        "usr/share/zsh/vendor-completions/_switchboard",
        "usr/share/fish/vendor_completions.d/switchboard.fish",
    ] {
        assert!(root.join(file).is_file(), "{file}");
    }
    check_user(root);
    let page = Command::new("gzip")
        .arg("-dc")
        .arg(root.join("usr/share/man/man1/switchboard.1.gz"))
        .output();
    assert!(String::from_utf8_lossy(&page.unwrap().stdout).contains(".TH switchboard 1"));
    let licences =
        fs::read_to_string(root.join("usr/share/doc/switchboard-gateway/THIRD-PARTY-LICENSES.txt"))
            .unwrap();
    assert!(licences.contains("\ntokio 1.") && licences.contains("Permission is hereby granted"));

    // The same again is an upgrade; what people changed stays, and records stay until they are purged.
    let (config, state) =
        (root.join("etc/switchboard/switchboard.toml"), root.join("var/lib/switchboard"));
    fs::write(&config, "# mine\n").unwrap();
    fs::create_dir_all(state.join("journal")).unwrap();
    succeed(sandbox::as_root(root).args(["dpkg", "--install", "/package.deb"]));
    assert_eq!(fs::read_to_string(&config).unwrap(), "# mine\n");
    succeed(sandbox::as_root(root).args(["dpkg", "--remove", "switchboard-gateway"]));
    assert!(!root.join("usr/bin/switchboard").exists() && config.exists() && state.exists());
    succeed(sandbox::as_root(root).args(["dpkg", "--purge", "switchboard-gateway"]));
    assert!(!config.exists() && !state.exists());
}

/// The user of the services, as the machine's systemd creates it: the clean root has none, so that nothing was created yet.
fn check_user(root: &Path) {
    let users = || fs::read_to_string(root.join("etc/passwd")).unwrap();
    assert!(!users().contains("switchboard:"));
    if Command::new("systemd-sysusers").arg("--version").output().is_err() {
        eprintln!("  this machine has no systemd-sysusers, so no user is created");
        return;
    }
    let mut sysusers = Command::new("/usr/bin/unshare");
    sysusers.args(["--user", "--map-root-user", "systemd-sysusers", "switchboard.conf"]);
    succeed(sysusers.arg("--root").arg(root));
    let users = users();
    let user = users.lines().find(|line| line.starts_with("switchboard:")).expect("the user");
    assert!(user.ends_with(":Switchboard:/var/lib/switchboard:/usr/sbin/nologin"), "{user}");
    let units = ["switchboard.service", "switchboard-worker.service"];
    for unit in units.map(|unit| root.join("usr/lib/systemd/system").join(unit)) {
        assert!(fs::read_to_string(unit).unwrap().contains("\nUser=switchboard\n"));
    }
}

/// The program in the package.
pub(crate) fn program_in(package: &Path) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    succeed(Command::new("dpkg-deb").arg("--extract").arg(package).arg(folder.path()));
    fs::read(folder.path().join("usr/bin/switchboard")).unwrap()
}
