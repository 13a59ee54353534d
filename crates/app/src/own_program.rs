//! How other programs start this one: by its path, unless that is in the cache of `uvx` or `npx`.

use std::{env, path::Path};

/// The name of the packages of PyPI and npm.
const PACKAGE: &str = "switchboard-gateway";

/// The folders of uv's cache that hold environments, without the number at the end.
const UV_FOLDERS: [&str; 3] = ["archive-v", "environments-v", "builds-v"];

/// A program that starts packages from its cache. Paths in there do not last: cleaning the cache removes them, and an upgrade
/// makes others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackageRunner {
    Uvx,
    Npx,
}

impl PackageRunner {
    /// Returns the one whose cache holds this program.
    pub(crate) fn of(program: &Path) -> Option<Self> {
        let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
        // `~/.cache/uv/archive-v0/ID/bin/switchboard`, or wherever else the cache is.
        let folder = program.ancestors().nth(3).and_then(name).unwrap_or_default();
        let is_version =
            |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
        let is_uv =
            UV_FOLDERS.iter().any(|start| folder.strip_prefix(start).is_some_and(is_version));
        // `~/.npm/_npx/ID/node_modules/switchboard-gateway/bin/linux-x64/switchboard`.
        let is_npx = || {
            let is_modules = |path: &&Path| path.ends_with("node_modules");
            let modules = program.ancestors().find(is_modules);
            modules.and_then(|modules| name(modules.ancestors().nth(2)?)).as_deref() == Some("_npx")
        };
        match is_uv {
            true => Some(Self::Uvx),
            false => is_npx().then_some(Self::Npx),
        }
    }

    /// The command line that starts us, to which our own arguments are added.
    pub(crate) fn words(self) -> &'static [&'static str] {
        match self {
            Self::Uvx => &["uvx", PACKAGE],
            Self::Npx => &["npx", "-y", PACKAGE],
        }
    }

    /// The command that installs us outside of the cache.
    pub(crate) fn install_command(self) -> &'static str {
        match self {
            Self::Uvx => "uv tool install switchboard-gateway",
            Self::Npx => "npm install --global switchboard-gateway",
        }
    }
}

/// Returns the program that starts us, and the arguments that come before ours.
pub(crate) fn command() -> (String, Vec<String>) {
    let Ok(path) = env::current_exe() else { return ("switchboard".to_owned(), Vec::new()) };
    match PackageRunner::of(&path).map(PackageRunner::words) {
        Some([program, args @ ..]) => {
            ((*program).to_owned(), args.iter().map(|word| (*word).to_owned()).collect())
        }
        _ => (path.display().to_string(), Vec::new()),
    }
}

/// Returns whether an argument of `uvx` or `npx` names our package, perhaps with a version.
pub(crate) fn is_package(argument: &str) -> bool {
    let version = argument.strip_prefix(PACKAGE);
    version.is_some_and(|version| version.is_empty() || version.starts_with(['@', '=']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_in_caches_are_started_through_their_runners() {
        use PackageRunner::{Npx, Uvx};
        for (program, runner) in [
            ("/home/u/.cache/uv/archive-v0/Xy_1-z/bin/switchboard", Some(Uvx)),
            ("/srv/cache/environments-v2/ab12/bin/switchboard", Some(Uvx)),
            ("/srv/cache/builds-v0/.tmpX1/bin/switchboard", Some(Uvx)),
            (
                "/home/u/.npm/_npx/1f/node_modules/switchboard-gateway/bin/linux-x64/switchboard",
                Some(Npx),
            ),
            ("/home/u/.local/share/uv/tools/switchboard-gateway/bin/switchboard", None),
            ("/usr/lib/node_modules/switchboard-gateway/bin/linux-x64/switchboard", None),
            ("/home/u/archive-v1/switchboard", None),
            ("/home/u/archive-vault/x/bin/switchboard", None),
            ("/home/u/_npx/switchboard", None),
            ("/usr/bin/switchboard", None),
            ("switchboard", None),
        ] {
            assert_eq!(PackageRunner::of(Path::new(program)), runner, "{program}");
        }
    }

    #[test]
    fn our_package_is_recognised() {
        for (argument, is_ours) in [
            ("switchboard-gateway", true),
            ("switchboard-gateway@latest", true),
            ("switchboard-gateway==0.1.0", true),
            ("switchboard-gateway-tools", false),
            ("mcp-server-time", false),
        ] {
            assert_eq!(is_package(argument), is_ours, "{argument}");
        }
    }
}
