//! What all packages of a release share: its version, its programs, and the papers that come with them.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use serde_json::Value;

use super::{
    build,
    files::{PLAIN, PackageFile},
    licences, linked,
    platform::{Linkage, PlatformProgram},
    sbom,
};
use crate::{
    parts,
    shell::{Run, root},
};

/// Everything that goes into packages.
pub(super) struct Release {
    pub(super) version: String,
    pub(super) description: String,
    pub(super) licence: String,
    pub(super) repository: String,
    /// The commit, if there is a repository.
    pub(super) commit: String,
    /// When it was committed, as RFC 3339 writes it.
    pub(super) date: String,
    /// The same in seconds since 1970: the time of every file.
    pub(super) modified: u64,
    pub(super) compression: Compression,
    pub(super) programs: Vec<PlatformProgram>,
    /// The page of package registries.
    pub(super) readme: String,
    /// Licences and notices, and what to read first.
    pub(super) documents: Vec<PackageFile>,
    /// The pages of the manual.
    pub(super) manual: Vec<PackageFile>,
    /// Completion scripts, by shell.
    pub(super) completions: Vec<(String, PackageFile)>,
    pub(super) certificate_authorities: Vec<u8>,
    /// What the programs are made of.
    pub(super) sbom: String,
}

impl Release {
    /// Collects all that `programs` are packaged with; `native` runs here and writes the manual. What is only tried is
    /// compressed in less time.
    pub(super) fn new(
        programs: Vec<PlatformProgram>,
        native: &Path,
        is_published: bool,
    ) -> Result<Self> {
        let crates = linked::crates(&targets(&programs))?;
        let package = package()?;
        let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
        let (commit, date, modified) = commit();
        let (manual, completions) = written_by(native)?;
        let authorities = parts::install_one("parts/certificates")?.join("data/certifi/cacert.pem");
        let is_static = programs.iter().any(|program| program.linkage == Linkage::Static);
        let musl = is_static.then(build::musl_licence).transpose()?;
        let mut release = Self {
            version: text("version"),
            description: text("description"),
            licence: text("license"),
            repository: text("repository"),
            commit,
            date,
            modified,
            compression: if is_published { Compression::best() } else { Compression::fast() },
            programs,
            readme: fs::read_to_string(root().join("packaging/README.md"))?,
            documents: documents(&licences::document(&crates, musl.as_deref())?)?,
            manual,
            completions,
            certificate_authorities: fs::read(authorities)?,
            sbom: String::new(),
        };
        release.sbom = sbom::document(&release, &crates)?;
        Ok(release)
    }
}

/// The targets that the programs were built for.
fn targets(programs: &[PlatformProgram]) -> Vec<String> {
    let target = |program: &PlatformProgram| match program.linkage {
        Linkage::Static => program.architecture.static_target(),
        Linkage::Dynamic => program.architecture.static_target().replace("musl", "gnu"),
    };
    programs.iter().map(target).collect()
}

/// What Cargo.toml says of the program.
fn package() -> Result<Value> {
    let metadata = Run::cargo(["metadata", "--no-deps", "--format-version", "1"]).text()?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo prints JSON")?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let own = packages.find(|package| package["name"] == "switchboard");
    own.cloned().context("there is no package `switchboard`")
}

/// The commit, its date and its time; of an archive without a repository nothing is known.
fn commit() -> (String, String, u64) {
    let git = ["log", "-1", "--no-show-signature", "--format=%H %cI %ct"];
    let told = Run::new("git").arguments(git).text().unwrap_or_default();
    let mut words = told.split(' ').map(str::to_owned);
    match (words.next(), words.next(), words.next().and_then(|time| time.parse().ok())) {
        (Some(commit), Some(date), Some(time)) => (commit, date, time),
        _ => ("unknown".to_owned(), "1970-01-01T00:00:00Z".to_owned(), 0),
    }
}

fn documents(licences: &str) -> Result<Vec<PackageFile>> {
    let mut files = vec![PackageFile::new("THIRD-PARTY-LICENSES.txt", PLAIN, licences)];
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE", "README.md"] {
        files.push(PackageFile::new(name, PLAIN, fs::read(root().join(name))?));
    }
    Ok(files)
}

type WrittenPackages = (Vec<PackageFile>, Vec<(String, PackageFile)>);

/// The manual and the completion scripts, as the program writes them.
fn written_by(program: &Path) -> Result<WrittenPackages> {
    let folder = root().join("target/man");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    Run::new(program).arguments(["man", "--output", &folder.to_string_lossy()]).quiet()?;
    let mut manual = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        manual.push(PackageFile::new(name, PLAIN, fs::read(&path)?));
    }
    manual.sort_by(|one, other| one.path.cmp(&other.path));
    ensure!(!manual.is_empty(), "the program writes no manual");
    let mut completions = Vec::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = Run::new(program).arguments(["completions", shell]).text()?;
        completions.push((shell.to_owned(), PackageFile::new("", PLAIN, script + "\n")));
    }
    Ok((manual, completions))
}
