//! What a program itself is made of: its file, what interprets it, and the folder of its package.

use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::expand::{SandboxPlaces, is_below, resolve};

/// How many interpreters stand behind each other at most.
const DEEPEST: usize = 6;

/// Programs whose first argument that is a file is a program itself.
const INTERPRETERS: &[&str] = &[
    "ash", "bash", "bun", "dash", "deno", "java", "lua", "node", "nodejs", "perl", "php", "pypy",
    "python", "ruby", "sh", "ts-node", "tsx", "zsh",
];

/// The letters of options, of some interpreters, after which no file is the program: code follows, or the name of a module.
const CODE_OPTIONS: [(&[&str], &str); 6] = [
    (&["ash", "bash", "dash", "sh", "zsh"], "c"),
    (&["pypy", "python"], "cm"),
    (&["bun", "node", "nodejs", "ts-node", "tsx"], "ep"),
    (&["perl"], "eE"),
    (&["lua", "ruby"], "e"),
    (&["php"], "r"),
];

/// The same options in words.
const CODE_WORDS: [&str; 2] = ["--eval", "--print"];

/// Programs that are another one under a name of their own.
const OTHERS: [(&str, &str); 3] = [("uvx", "uv"), ("bunx", "bun"), ("pnpx", "pnpm")];

/// What lies beside the programs of an installation: of a system's, of Python, of pyenv and its kind, of asdf and mise, Bun, Volta.
const PARTS: &[&str] = &[
    "lib",
    "lib64",
    "libexec",
    "Lib",
    "share",
    "pyvenv.cfg",
    "versions",
    "installs",
    "install",
    "tools",
];

/// What marks the folder of a package.
const MARKS: &[&str] =
    &["package.json", "pyproject.toml", "setup.py", "deno.json", "composer.json", "Gemfile"];

/// Returns the file of a program: at its path, or in a folder of `search`.
pub(crate) fn find_program(command: &str, search: &[PathBuf], cwd: &Path) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if command.contains('/') {
        return Some(cwd.join(command)).filter(|path| is_program(path));
    }
    search.iter().map(|folder| cwd.join(folder).join(command)).find(|path| is_program(path))
}

/// Returns the files and folders without which the program cannot run. The system's folders are not among them. Nothing that
/// is said in the folders `written` is followed elsewhere.
pub(super) fn needs(
    command: &str,
    args: &[String],
    search: &[PathBuf],
    places: &SandboxPlaces,
    written: &[PathBuf],
) -> Vec<PathBuf> {
    let mut needs = ProgramNeeds { search, places, written, found: Vec::new() };
    if let Some(file) = find_program(command, search, places.cwd()) {
        needs.add_program(&file, DEEPEST);
    }
    let name = command.rsplit('/').next().unwrap_or_default();
    for (_, other) in OTHERS.iter().filter(|(short, _)| *short == name) {
        let beside = match command.strip_suffix(name) {
            Some("") | None => (*other).to_owned(),
            Some(folder) => format!("{folder}{other}"),
        };
        if let Some(file) = find_program(&beside, search, places.cwd()) {
            needs.add_program(&file, DEEPEST);
        }
    }
    if let Some(interpreter) = interpreter_name(command) {
        let before_code = args.iter().take_while(|arg| !is_code_option(interpreter, arg));
        let scripts = before_code.filter(|arg| !arg.starts_with('-'));
        let mut scripts = scripts.map(|arg| places.cwd().join(arg));
        if let Some(script) = scripts.find(|path| path.is_file()) {
            needs.add_package(&script);
        }
    }
    needs.found
}

struct ProgramNeeds<'a> {
    search: &'a [PathBuf],
    places: &'a SandboxPlaces,
    written: &'a [PathBuf],
    found: Vec<PathBuf>,
}

