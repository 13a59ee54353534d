//! A package for Debian and its kin: an `ar` archive of two tars, control files and data.

use anyhow::Result;
use flate2::Compression;

use super::{
    Release,
    files::{EXECUTABLE, PLAIN, PackageFile, gzip, tar},
    platform::{Linkage, PlatformProgram},
};

/// The maintainer; replace it by a real address before you publish packages.
const MAINTAINER: &str = "The Switchboard developers <maintainers@example.com>";

/// Files as they are in `packaging/deb`, and where they go.
const UNITS: [(&str, &[u8]); 4] = [
    (
        "usr/lib/systemd/system/switchboard.service",
        include_bytes!("../../../packaging/deb/switchboard.service"),
    ),
    (
        "usr/lib/systemd/system/switchboard-worker.service",
        include_bytes!("../../../packaging/deb/switchboard-worker.service"),
    ),
    ("usr/lib/sysusers.d/switchboard.conf", include_bytes!("../../../packaging/deb/sysusers.conf")),
    (CONFIG, include_bytes!("../../../packaging/deb/switchboard.toml")),
];

const SCRIPTS: [(&str, &[u8]); 3] = [
    ("postinst", include_bytes!("../../../packaging/deb/postinst")),
    ("prerm", include_bytes!("../../../packaging/deb/prerm")),
    ("postrm", include_bytes!("../../../packaging/deb/postrm")),
];

const CONFIG: &str = "etc/switchboard/switchboard.toml";

/// Makes the package; returns its name and its bytes.
pub(super) fn package(release: &Release, program: &PlatformProgram) -> Result<(String, Vec<u8>)> {
    let data = data(release, program)?;
    let size = data.iter().filter_map(|file| file.content.as_ref()).map(Vec::len).sum::<usize>();
    let mut control = vec![
        PackageFile::new("control", PLAIN, control(release, program, size)),
        PackageFile::new("conffiles", PLAIN, format!("/{CONFIG}\n")),
    ];
    control.extend(SCRIPTS.map(|(name, script)| PackageFile::new(name, EXECUTABLE, script)));
    let pack =
        |files: &[PackageFile]| gzip(&tar(files, "./", release.modified)?, release.compression);
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", pack(&control)?),
        ("data.tar.gz", pack(&data)?),
    ];
    let (version, architecture) = (&release.version, program.architecture.debian_name());
    let name = format!("switchboard-gateway_{version}-1_{architecture}.deb");
    Ok((name, archive(&members, release.modified)))
}

fn control(release: &Release, program: &PlatformProgram, size: usize) -> String {
    let needs = match program.linkage {
        Linkage::Static => "",
        Linkage::Dynamic => "Depends: libc6\n",
    };
    let Release { version, repository, .. } = release;
    let architecture = program.architecture.debian_name();
    format!(
        "Package: switchboard-gateway\n\
         Version: {version}-1\n\
         Architecture: {architecture}\n\
         Maintainer: {MAINTAINER}\n\
         Installed-Size: {}\n\
         {needs}Recommends: ca-certificates\n\
         Section: net\n\
         Priority: optional\n\
         Homepage: {repository}\n\
         Description: Gateway and runtime for the tools that AI models call\n \
         One executor that checks, bounds and records every call of a tool: of MCP\n \
         servers, programs and HTTP APIs, for models, agents and MCP clients.\n",
        size.div_ceil(1024)
    )
}

fn data(release: &Release, program: &PlatformProgram) -> Result<Vec<PackageFile>> {
    let mut files = vec![PackageFile::new("usr/bin/switchboard", EXECUTABLE, &*program.bytes)];
    files.extend(UNITS.map(|(path, content)| PackageFile::new(path, PLAIN, content)));
    for page in &release.manual {
        let path = format!("usr/share/man/man1/{}.gz", page.path);
        let content = page.content.as_deref().unwrap_or_default();
        files.push(PackageFile::new(path, PLAIN, gzip(content, Compression::best())?));
    }
    for (shell, script) in &release.completions {
        files.push(script.at(match shell.as_str() {
            "zsh" => "usr/share/zsh/vendor-completions/_switchboard",
            "fish" => "usr/share/fish/vendor_completions.d/switchboard.fish",
            _ => "usr/share/bash-completion/completions/switchboard",
        }));
    }
    let documents = release.documents.iter();
    files.extend(documents.map(|file| {
        file.at(match file.path.as_str() {
            // What Debian's policy calls the file with the licence.
            "LICENSE-MIT" => "usr/share/doc/switchboard-gateway/copyright".to_owned(),
            name => format!("usr/share/doc/switchboard-gateway/{name}"),
        })
    }));
    Ok(files)
}

/// The common form of `ar`: a line of sixty characters before each member, which begin at even offsets.
fn archive(members: &[(&str, Vec<u8>)], modified: u64) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let head = format!("{name:<16}{modified:<12}0     0     100644  {:<10}`\n", content.len());
        archive.extend(head.as_bytes());
        archive.extend(content);
        if content.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_begin_at_even_offsets() {
        let packed = archive(&[("debian-binary", b"2.0\n".to_vec()), ("odd", vec![1])], 7);
        let text = String::from_utf8_lossy(&packed);
        let head = "debian-binary   7           0     0     100644  4         `\n";
        assert!(text.starts_with(&format!("!<arch>\n{head}2.0\nodd ")), "{text}");
        assert_eq!(packed.len(), 8 + 60 + 4 + 60 + 2);
    }
}
