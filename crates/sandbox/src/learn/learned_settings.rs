//! Turns what a traced program did into settings that a person can check.

mod browser;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::{StraceRun, trace::TraceEvent};
use crate::{config::SandboxAllow, policy::FileAccess};

/// If a program reads this many entries of a folder, the settings allow the whole folder.
const MANY: usize = 4;

/// Folders below the home folder that are allowed as a whole: the caches of package managers and test browsers.
const CACHES: &[&str] = &[
    ".npm",
    ".cache/uv",
    ".local/share/uv",
    ".cache/pip",
    ".cache/node",
    ".cache/node-gyp",
    ".cache/deno",
    ".bun",
    ".cache/ms-playwright",
    ".cache/puppeteer",
    ".cache/pypoetry",
    ".local/share/pnpm",
    ".cache/pnpm",
    ".nvm",
    ".pyenv",
];

/// Parts of paths of files that are dangerous to change, and why.
const DANGEROUS_WRITES: &[(&str, &str)] = &[
    ("/.git/hooks", "git runs what is there"),
    ("/.bashrc", "shells run it"),
    ("/.zshrc", "shells run it"),
    ("/.profile", "shells run it"),
    ("/.config/autostart", "it is run at each login"),
    ("/.config/systemd", "it is run as a service"),
    ("/.local/bin", "programs there are run by name"),
    ("/cron", "it is run by the clock"),
];

/// Parts of paths of Unix sockets that give more rights than one service, and why.
const DANGEROUS_SOCKETS: &[(&str, &str)] = &[
    ("docker.sock", "it gives the rights of root"),
    ("podman.sock", "it starts programs outside of the sandbox"),
    ("ssh", "it may be an agent that signs with the user's keys"),
    ("/bus", "it starts programs outside of the sandbox"),
];

/// What a program needs, as settings, with what a person should know about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LearnedProfile {
    /// The settings.
    pub allow: SandboxAllow,
    /// How many processes and threads it needs, if that is more than programs have by default.
    pub processes: Option<u64>,
    /// What is wider than what was seen, and why.
    pub guessed: Vec<String>,
    /// What could do harm.
    pub dangerous: Vec<String>,
    /// What it did that no sandbox allows.
    pub never: Vec<String>,
}

impl LearnedProfile {
    /// Writes it as a part of a config. Paths may be named by whoever made them, so that none ends its line.
    pub fn to_toml(&self, owner: ProfileOwner<'_>) -> String {
        let notes = [
            ("guessed", &self.guessed),
            ("dangerous", &self.dangerous),
            ("never allowed", &self.never),
        ];
        let notes = notes.into_iter().flat_map(|(kind, notes)| {
            notes.iter().map(move |note| format!("# {kind}: {}\n", visible(note)))
        });
        let in_brackets = |texts: &[String]| match texts.is_empty() {
            true => String::new(),
            false => format!("[{}]", texts.join(", ")),
        };
        let list = |texts: &[String]| {
            in_brackets(&texts.iter().map(|text| quoted(text)).collect::<Vec<_>>())
        };
        let home = if self.allow.home.is_users() { "" } else { "\"temporary\"" };
        let ports: Vec<_> = self.allow.connect_direct.iter().map(ToString::to_string).collect();
        let presets: Vec<_> =
            self.allow.preset.iter().map(|preset| preset.name().to_owned()).collect();
        let keys = [
            ("read", list(&self.allow.read)),
            ("write", list(&self.allow.write)),
            ("connect", list(&self.allow.connect)),
            ("connect_direct", in_brackets(&ports)),
            ("run", list(&self.allow.run)),
            ("preset", list(&presets)),
            ("home", home.to_owned()),
        ];
        let keys = keys.iter().filter(|(_, values)| !values.is_empty());
        let keys: Vec<_> = keys.map(|(key, values)| format!("{key} = {values}")).collect();
        let allow =
            if keys.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", keys.join(", ")) };
        let notes: String = notes.collect();
        let section = match owner {
            ProfileOwner::Server(name) if is_bare_key(name) => format!("[servers.{name}]"),
            ProfileOwner::Server(name) => format!("[servers.{}]", quoted(name)),
            ProfileOwner::Tool(name) => {
                format!("# for the entry of [[tools]] with name = {}", quoted(name))
            }
        };
        let limits = self
            .processes
            .map(|processes| format!("sandbox_limits = {{ processes = {processes} }}\n"));
        let limits = limits.unwrap_or_default();
        format!("{notes}{section}\nsandbox = \"on\"\nsandbox_allow = {allow}\n{limits}")
    }
}

