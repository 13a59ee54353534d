//! The files of a package, and the archives that hold them. The same files make the same archive, byte by byte.

use std::{collections::BTreeSet, io::Write};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// A program, or a script.
pub(super) const EXECUTABLE: u32 = 0o755;
/// Everything else.
pub(super) const PLAIN: u32 = 0o644;

/// A file of a package, or a folder that has to be there.
#[derive(Clone)]
pub(super) struct PackageFile {
    /// From the root of the package, without a leading slash.
    pub(super) path: String,
    pub(super) mode: u32,
    /// Who owns it, user and group alike.
    pub(super) owner: u32,
    /// `None` for a folder.
    pub(super) content: Option<Vec<u8>>,
}

impl PackageFile {
    pub(super) fn new(path: impl Into<String>, mode: u32, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), mode, owner: 0, content: Some(content.into()) }
    }

    pub(super) fn folder(path: &str, mode: u32, owner: u32) -> Self {
        Self { path: path.to_owned(), mode, owner, content: None }
    }

    /// The same file at another place.
    pub(super) fn at(&self, path: impl Into<String>) -> Self {
        Self { path: path.into(), ..self.clone() }
    }
}

/// An archive of the files, with the folders above them, each name after `prefix`.
pub(super) fn tar(files: &[PackageFile], prefix: &str, modified: u64) -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    let mut folders = BTreeSet::new();
    for file in files {
        for (end, _) in file.path.match_indices('/') {
            let above = &file.path[..end];
            let is_listed = files.iter().any(|other| other.path == above);
            if !is_listed && folders.insert(above.to_owned()) {
                append(&mut archive, &PackageFile::folder(above, 0o755, 0), prefix, modified)?;
            }
        }
        append(&mut archive, file, prefix, modified)
            .with_context(|| format!("failed to pack `{}`", file.path))?;
    }
    Ok(archive.into_inner()?)
}

fn append(
    archive: &mut Builder<Vec<u8>>,
    file: &PackageFile,
    prefix: &str,
    modified: u64,
) -> Result<()> {
    let content = file.content.as_deref().unwrap_or_default();
    let mut header = Header::new_gnu();
    header.set_mode(file.mode);
    header.set_uid(file.owner.into());
    header.set_gid(file.owner.into());
    header.set_mtime(modified);
    header.set_size(content.len() as u64);
    let (kind, slash) = match file.content {
        Some(_) => (EntryType::Regular, ""),
        None => (EntryType::Directory, "/"),
    };
    header.set_entry_type(kind);
    let path = format!("{prefix}{}{slash}", file.path);
    // `append_data` would drop the `./` that dpkg expects.
    if header.as_gnu().is_some() && path.len() <= 100 {
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        archive.append(&header, content)?;
    } else {
        archive.append_data(&mut header, path, content)?;
    }
    Ok(())
}

/// The bytes, compressed; without a name or a time, so that they are the same each time.
pub(super) fn gzip(bytes: &[u8], level: Compression) -> Result<Vec<u8>> {
    let mut writer = GzBuilder::new().mtime(0).write(Vec::new(), level);
    writer.write_all(bytes)?;
    Ok(writer.finish()?)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn an_archive_has_the_folders_above_its_files_and_is_the_same_each_time() {
        let files = [
            PackageFile::new("usr/bin/switchboard", EXECUTABLE, "program"),
            PackageFile::folder("tmp", 0o1777, 7),
            PackageFile::new("usr/bin/other", PLAIN, "x"),
            PackageFile::new("a/".to_owned() + &"long/".repeat(30) + "name", PLAIN, "y"),
        ];
        let packed = tar(&files, "./", 42).unwrap();
        assert_eq!(packed, tar(&files, "./", 42).unwrap());
        let mut archive = tar::Archive::new(&packed[..]);
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let (header, path) = (entry.header(), entry.path_bytes().into_owned());
            assert_eq!(header.mtime().unwrap(), 42);
            let path = String::from_utf8(path).unwrap();
            (path, header.mode().unwrap(), header.uid().unwrap())
        });
        let entries: Vec<_> = entries.collect();
        let expected = [
            ("./usr/".to_owned(), 0o755, 0),
            ("./usr/bin/".to_owned(), 0o755, 0),
            ("./usr/bin/switchboard".to_owned(), 0o755, 0),
            ("./tmp/".to_owned(), 0o1777, 7),
            ("./usr/bin/other".to_owned(), 0o644, 0),
        ];
        assert_eq!(entries[..5], expected);
        assert!(entries.last().unwrap().0.ends_with("long/name"), "{entries:?}");
    }

    #[test]
    fn what_is_compressed_can_be_read_again() {
        let packed = gzip(b"text", Compression::best()).unwrap();
        let mut text = String::new();
        GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
    }
}
