//! What no program may read in its sandbox, whatever its settings allow.
//!
//! A rule of Landlock holds for all that is below a path and cannot be taken back for a part of it. So where a secret lies
//! below a path that is allowed, the rule is given to the other entries of its folder instead: what is created there
//! later has no rule, and where the secret is a folder, the names around it cannot be listed.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::is_below;
use crate::policy::{FileAccess, FileRule};

/// Below the home folder.
pub(super) const IN_HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".kube",
    ".docker",
    ".oci",
    ".aliyun",
    ".fly",
    ".config/doctl",
    ".config/hcloud",
    ".boto",
    ".s3cfg",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".npmrc",
    ".pypirc",
    ".config/pip",
    ".config/pypoetry/auth.toml",
    ".config/configstore",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".pgpass",
    ".my.cnf",
    ".password-store",
    ".vault-token",
    ".terraform.d",
    ".databrickscfg",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/switchboard",
    ".local/state/switchboard",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".claude",
    ".claude.json",
    ".claude.json.backup",
    ".codex",
    ".gemini",
    ".config/Claude",
    ".config/github-copilot",
    ".local/share/opencode/auth.json",
    ".cursor/mcp.json",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".config/containers/auth.json",
    ".config/sops",
    ".Xauthority",
    ".ICEauthority",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/Bitwarden CLI",
    ".config/keepassxc",
    ".cache/keepassxc",
    ".keepass",
    ".lastpass",
    ".config/lpass",
    ".local/share/lpass",
    ".mozilla",
    ".config/mozilla",
    ".librewolf",
    ".waterfox",
    ".zen",
    ".thunderbird",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/google-chrome-unstable",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".config/qutebrowser",
    ".local/share/qutebrowser",
    ".config/epiphany",
    ".local/share/epiphany",
    "snap/firefox",
    "snap/chromium",
    ".var/app",
];

/// What other processes are and do, and devices: the few that programs need have rules of their own.
const ALWAYS: &[&str] = &[
    "/proc",
    "/dev/console",
    "/dev/kmem",
    "/dev/kmsg",
    "/dev/mem",
    "/dev/port",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/tty",
    "/sys/kernel/debug",
    "/sys/kernel/security",
    "/sys/kernel/tracing",
];

/// Of the system; a user who is not root cannot read most of them anyway.
const OF_SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/security/opasswd",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/pki/entitlement",
    "/etc/letsencrypt",
    "/etc/acme",
    "/etc/switchboard",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ppp",
    "/etc/ipsec.secrets",
    "/etc/ipsec.d",
    "/etc/swanctl",
    "/etc/wpa_supplicant",
    "/etc/netplan",
    "/etc/NetworkManager/system-connections",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/docker",
    "/etc/containers/auth.json",
    "/etc/krb5.keytab",
    "/etc/mysql/debian.cnf",
    "/etc/postfix/sasl_passwd",
    "/etc/exim4/passwd.client",
    "/etc/msmtprc",
    "/etc/apt/auth.conf",
    "/etc/apt/auth.conf.d",
    "/etc/samba",
    "/etc/cloudflared",
    "/etc/ceph",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/vault.d",
    "/etc/salt/pki",
    "/etc/puppetlabs/puppet/ssl",
];

/// Paths that are never readable.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecretPaths(Vec<PathBuf>);

impl SecretPaths {
    /// The usual ones, and `own`.
    pub(crate) fn new(home: Option<&Path>, own: &[PathBuf]) -> Self {
        let mut homes: Vec<PathBuf> = home.map(Path::to_owned).into_iter().collect();
        homes.push("/root".into());
        homes.extend(
            fs::read_dir("/home").into_iter().flatten().flatten().map(|entry| entry.path()),
        );
        let in_homes = homes.iter().flat_map(|home| of_home(home));
        // A file that is not there cannot be read; one that comes later is the system's, with its own permissions.
        let of_system = OF_SYSTEM.iter().map(PathBuf::from).filter(|path| is_readable(path));
        let always = ALWAYS.iter().map(PathBuf::from);
        let all = always.chain(of_system).chain(own.iter().cloned());
        // Both where it is said to be and where that leads.
        let all = all.flat_map(|path| [resolved(&path), Some(path)]).flatten();
        let mut paths: Vec<_> = all.chain(in_homes).collect();
        paths.sort();
        paths.dedup();
        Self(paths)
    }

