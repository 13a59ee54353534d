//! How programs are confined, and what they were refused: kept in the state folder for `doctor`.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use switchboard_runtime::private_files;
use switchboard_sandbox::{LearnedProfile, ProfileOwner, SandboxDeps, SandboxRefusal};
use switchboard_toolcall::time::unix_seconds;

use crate::{environment, records, settings::LoadedConfig};

/// How many refusals of a server or tool are kept.
const MOST: usize = 20;

/// How long a refusal is worth telling, in seconds.
const TOLD: u64 = 7 * 24 * 60 * 60;

/// A refusal, and when it last happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct KeptRefusal {
    refusal: SandboxRefusal,
    at: u64,
}

/// Returns how programs are confined; `None` if our own program cannot be found.
pub(crate) fn deps(loaded: &LoadedConfig) -> Option<SandboxDeps> {
    let usual = SandboxDeps::this_program()
        .inspect_err(|error| tracing::warn!(%error, "no program can be confined"))
        .ok()?;
    let observer = |owner: &str, refusal: &SandboxRefusal| {
        tracing::warn!(
            "'{owner}' was refused {} by its sandbox: {}",
            refusal.what(),
            refusal.remedy()
        );
        if let Err(error) = keep(owner, refusal) {
            tracing::debug!(%error, "a refusal is not kept");
        }
    };
    let servers: BTreeSet<_> = loaded.settings.servers.keys().cloned().collect();
    let learner = move |name: &str, profile: &LearnedProfile| {
        let owner = match servers.contains(name) {
            true => ProfileOwner::Server(name),
            false => ProfileOwner::Tool(name),
        };
        tell_learned(name, keep_learned(name, &profile.to_toml(owner)));
    };
    Some(SandboxDeps {
        home: environment::path("HOME"),
        secrets: secrets(loaded),
        observer: Some(Arc::new(observer)),
        learner: Some(Arc::new(learner)),
        ..usual
    })
}

/// What is ours: the state with the vault, records, the config, and the folder where it usually is; and what is the user's where
/// variables say that it is.
fn secrets(loaded: &LoadedConfig) -> Vec<PathBuf> {
    let config_home = environment::path("XDG_CONFIG_HOME").map(|folder| folder.join("switchboard"));
    let file = loaded.file.as_ref().and_then(|file| file.canonicalize().ok());
    let lock = file.as_ref().map(|file| file.with_file_name("switchboard.lock"));
    let runtime = environment::path("XDG_RUNTIME_DIR").map(|folder| folder.join("switchboard"));
    let found =
        [environment::state_home(), records::folder(loaded), config_home, runtime, file, lock];
    let relocated = switchboard_sandbox::relocated_secrets(environment::path);
    found.into_iter().flatten().chain(relocated).collect()
}

/// The file of a server's refusals.
fn file_of(owner: &str) -> Option<PathBuf> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name: String = owner.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    Some(environment::state_home()?.join("sandbox").join(format!("{name}.json")))
}

fn keep(owner: &str, refusal: &SandboxRefusal) -> io::Result<()> {
    let Some(file) = file_of(owner) else { return Ok(()) };
    if let Some(folder) = file.parent() {
        private_files::create_dir(folder)?;
    }
    let mut kept = read(&file);
    kept.retain(|known| known.refusal != *refusal);
    kept.push(KeptRefusal { refusal: refusal.clone(), at: unix_seconds() });
    let kept = &kept[kept.len().saturating_sub(MOST)..];
    let part = file.with_extension(format!("{}.part", std::process::id()));
    serde_json::to_writer(private_files::create(&part)?, kept)?;
    fs::rename(part, file)
}

fn tell_learned(owner: &str, kept: io::Result<Option<PathBuf>>) {
    match kept {
        Ok(Some(file)) => {
            tracing::info!("what '{owner}' needs in a sandbox is in {}", file.display())
        }
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "what '{owner}' needs in a sandbox cannot be kept"),
    }
}

/// Writes what a watched program needs; returns the file.
fn keep_learned(owner: &str, text: &str) -> io::Result<Option<PathBuf>> {
    let Some(file) = learned_file(owner) else { return Ok(None) };
    if let Some(folder) = file.parent() {
        private_files::create_dir(folder)?;
    }
    private_files::create(&file)?.write_all(text.as_bytes())?;
    Ok(Some(file))
}

/// The file with what a server or tool needed when it was last watched.
pub(crate) fn learned_file(owner: &str) -> Option<PathBuf> {
    Some(file_of(owner)?.with_extension("learned.toml"))
}

/// Returns what a server or tool was refused in the last days.
pub(crate) fn refusals(owner: &str) -> Vec<SandboxRefusal> {
    let kept = file_of(owner).map(|file| read(&file)).unwrap_or_default();
    let recent = kept.into_iter().filter(|kept| kept.at + TOLD > unix_seconds());
    recent.map(|kept| kept.refusal).collect()
}

fn read(file: &Path) -> Vec<KeptRefusal> {
    fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}