impl ProgramNeeds<'_> {
    /// Adds a program, what it is a link to, and what interprets it.
    fn add_program(&mut self, file: &Path, depth: usize) {
        let Some(real) = resolve(file, self.written) else { return };
        self.add_package(file);
        if real != file {
            self.add_package(&real);
        }
        let Some(depth) = depth.checked_sub(1) else { return };
        let is_written = self.is_written(&real);
        for word in interpreter(&real) {
            if is_written && (word.contains('/') || interpreter_name(&word).is_none()) {
                continue;
            }
            if let Some(file) = find_program(&word, self.search, self.places.cwd()) {
                self.add_program(&file, depth);
            }
        }
    }

    /// Adds a file with the folder of its package, if it has one.
    fn add_package(&mut self, file: &Path) {
        self.found.push(file.to_owned());
        let folders = [prefix(file), modules(file), marked(file), Some(virtual_environment(file))];
        let folders = folders.into_iter().flatten();
        let narrow: Vec<_> = folders.filter(|folder| self.is_narrow(folder)).collect();
        for folder in narrow {
            let base = (!self.is_written(&folder)).then(|| base_of_environment(&folder)).flatten();
            if let Some(base) = base.filter(|base| self.is_narrow(base)) {
                self.found.push(base);
            }
            self.found.push(folder);
        }
    }

    /// Whether the program may have written what is there.
    fn is_written(&self, path: &Path) -> bool {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.written.iter().any(|folder| is_below(&real, folder))
    }

    /// Whether a folder holds a package and not much else of the user.
    fn is_narrow(&self, folder: &Path) -> bool {
        let broad =
            ["", "/", "/home", "/tmp", "/var", "/var/tmp", "/mnt", "/media", "/srv", "/root"];
        let is_of_home = |home: &Path| {
            let own =
                ["", ".local", ".config", ".cache", ".local/share", ".local/state", "Documents"];
            home.starts_with(folder) || own.iter().any(|path| home.join(path) == folder)
        };
        !broad.iter().any(|path| folder == Path::new(path))
            && !self.places.home().is_some_and(is_of_home)
    }
}

/// The name of an interpreter without its version; `None` if the program is none.
fn interpreter_name(command: &str) -> Option<&str> {
    let name = command.rsplit('/').next().unwrap_or_default();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name).then_some(name)
}

/// Whether the program is what follows this option, or nothing: what stands behind is not a script, but an argument of it.
fn is_code_option(interpreter: &str, arg: &str) -> bool {
    if CODE_WORDS.iter().any(|word| arg.split('=').next() == Some(word)) {
        return true;
    }
    let letters = CODE_OPTIONS.iter().find(|(names, _)| names.contains(&interpreter));
    let Some((_, letters)) = letters else { return false };
    let options = arg.strip_prefix('-').filter(|options| !options.starts_with('-'));
    options.is_some_and(|options| options.contains(|c| letters.contains(c)))
}

/// The words of a script's first line, `#!/usr/bin/env node`, that are programs.
fn interpreter(file: &Path) -> Vec<String> {
    let mut head = [0; 256];
    let length = File::open(file).and_then(|mut file| file.read(&mut head)).unwrap_or_default();
    let head = String::from_utf8_lossy(&head[..length]);
    let line = head.strip_prefix("#!").and_then(|rest| rest.lines().next()).unwrap_or_default();
    let words =
        line.split_whitespace().filter(|word| !word.starts_with('-') && !word.contains('='));
    words.take(2).map(str::to_owned).collect()
}

/// `x` of `x/bin/program` and of `x/shims/program`, if that is an installation and not a folder with a program in it.
fn prefix(file: &Path) -> Option<PathBuf> {
    let folder = file.parent()?;
    let is_of_programs = ["bin", "shims", "Scripts"].iter().any(|name| folder.ends_with(name));
    let prefix = folder.parent().filter(|_| is_of_programs)?;
    PARTS.iter().any(|part| prefix.join(part).exists()).then(|| prefix.to_owned())
}

/// The outermost `node_modules` or `site-packages`, where a package's dependencies lie beside it.
fn modules(file: &Path) -> Option<PathBuf> {
    let is_modules =
        |folder: &&Path| folder.ends_with("node_modules") || folder.ends_with("site-packages");
    file.ancestors().filter(is_modules).last().map(Path::to_owned)
}

/// The nearest folder above with the description of a package.
fn marked(file: &Path) -> Option<PathBuf> {
    let is_marked = |folder: &&Path| MARKS.iter().any(|mark| folder.join(mark).is_file());
    file.ancestors().skip(1).take(4).find(is_marked).map(Path::to_owned)
}

