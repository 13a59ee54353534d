//! Where files of this user are, how large and how old they are, and whether calls can be recorded.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::anyhow;
use jiff::{Timestamp, tz::TimeZone};
use switchboard_audit::{StoreUsage, usage};
use switchboard_toolcall::HumanDuration;

use super::{
    super::calls::format::{ago, counted, size},
    CheckStatus, DoctorCheck,
};
use crate::{approvals, environment, records, settings::LoadedConfig};

/// Reports where everything is kept.
pub(super) fn all(loaded: &LoadedConfig) -> Vec<DoctorCheck> {
    let mut checks = vec![records(loaded)];
    let Some(state) = environment::state_home() else { return checks };
    checks.push(check_location("tokens", &state.join("tokens.json")));
    checks.push(check_location("chats", &state.join("chats")));
    checks.extend(approvals::folder(loaded).map(|folder| check_location("approvals", &folder)));
    checks.push(check_location("state", &state));
    checks
}

/// Whether calls can be recorded, and what the records take:
/// `~/.local/state/switchboard, 282 calls since 10:28, 5.7 MB of 1 GB, 30 days`.
fn records(loaded: &LoadedConfig) -> DoctorCheck {
    let check = |status, message: String| DoctorCheck::new("records", status, message);
    let config = &loaded.settings.audit;
    if loaded.replay.is_some() {
        return check(CheckStatus::Info, "calls of a replay are not recorded".to_owned());
    }
    if !config.enabled {
        return check(CheckStatus::Info, "switched off: `[audit] enabled = false`".to_owned());
    }
    let Some(folder) = records::store_folder(loaded) else {
        return check(CheckStatus::Broken, records::NO_FOLDER.to_owned());
    };
    let shown = records::folder(loaded).map(|folder| home_as_tilde(&folder)).unwrap_or_default();
    match usage(folder) {
        Ok(StoreUsage { calls, oldest, bytes }) => {
            let calls = match oldest {
                Some(oldest) => {
                    let calls = usize::try_from(calls).unwrap_or(usize::MAX);
                    format!("{} since {}", counted(calls, "call"), since(oldest))
                }
                None => "no calls yet".to_owned(),
            };
            let (bytes, most) = (size(bytes), size(config.max_size.0).replace(".0 ", " "));
            let age = whole_units(config.max_age);
            check(CheckStatus::Ok, format!("{shown}, {calls}, {bytes} of {most}, {age}"))
        }
        Err(error) => {
            let advice = "tools that are not read-only are refused until it can be written; `[audit] path` names another folder";
            let cause = anyhow!(error);
            check(CheckStatus::Broken, format!("{shown} cannot be used: {cause:#}\n{advice}"))
        }
    }
}

/// The duration in the largest unit that it is a whole number of: `30 days`, `36 hours`.
fn whole_units(duration: HumanDuration) -> String {
    let seconds = duration.0.as_secs();
    let units = [(86400, "day"), (3600, "hour"), (60, "minute")];
    let is_whole =
        |(length, _): &(u64, &str)| seconds >= *length && seconds.is_multiple_of(*length);
    match units.into_iter().find(is_whole) {
        Some((length, unit)) => {
            counted(usize::try_from(seconds / length).unwrap_or(usize::MAX), unit)
        }
        None => duration.to_string(),
    }
}

/// The local time, with the date unless it is today's.
fn since(time: SystemTime) -> String {
    let zoned = |time| Timestamp::try_from(time).unwrap_or_default().to_zoned(TimeZone::system());
    let (time, now) = (zoned(time), zoned(SystemTime::now()));
    let form = if time.date() == now.date() { "%H:%M" } else { "%Y-%m-%d" };
    time.strftime(form).to_string()
}

/// Reports where something is kept, even if it does not exist yet.
fn check_location(name: &'static str, path: &Path) -> DoctorCheck {
    let shown = home_as_tilde(path);
    match contents(path) {
        Ok(Some(contents)) => {
            DoctorCheck::new(name, CheckStatus::Info, format!("{shown}{}", contents.summary()))
        }
        Ok(None) => DoctorCheck::new(name, CheckStatus::Info, format!("{shown}, none yet")),
        Err((file, error)) => {
            let file = home_as_tilde(&file);
            DoctorCheck::new(name, CheckStatus::Broken, format!("failed to read {file}: {error}"))
        }
    }
}

/// The size of a file or folder and when it last changed, as they follow its name. `None` if it cannot be read.
pub(super) fn size_and_age(path: &Path) -> Option<String> {
    contents(path).ok().flatten().map(|contents| contents.summary())
}

/// What a file, or all files of a folder, hold.
struct DiskUsage {
    /// How many files a folder has. `None` for a file.
    files: Option<usize>,
    bytes: u64,
    changed: Option<SystemTime>,
}

impl DiskUsage {
    fn summary(&self) -> String {
        let files = self.files.map(|files| format!(", {}", counted(files, "file")));
        let changed = self.changed.map(|changed| ago(changed, SystemTime::now()));
        let changed = changed.map(|changed| format!(", changed {changed}"));
        let (files, changed) = (files.unwrap_or_default(), changed.unwrap_or_default());
        format!("{files}, {}{changed}", size(self.bytes))
    }
}

/// Adds up what is there. `None` if there is nothing; the file or folder that cannot be read is named.
fn contents(path: &Path) -> Result<Option<DiskUsage>, (PathBuf, io::Error)> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err((path.to_owned(), error)),
    };
    if !metadata.is_dir() {
        let changed = metadata.modified().ok();
        return Ok(Some(DiskUsage { files: None, bytes: metadata.len(), changed }));
    }
    let unreadable = |error| (path.to_owned(), error);
    let (mut files, mut bytes, mut changed) = (0, 0, None);
    for entry in fs::read_dir(path).map_err(unreadable)? {
        // A file may be deleted meanwhile.
        let Some(below) = contents(&entry.map_err(unreadable)?.path())? else { continue };
        files += below.files.unwrap_or(1);
        bytes += below.bytes;
        changed = changed.max(below.changed);
    }
    Ok((files > 0).then_some(DiskUsage { files: Some(files), bytes, changed }))
}

/// The path as people write it: `~/.local/state`.
fn home_as_tilde(path: &Path) -> String {
    let home = environment::path("HOME").filter(|home| home.is_absolute());
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(below) => Path::new("~").join(below).display().to_string(),
        None => path.display().to_string(),
    }
}