    /// Whether the path is a secret, or below one.
    pub(crate) fn contain(&self, path: &Path) -> bool {
        self.0.iter().any(|secret| is_below(path, secret))
    }

    /// Adds rules for the path and what is below it, except for secrets.
    pub(crate) fn exclude_secrets(
        &self,
        path: &Path,
        access: FileAccess,
        rules: &mut Vec<FileRule>,
    ) {
        if self.contain(path) {
            return;
        }
        let below: Vec<_> = self.0.iter().filter(|secret| is_below(secret, path)).collect();
        if below.is_empty() {
            rules.push(FileRule { path: path.to_owned(), access });
            return;
        }
        if !below.iter().any(|secret| secret.is_dir()) {
            rules.push(FileRule { path: path.to_owned(), access: FileAccess::List });
        }
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            // What a link leads to has its own rule, if it is allowed.
            if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                self.exclude_secrets(&entry.path(), access, rules);
            }
        }
    }
}

/// The secrets of a home, both where they are said to be and where that leads. Most are not there, which one look tells.
fn of_home(home: &Path) -> Vec<PathBuf> {
    let real = resolved(home).unwrap_or_else(|| home.to_owned());
    let mut paths = Vec::new();
    for secret in IN_HOME {
        let path = home.join(secret);
        let first = Path::new(secret).components().next();
        let is_there = first.is_some_and(|first| home.join(first).symlink_metadata().is_ok());
        let leads_to = match is_there {
            true => resolved(&path),
            false => Some(real.join(secret)),
        };
        paths.extend(leads_to.into_iter().chain([path]));
    }
    paths
}

/// Where a path leads, as far as it exists.
fn resolved(path: &Path) -> Option<PathBuf> {
    match path.canonicalize() {
        Ok(path) => Some(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Some(resolved(path.parent()?)?.join(path.file_name()?))
        }
        Err(_) => None,
    }
}

fn is_readable(path: &Path) -> bool {
    match path.is_dir() {
        true => fs::read_dir(path).is_ok(),
        false => fs::File::open(path).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(allowed: &str, secrets: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for file in
            ["home/.ssh/id", "home/notes/a", "home/b", "work/config.toml", "work/c", "work/deep/d"]
        {
            let file = base.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let own: Vec<_> = secrets.iter().map(|path| base.join(path)).collect();
        let secrets = SecretPaths::new(Some(&base.join("home")), &own);
        let mut rules = Vec::new();
        secrets.exclude_secrets(&base.join(allowed), FileAccess::Read, &mut rules);
        rules.sort();
        let short = |rule: &FileRule| {
            let path = rule.path.strip_prefix(&base).unwrap().display().to_string();
            format!("{path} {:?}", rule.access)
        };
        rules.iter().map(short).collect()
    }

    // SB-1
    #[test]
    fn a_secret_is_never_below_a_rule() {
        assert_eq!(check("work", &[]), ["work Read"]);
        assert_eq!(check("home/.ssh", &[]), Vec::<String>::new());
        assert_eq!(check("home/.ssh/id", &[]), Vec::<String>::new());
        assert_eq!(check("home", &[]), ["home/b Read", "home/notes Read"]);
        let listed = ["work List", "work/c Read", "work/deep Read"];
        assert_eq!(check("work", &["work/config.toml"]), listed);
        assert_eq!(check("work", &["work/deep"]), ["work/c Read", "work/config.toml Read"]);
    }
}