/// The folder of a virtual environment, or an empty path.
fn virtual_environment(file: &Path) -> PathBuf {
    let is_environment = |folder: &&Path| folder.join("pyvenv.cfg").is_file();
    file.ancestors().skip(1).take(3).find(is_environment).unwrap_or(Path::new("")).to_owned()
}

/// The installation of Python that a virtual environment was made from.
fn base_of_environment(folder: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(folder.join("pyvenv.cfg")).ok()?;
    let home = text.lines().find_map(|line| line.strip_prefix("home")?.trim().strip_prefix('='))?;
    prefix(&Path::new(home.trim()).join("python"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, args: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let files = [
            ("home/.pyenv/shims/python3", "#!/usr/bin/env bash\n"),
            ("home/bin/tool", "binary"),
            ("home/x/node_modules/.bin/server", "link"),
            ("home/x/node_modules/server/index.js", "#!/usr/bin/env node\n"),
            ("home/venv/bin/python", "binary"),
            ("home/venv/pyvenv.cfg", ""),
            ("work/script.py", ""),
            ("work/secret", ""),
            ("home/.pyenv/versions/3", ""),
            ("home/go/bin/tool", "binary"),
            ("home/go/src/secret", ""),
            ("node/bin/node", "binary"),
            ("node/lib/x", ""),
        ];
        for (name, text) in files {
            let file = base.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text.replace("home = ", &format!("home = {}/", base.display())))
                .unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let link = base.join("home/x/node_modules/.bin/server");
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("../server/index.js", &link).unwrap();
        let base_python = format!("home = {}/node/bin\n", base.display());
        fs::write(base.join("home/venv/pyvenv.cfg"), base_python).unwrap();
        let places = SandboxPlaces::new(Some(base.join("home")), base.clone());
        let search =
            ["home/.pyenv/shims", "home/bin", "node/bin", "/usr/bin"].map(|it| base.join(it));
        let args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
        let mut found: Vec<_> = needs(command, &args, &search, &places, &[])
            .iter()
            .filter_map(|path| Some(path.strip_prefix(&base).ok()?.display().to_string()))
            .collect();
        found.sort();
        found.dedup();
        found
    }

    // SB-1
    #[test]
    fn a_program_comes_with_its_package_and_no_more() {
        assert_eq!(check("tool", &[]), ["home/bin/tool"]);
        assert_eq!(check("home/go/bin/tool", &[]), ["home/go/bin/tool"]);
        assert_eq!(check("python3", &[]), ["home/.pyenv", "home/.pyenv/shims/python3"]);
        let server = check("home/x/node_modules/.bin/server", &[]);
        let expected = [
            "home/x/node_modules",
            "home/x/node_modules/.bin/server",
            "home/x/node_modules/server/index.js",
            "node",
            "node/bin/node",
        ];
        assert_eq!(server, expected);
        assert_eq!(
            check("home/venv/bin/python", &[]),
            ["home/venv", "home/venv/bin/python", "node"]
        );
        let script = check("node", &["--flag", "work/script.py", "work/secret"]);
        assert_eq!(script, ["node", "node/bin/node", "work/script.py"]);
        assert_eq!(check("tool", &["work/secret"]), ["home/bin/tool"]);
    }

    // SB-1
    #[test]
    fn what_follows_code_or_a_module_is_no_script() {
        for args in [["-e", "work/secret"], ["-pe", "work/secret"], ["--eval=1", "work/secret"]] {
            assert_eq!(check("node", &args), ["node", "node/bin/node"], "{args:?}");
        }
        for args in [["-m", "json.tool", "work/secret"], ["-Ic", "print()", "work/secret"]] {
            assert_eq!(check("home/venv/bin/python", &args).last().unwrap(), "node", "{args:?}");
        }
        assert!(!check("sh", &["-c", "cat", "sh", "work/secret"]).contains(&"work/secret".into()));
        assert!(check("sh", &["-e", "work/script.py"]).contains(&"work/script.py".into()));
    }
}