/// Whose settings a profile is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileOwner<'a> {
    /// A server, which has a section of its own.
    Server(&'a str),
    /// A command tool, which is one of a list.
    Tool(&'a str),
}

/// Whether a key of TOML needs no quotes.
fn is_bare_key(key: &str) -> bool {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !key.is_empty() && key.chars().all(is_bare)
}

/// A string of TOML, on one line.
fn quoted(text: &str) -> String {
    format!("\"{}\"", visible(&text.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// A text in which what ends a line, or cannot be seen, is an escape of TOML.
fn visible(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        // `escape_debug` escapes characters without a glyph, such as those that change the direction of writing.
        let is_hidden = c.is_control() || c.escape_debug().to_string().starts_with("\\u");
        match is_hidden {
            true => out += &format!("\\U{:08X}", u32::from(c)),
            false => out.push(c),
        }
    }
    out
}

/// The accesses of a program, by the setting that would allow them.
#[derive(Default)]
struct ObservedNeeds {
    read: BTreeSet<PathBuf>,
    write: BTreeSet<PathBuf>,
    run: BTreeSet<PathBuf>,
    unix: BTreeSet<PathBuf>,
    own_sockets: BTreeSet<PathBuf>,
    direct: BTreeMap<u16, String>,
}

pub(super) fn make(
    strace_run: &StraceRun,
    mut events: Vec<TraceEvent>,
    hosts: Vec<String>,
) -> LearnedProfile {
    let mut profile = LearnedProfile::default();
    let is_browser = events.iter().any(|event| matches!(event, TraceEvent::OwnSocket(_)));
    if is_browser {
        browser::choose_home(strace_run, &mut events, &mut profile);
    }
    let mut needs = collect(strace_run, events, &mut profile);
    if is_browser {
        browser::add_preset(&mut needs, &mut profile);
    }
    let write = widen_writes(strace_run, &needs.write, &mut profile);
    let read: BTreeSet<_> = needs
        .read
        .into_iter()
        .filter(|path| !write.iter().any(|folder| path.starts_with(folder)))
        .collect();
    let read = widen_reads(strace_run, &read, &mut profile);
    for path in &write {
        let text = path.display().to_string();
        let reasons = DANGEROUS_WRITES.iter().filter(|(part, _)| text.contains(part));
        profile.dangerous.extend(reasons.map(|(_, why)| format!("it changes {text}: {why}")));
    }
    for path in &needs.unix {
        let text = path.display().to_string();
        let why =
            DANGEROUS_SOCKETS.iter().find(|(part, _)| text.contains(part)).map(|(_, why)| *why);
        let why = why.unwrap_or("what listens there does things outside of the sandbox");
        profile.dangerous.push(format!("it connects to {text}: {why}"));
    }
    for (port, address) in &needs.direct {
        profile.dangerous.push(format!(
            "it connects to {address}:{port} without the proxy, so that port {port} has to be open to every host"
        ));
    }
    let named = |paths: &BTreeSet<PathBuf>| {
        paths.iter().map(|path| path_pattern(strace_run, path)).collect::<Vec<_>>()
    };
    let sockets = needs.unix.iter().map(|path| format!("unix:{}", path.display()));
    let mut connect: Vec<_> = hosts.into_iter().chain(sockets).collect();
    connect.sort();
    connect.dedup();
    profile.allow = SandboxAllow {
        read: named(&read),
        write: named(&write),
        connect,
        connect_direct: needs.direct.into_keys().collect(),
        run: named(&needs.run),
        ..std::mem::take(&mut profile.allow)
    };
    profile
}

/// Sorts the events by setting, without what is allowed by default and what is never allowed.
fn collect(
    strace_run: &StraceRun,
    events: Vec<TraceEvent>,
    profile: &mut LearnedProfile,
) -> ObservedNeeds {
    let mut needs = ObservedNeeds::default();
    let mut never = BTreeSet::new();
    let may = |path: &Path, accesses: &[FileAccess]| {
        let mut rules = strace_run.usual.iter().filter(|rule| accesses.contains(&rule.access));
        rules.any(|rule| path.starts_with(&rule.path))
    };
    let absolute = |path: &Path| strace_run.places.cwd().join(path);
    use FileAccess::{Device, Read, Run, Write};
    for event in events {
        let (path, accesses, set): (_, &[FileAccess], _) = match &event {
            TraceEvent::Read(path) => {
                (absolute(path), &[Read, Run, Write, Device], &mut needs.read)
            }
            TraceEvent::Write(path) | TraceEvent::Change(path) => {
                (absolute(path), &[Write, Device], &mut needs.write)
            }
            TraceEvent::Run(path) => (absolute(path), &[Run], &mut needs.run),
            TraceEvent::Unix(path) => {
                needs.unix.insert(path.clone());
                continue;
            }
            TraceEvent::OwnSocket(path) => {
                needs.own_sockets.extend(path.clone());
                continue;
            }
            TraceEvent::Connect { address, port } => {
                let is_proxy = *port == strace_run.proxy_port && address == "127.0.0.1";
                if !is_proxy {
                    needs.direct.entry(*port).or_insert_with(|| address.clone());
                }
                continue;
            }
        };
        let real = real(path);
        if may(&real, accesses) {
            continue;
        }
        let is_listed =
            matches!(event, TraceEvent::Read(_)) && strace_run.own_folders.contains(&real);
        if is_listed {
            let text = path_pattern(strace_run, &real);
            let note = format!(
                "{text} is left out, although it was listed: interpreters do that to find modules"
            );
            if !profile.guessed.contains(&note) {
                profile.guessed.push(note);
            }
            continue;
        }
        match strace_run.secrets.contain(&real) {
            // Many programs look at `/proc` and `/dev`, and work without.
            true if real.starts_with("/proc") || real.starts_with("/dev") => {}
            true => _ = never.insert(real.display().to_string()),
            false => match &event {
                // Package managers run what they install from their cache, under names that change.
                TraceEvent::Run(_) => _ = set.insert(cache(strace_run, &real).unwrap_or(real)),
                // To create, move or remove an entry, its folder must be writable.
                TraceEvent::Change(_) => {
                    set.insert(real.parent().unwrap_or(Path::new("/")).to_owned());
                }
                _ => _ = set.insert(real),
            },
        }
    }
    // The C library asks `nscd`, and works without.
    needs.unix.retain(|path| !path.starts_with("/run/nscd") && !path.starts_with("/var/run/nscd"));
    profile.never = never.into_iter().collect();
    needs
}

/// Where a path leads; of an entry that is gone, where its folder leads.
fn real(path: PathBuf) -> PathBuf {
    let of_folder = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(of_folder).unwrap_or(path)
}

fn widen_writes(
    strace_run: &StraceRun,
    paths: &BTreeSet<PathBuf>,
    profile: &mut LearnedProfile,
) -> BTreeSet<PathBuf> {
    let mut wide: BTreeSet<PathBuf> = BTreeSet::new();
    for path in paths {
        let whole = cache(strace_run, path).unwrap_or_else(|| path.clone());
        if whole.is_dir() {
            let text = path_pattern(strace_run, &whole);
            let note =
                format!("all of {text}, because entries of it were created, moved or removed");
            if !profile.guessed.contains(&note) {
                profile.guessed.push(note);
            }
            if is_broad(strace_run, &whole) {
                profile.dangerous.push(format!(
                    "it changes entries of {text} itself, which is all that the user has"
                ));
            }
        }
        wide.insert(whole);
    }
    outermost(&wide)
}

fn widen_reads(
    strace_run: &StraceRun,
    paths: &BTreeSet<PathBuf>,
    profile: &mut LearnedProfile,
) -> BTreeSet<PathBuf> {
    let mut of_folder: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for path in paths {
        *of_folder.entry(path.parent().unwrap_or(path).to_owned()).or_default() += 1;
    }
    let mut wide = BTreeSet::new();
    for path in paths {
        let parent = path.parent().unwrap_or(path);
        let is_many = of_folder.get(parent).is_some_and(|count| *count >= MANY);
        let whole = match cache(strace_run, path) {
            Some(cache) => cache,
            None if is_many && !is_broad(strace_run, parent) => {
                let note = format!(
                    "all of {}, because {} of its entries were read",
                    path_pattern(strace_run, parent),
                    of_folder[parent]
                );
                if !profile.guessed.contains(&note) {
                    profile.guessed.push(note);
                }
                parent.to_owned()
            }
            None => path.clone(),
        };
        if is_broad(strace_run, &whole) {
            profile.dangerous.push(format!(
                "it lists {}, below which is all that the user has",
                path_pattern(strace_run, &whole)
            ));
        }
        wide.insert(whole);
    }
    outermost(&wide)
}

/// Returns the cache of a package manager that the path is in, if it is in one.
fn cache(strace_run: &StraceRun, path: &Path) -> Option<PathBuf> {
    let home = strace_run.places.home()?;
    CACHES.iter().map(|cache| home.join(cache)).find(|cache| path.starts_with(cache))
}

/// Returns whether the folder holds the home folder or a large part of the system.
fn is_broad(strace_run: &StraceRun, folder: &Path) -> bool {
    let is_of_home = strace_run.places.home().is_some_and(|home| home.starts_with(folder));
    is_of_home
        || ["/", "/home", "/tmp", "/var", "/etc", "/usr"]
            .iter()
            .any(|broad| folder == Path::new(broad))
}

/// Returns the paths that are not below another of them.
fn outermost(paths: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let is_below_other =
        |path: &PathBuf| path.ancestors().skip(1).any(|folder| paths.contains(folder));
    paths.iter().filter(|path| !is_below_other(path)).cloned().collect()
}

/// A path as people write it: `~/notes/**` for all of a folder.
fn path_pattern(strace_run: &StraceRun, path: &Path) -> String {
    let end = if path.is_dir() { "/**" } else { "" };
    let of_home = strace_run.places.home().and_then(|home| path.strip_prefix(home).ok());
    match of_home {
        Some(rest) if rest.as_os_str().is_empty() => format!("~{end}"),
        Some(rest) => format!("~/{}{end}", rest.display()),
        None => format!("{}{end}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{
        files::{SandboxPlaces, SecretPaths},
        policy::FileRule,
        proxy::SeenHosts,
    };

    pub(super) fn learned(files: &[&str], events: impl Fn(&Path) -> Vec<TraceEvent>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for file in files {
            let file = home.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let strace_run = StraceRun {
            trace: home.join("trace"),
            proxy_port: 3128,
            usual: vec![FileRule { path: "/usr".into(), access: FileAccess::Run }],
            own_folders: vec![home.join("script")],
            places: SandboxPlaces::new(Some(home.clone()), home.clone()),
            secrets: SecretPaths::new(Some(&home), &[]),
            seen: SeenHosts::default(),
        };
        let hosts = vec!["b.example:443".to_owned(), "a.example:443".to_owned()];
        make(&strace_run, events(&home), hosts).to_toml(ProfileOwner::Server("x"))
    }

    // SB-2
    #[test]
    fn a_hostile_name_stays_a_name() {
        let name = "~/a\n[servers.evil]\ncommand = \"x\" # \u{202e}\u{1b}[2J\u{7f}\\'\"\"\"";
        let allow = SandboxAllow {
            read: vec![name.to_owned()],
            connect: vec![format!("unix:{name}")],
            ..SandboxAllow::default()
        };
        let notes = vec![format!("all of {name}")];
        let profile = LearnedProfile {
            allow: allow.clone(),
            processes: None,
            guessed: notes.clone(),
            dangerous: notes.clone(),
            never: notes,
        };
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            servers: BTreeMap<String, WrittenServer>,
        }
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct WrittenServer {
            sandbox: String,
            sandbox_allow: SandboxAllow,
        }
        for server in ["x", "x.y", "x]\n[y", ""] {
            let text = profile.to_toml(ProfileOwner::Server(server));
            assert_eq!(text.lines().count(), 6, "{text}");
            let is_plain = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
            assert!(text.chars().all(is_plain), "{text}");
            let written: Written = toml::from_str(&text).unwrap();
            let (found, settings) = written.servers.first_key_value().unwrap();
            assert_eq!((found.as_str(), settings.sandbox.as_str()), (server, "on"));
            assert_eq!((written.servers.len(), &settings.sandbox_allow), (1, &allow));
        }
        let text = profile.to_toml(ProfileOwner::Tool("a\"\nb"));
        assert!(
            text.contains("# for the entry of [[tools]] with name = \"a\\\"\\U0000000Ab\"\n"),
            "{text}"
        );
        let written: WrittenServer = toml::from_str(&text).unwrap();
        assert_eq!(written.sandbox_allow, allow);
    }

    // SB-2
    #[test]
    fn settings_are_small_and_say_what_is_dangerous() {
        use TraceEvent::{Change, Connect, Read, Run, Unix};
        let files = [
            "script/x",
            "data/one",
            "many/a",
            "many/b",
            "many/c",
            "many/d",
            "out/new",
            "from/left",
            ".ssh/id",
            ".npm/x/y",
            "tool",
            ".bashrc",
        ];
        let text = learned(&files, |home| {
            let read = |name: &str| Read(home.join(name));
            vec![
                read("data/one"),
                read("many/a"),
                read("many/b"),
                read("many/c"),
                read("many/d"),
                read("out/new"),
                read("script"),
                read(".ssh/id"),
                Read("/usr/bin/env".into()),
                Change(home.join("out/new")),
                Change(home.join("from/moved")),
                Change(home.join(".npm/x/y")),
                Run(home.join("tool")),
                Connect { address: "127.0.0.1".to_owned(), port: 3128 },
                Connect { address: "1.2.3.4".to_owned(), port: 5432 },
                Unix("/var/run/docker.sock".into()),
            ]
        });
        let expected = [
            "read = [\"~/data/one\", \"~/many/**\"]",
            "write = [\"~/.npm/**\", \"~/from/**\", \"~/out/**\"]",
            "connect = [\"a.example:443\", \"b.example:443\", \"unix:/var/run/docker.sock\"]",
            "connect_direct = [5432]",
            "run = [\"~/tool\"]",
            "# guessed: all of ~/many/**, because 4 of its entries were read",
            "# dangerous: it connects to /var/run/docker.sock: it gives the rights of root",
            "# dangerous: it connects to 1.2.3.4:5432 without the proxy",
            "# never allowed: ",
            "[servers.x]\nsandbox = \"on\"\n",
        ];
        for part in expected {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let section = learned(&[], |_| Vec::new());
        assert!(section.contains("sandbox_allow = { connect = "), "{section}");
    }
}
