//! Whole results and binaries, stored once under the hash of their content.
//!
//! A file holds the media type, a newline, and the content as it is. Its id is the first 32 hex digits of the
//! SHA-256 over the whole file, so `sha256sum` checks it.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use bytes::Bytes;
use sha2::{Digest, Sha256};
use switchboard_runtime::{artifacts::ArtifactContent, private_files};

use crate::{chain::hex, error::Error, layout::create_folder};

/// The folder of the artifacts.
#[derive(Clone, Debug)]
pub(crate) struct ArtifactFolder {
    folder: PathBuf,
    /// The largest artifact in bytes.
    most: u64,
}

/// How many hex digits an id has.
const DIGITS: usize = 32;

impl ArtifactFolder {
    pub(crate) fn new(folder: PathBuf, most: u64) -> Self {
        Self { folder, most }
    }

    /// Stores the content. Returns its id; existing content is only marked as new.
    pub(crate) fn keep(&self, content: &ArtifactContent) -> Result<String, Error> {
        let size = content.bytes.len() as u64;
        if size > self.most {
            return Err(Error::TooLarge { size, most: self.most });
        }
        let media_type = content.media_type.replace(['\n', '\r'], " ");
        let parts = [media_type.as_bytes(), b"\n", &content.bytes];
        let id = id_of(&parts);
        let path = self.path(&id);
        if touch(&path, size + media_type.len() as u64 + 1).is_ok_and(|is_whole| is_whole) {
            return Ok(id);
        }
        if let Some(folder) = path.parent() {
            create_folder(folder)?;
        }
        write(&path, &parts).map_err(Error::file("write", &path))?;
        Ok(id)
    }

    /// Returns the content with this id.
    pub(crate) fn read(&self, id: &str) -> Result<Option<ArtifactContent>, Error> {
        if id.len() != DIGITS || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let id = id.to_ascii_lowercase();
        let path = self.path(&id);
        let whole = match fs::read(&path) {
            Ok(whole) => Bytes::from(whole),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file("read", &path)(error)),
        };
        let line = whole.iter().position(|byte| *byte == b'\n');
        let Some(line) = line.filter(|_| id_of(&[&whole]) == id) else {
            return Err(Error::damaged(&path, "its content is not what was kept"));
        };
        let media_type = String::from_utf8_lossy(&whole[..line]).into_owned();
        Ok(Some(ArtifactContent { media_type, bytes: whole.slice(line + 1..) }))
    }

    /// Returns every artifact: its id, its size and when it was last stored.
    pub(crate) fn all(&self) -> Result<Vec<ArtifactFile>, Error> {
        let mut all = Vec::new();
        let Ok(folders) = fs::read_dir(&self.folder) else { return Ok(all) };
        for folder in folders.flatten() {
            let Ok(files) = fs::read_dir(folder.path()) else { continue };
            for file in files {
                let file = file.map_err(Error::file("read the folder", &folder.path()))?;
                let (Ok(metadata), path) = (file.metadata(), file.path()) else { continue };
                let id = file.file_name().to_string_lossy().into_owned();
                let kept = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                all.push(ArtifactFile { id, path, size: metadata.len(), kept });
            }
        }
        Ok(all)
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(&id[..2]).join(id)
    }
}

/// Returns the id of the concatenated parts.
fn id_of(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    let digest = hex(hasher.finalize().into());
    String::from_utf8_lossy(&digest[..DIGITS]).into_owned()
}

/// Marks a file as new, so that it is not collected before its record is written. Returns `false` if it is incomplete.
fn touch(path: &Path, size: u64) -> io::Result<bool> {
    let file = File::options().append(true).open(path)?;
    file.set_modified(SystemTime::now())?;
    Ok(file.metadata()?.len() == size)
}

/// A file of an artifact, or one that a dying process left half-written.
pub(crate) struct ArtifactFile {
    pub(crate) id: String,
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    pub(crate) kept: SystemTime,
}

/// Writes a file atomically.
pub(crate) fn write(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let fresh = path.with_extension(format!("{}-{count}.new", process::id()));
    let mut options = File::options();
    let opened = private_files::open(options.create_new(true).write(true), &fresh);
    let written = opened.and_then(|mut file| {
        parts.iter().try_for_each(|part| file.write_all(part))?;
        fs::rename(&fresh, path)
    });
    if written.is_err() {
        _ = fs::remove_file(&fresh);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(media_type: &str, bytes: &'static [u8]) -> ArtifactContent {
        ArtifactContent { media_type: media_type.to_owned(), bytes: Bytes::from_static(bytes) }
    }

    // RS-5, RS-6
    #[test]
    fn the_same_content_is_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = ArtifactFolder::new(folder.path().join("artifacts"), 10);
        let id = artifacts.keep(&stored("text/plain", b"hello")).unwrap();
        assert_eq!(artifacts.keep(&stored("text/plain", b"hello")).unwrap(), id);
        let other = artifacts.keep(&stored("text/html", b"hello")).unwrap();
        assert_ne!(other, id);
        assert_eq!(artifacts.all().unwrap().len(), 2);
        assert_eq!(artifacts.read(&id).unwrap(), Some(stored("text/plain", b"hello")));
        for nothing in ["", "../../../etc/passwd", &"0".repeat(32)] {
            assert_eq!(artifacts.read(nothing).unwrap(), None);
        }
        fs::write(artifacts.path(&id), "text/plain\nhellO").unwrap();
        let error = artifacts.read(&id).unwrap_err().to_string();
        assert!(error.contains("its content is not what was kept"), "{error}");
        // What is not whole is written again.
        fs::write(artifacts.path(&id), "text/p").unwrap();
        artifacts.keep(&stored("text/plain", b"hello")).unwrap();
        assert_eq!(artifacts.read(&id).unwrap(), Some(stored("text/plain", b"hello")));
        let error = artifacts.keep(&stored("text/plain", b"hello world")).unwrap_err();
        assert_eq!(error.to_string(), "11 bytes are more than the 10 that one artifact may have");
    }
}
