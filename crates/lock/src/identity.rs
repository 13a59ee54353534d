//! Which program or address a server is, as far as that can be found out from what is installed.

mod npm;
mod python;

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

/// The largest program that is hashed.
const LARGEST: u64 = 512 << 20;

/// Programs that run another one, whose own hash says nothing about the server.
const LAUNCHERS: [&str; 18] = [
    "node", "nodejs", "npx", "npm", "pnpm", "yarn", "bun", "bunx", "deno", "python", "python3",
    "uv", "uvx", "pipx", "sh", "bash", "ruby", "env",
];

/// Which program or address a server is. A change of it alone is told, and nothing else: the definitions decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The package, such as `npm:@modelcontextprotocol/server-filesystem@2026.1.14`.
    pub package: Option<String>,
    /// The hash of the package: npm's own, or that of the `RECORD` of a Python package.
    pub integrity: Option<String>,
    /// The hash of the program, if it is no interpreter.
    pub program: Option<String>,
    /// The hash of the script that an interpreter runs.
    pub script: Option<String>,
    /// The container image, with its digest if the config names one.
    pub image: Option<String>,
    /// The address, without user, password and query.
    pub url: Option<String>,
    /// The name that the server gives itself.
    pub name: Option<String>,
    /// The version that the server gives itself.
    pub version: Option<String>,
}

/// How a server is started.
#[derive(Clone, Debug, Default)]
pub struct LaunchedProgram<'a> {
    /// The program.
    pub command: &'a str,
    /// Its arguments.
    pub args: &'a [String],
    /// Where it runs.
    pub cwd: Option<&'a Path>,
    /// Where programs are looked for, as in `PATH`.
    pub search: Vec<PathBuf>,
    /// The cache of npm, in which `npx` installs packages.
    pub npm_cache: Option<PathBuf>,
    /// The cache of uv, in which `uvx` installs packages.
    pub uv_cache: Option<PathBuf>,
}

impl Identity {
    /// Finds out what a program is.
    pub fn of_program(program: &LaunchedProgram<'_>) -> Self {
        let base = Path::new(program.command).file_name().and_then(|name| name.to_str());
        let base = base.unwrap_or_default();
        let resolved = program.resolve();
        let package = match base {
            "npx" | "bunx" => npm::run_by_npx(program),
            "uvx" => python::run_by_uvx(program, program.args),
            "uv" => match program.args {
                [tool, run, rest @ ..] if tool == "tool" && run == "run" => {
                    python::run_by_uvx(program, rest)
                }
                _ => None,
            },
            "docker" | "podman" => return Self { image: image(program.args), ..Self::default() },
            _ => None,
        };
        let script = || program.script();
        let package = package
            .or_else(|| npm::installed(&script().or_else(|| resolved.clone())?))
            .or_else(|| python::installed(resolved.as_deref()?, program.args));
        if let Some((package, integrity)) = package {
            return Self { package: Some(package), integrity, ..Self::default() };
        }
        let is_launcher = LAUNCHERS.contains(&base) || base.starts_with("python3.");
        Self {
            program: resolved.filter(|_| !is_launcher).and_then(|file| hash_file(&file).ok()),
            script: script().and_then(|file| hash_file(&file).ok()),
            ..Self::default()
        }
    }

    /// Returns the identity of an address.
    pub fn of_url(address: &str) -> Self {
        let url = url::Url::parse(address).ok().map(|mut url| {
            // These fail only for addresses that have neither.
            _ = url.set_username("");
            _ = url.set_password(None);
            url.set_query(None);
            url.set_fragment(None);
            url.to_string()
        });
        Self { url, ..Self::default() }
    }

    /// The fields with their names in the file, in its order.
    pub fn fields(&self) -> [(&'static str, Option<&str>); 8] {
        [
            ("package", self.package.as_deref()),
            ("integrity", self.integrity.as_deref()),
            ("program", self.program.as_deref()),
            ("script", self.script.as_deref()),
            ("image", self.image.as_deref()),
            ("url", self.url.as_deref()),
            ("name", self.name.as_deref()),
            ("version", self.version.as_deref()),
        ]
    }

    /// Says what differs from the identity `before`, one line for each field.
    pub fn differences(&self, before: &Self) -> Vec<String> {
        let pairs = before.fields().into_iter().zip(self.fields());
        let differs = pairs.filter(|((_, old), (_, new))| old != new);
        let text = |value: Option<&str>, open: &str, close: &str| match value {
            Some(value) => format!("{open}{value}{close}"),
            None => String::new(),
        };
        differs
            .map(|((field, old), (_, new))| {
                format!("{field}: {}{}", text(old, "[-", "-]"), text(new, "{+", "+}"))
            })
            .collect()
    }
}

impl LaunchedProgram<'_> {
    /// Returns the file of the program, with links resolved.
    fn resolve(&self) -> Option<PathBuf> {
        let command = Path::new(self.command);
        if command.components().count() > 1 {
            return fs::canonicalize(self.within(command)).ok();
        }
        let mut found = self.search.iter().map(|folder| folder.join(command));
        fs::canonicalize(found.find(|file| file.is_file())?).ok()
    }

    /// Returns the first argument that is a file, which an interpreter runs.
    fn script(&self) -> Option<PathBuf> {
        let base = Path::new(self.command).file_name()?.to_str()?;
        if !LAUNCHERS.contains(&base) && !base.starts_with("python3.") {
            return None;
        }
        let mut files = self.args.iter().take(8).map(|word| self.within(Path::new(word)));
        fs::canonicalize(files.find(|file| file.is_file())?).ok()
    }

    fn within(&self, path: &Path) -> PathBuf {
        self.cwd.map_or_else(|| path.to_owned(), |cwd| cwd.join(path))
    }
}

/// Returns the image of `docker run … IMAGE …`: the first word after `run` that is no flag and no flag's value.
fn image(args: &[String]) -> Option<String> {
    let mut words = args.iter().skip_while(|word| *word != "run").skip(1);
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            return Some(word.clone());
        }
        if takes_value(word) {
            words.next();
        }
    }
    None
}

/// Returns whether the value of a flag of `docker run` is the next word. All long flags have one but for those that switch something
/// on; of short flags in one word (`-it`) the last one counts.
fn takes_value(flag: &str) -> bool {
    const SWITCHES: [&str; 19] = [
        "detach",
        "disable-content-trust",
        "help",
        "init",
        "interactive",
        "no-healthcheck",
        "no-hosts",
        "oom-kill-disable",
        "privileged",
        "publish-all",
        "quiet",
        "read-only",
        "replace",
        "rm",
        "rmi",
        "sig-proxy",
        "tls-verify",
        "tty",
        "use-api-socket",
    ];
    const SHORT_WITH_VALUE: &str = "acehlmpuvw";
    if flag.contains('=') {
        return false;
    }
    match flag.strip_prefix("--") {
        Some(name) => !SWITCHES.contains(&name),
        // In `-eNAME` the value follows at once.
        None => {
            flag[1..].find(|c| SHORT_WITH_VALUE.contains(c)).is_some_and(|at| at + 2 == flag.len())
        }
    }
}

fn hash_file(file: &Path) -> io::Result<String> {
    let file = fs::File::open(file)?;
    if file.metadata()?.len() > LARGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut reader = io::BufReader::with_capacity(1 << 16, file);
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer)? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    let digits = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Ok(format!("sha256:{digits}"))
}
