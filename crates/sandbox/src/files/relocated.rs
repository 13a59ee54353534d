//! Where secrets of a user are if variables have moved them out of their usual place.

use std::{env, path::PathBuf};

use super::secrets::IN_HOME;

/// Variables that name a folder, and which folder of the home that takes the place of.
const FOLDERS: &[(&str, &str)] = &[
    ("XDG_CONFIG_HOME", ".config/"),
    ("XDG_DATA_HOME", ".local/share/"),
    ("XDG_STATE_HOME", ".local/state/"),
    ("XDG_CACHE_HOME", ".cache/"),
    ("CARGO_HOME", ".cargo/"),
    ("GRADLE_USER_HOME", ".gradle/"),
];

/// Variables that name a file or folder with secrets, or a list of them.
const NAMED: &[&str] = &[
    "GNUPGHOME",
    "KUBECONFIG",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "AZURE_CONFIG_DIR",
    "CLOUDSDK_CONFIG",
    "BOTO_CONFIG",
    "DOCKER_CONFIG",
    "GH_CONFIG_DIR",
    "NETRC",
    "NPM_CONFIG_USERCONFIG",
    "npm_config_userconfig",
    "PIP_CONFIG_FILE",
    "PGPASSFILE",
    "PASSWORD_STORE_DIR",
    "XAUTHORITY",
    "ICEAUTHORITY",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
];

/// Returns the paths that no program may read because variables say that the user's secrets are there, for
/// [`SandboxDeps::secrets`](crate::SandboxDeps::secrets); `variable` returns what a variable has, if it is set.
pub fn relocated_secrets(variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let in_folders = FOLDERS.iter().flat_map(|(name, usual)| {
        let folder = variable(name);
        let entries = IN_HOME.iter().filter_map(move |secret| secret.strip_prefix(usual));
        entries.filter_map(move |entry| Some(folder.as_ref()?.join(entry)))
    });
    let lists = NAMED.iter().filter_map(|name| variable(name));
    let named = lists.flat_map(|list| env::split_paths(&list).collect::<Vec<_>>());
    // `/dev/null` stands for no file, and programs need it.
    let is_place = |path: &PathBuf| path.is_absolute() && !path.starts_with("/dev");
    in_folders.chain(named).filter(is_place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, value: &str) -> Vec<String> {
        let found = relocated_secrets(|asked| (asked == name).then(|| value.into()));
        found.iter().map(|path| path.display().to_string()).collect()
    }

    // SB-1
    #[test]
    fn secrets_are_where_variables_say() {
        assert_eq!(check("GNUPGHOME", "/keys"), ["/keys"]);
        assert_eq!(check("KUBECONFIG", "/a/one:/b/two"), ["/a/one", "/b/two"]);
        assert_eq!(check("AWS_SHARED_CREDENTIALS_FILE", "/dev/null"), Vec::<String>::new());
        assert_eq!(check("CLOUDSDK_CONFIG", "relative"), Vec::<String>::new());
        assert_eq!(check("CARGO_HOME", "/c"), ["/c/credentials", "/c/credentials.toml"]);
        let config = check("XDG_CONFIG_HOME", "/moved");
        for name in ["gcloud", "git/credentials", "google-chrome", "switchboard"] {
            assert!(config.contains(&format!("/moved/{name}")), "{config:?}");
        }
        assert!(check("XDG_DATA_HOME", "/data").contains(&"/data/keyrings".to_owned()));
    }
}
