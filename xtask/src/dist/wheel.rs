//! A Python package that holds nothing but the program, as the script `switchboard`: `pip install`, `uv tool install`, `uvx`.

use std::io::{Cursor, Write};

use anyhow::{Context, Result};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{
    Release,
    files::{EXECUTABLE, PLAIN, PackageFile},
    platform::{Linkage, PlatformProgram},
};

/// `uvx switchboard-gateway` looks for a script of the package's name.
const ALIAS: &str = "#!/bin/sh\nexec \"$(dirname \"$(readlink -f \"$0\")\")/switchboard\" \"$@\"\n";

/// Makes the package; returns its name and its bytes.
pub(super) fn package(release: &Release, program: &PlatformProgram) -> Result<(String, Vec<u8>)> {
    let version = &release.version;
    let stem = format!("switchboard_gateway-{version}");
    let tags = tags(program);
    let info = format!("{stem}.dist-info");
    let script = |name: &str| format!("{stem}.data/scripts/{name}");
    let mut files = vec![
        PackageFile::new(script("switchboard"), EXECUTABLE, &*program.bytes),
        PackageFile::new(script("switchboard-gateway"), EXECUTABLE, ALIAS),
    ];
    let licences = release.documents.iter().filter(|file| file.path != "README.md");
    files.extend(licences.map(|file| file.at(format!("{info}/licenses/{}", file.path))));
    files.push(PackageFile::new(format!("{info}/METADATA"), PLAIN, metadata(release)));
    files.push(PackageFile::new(format!("{info}/WHEEL"), PLAIN, description(&tags)));
    let record = format!("{info}/RECORD");
    files.push(PackageFile::new(&record, PLAIN, list(&files, &record)));
    Ok((format!("{stem}-py3-none-{}.whl", tags.join(".")), zip(&files, release)?))
}

/// Which systems may install it. A program that needs no library runs on every one; another is not for the index, which
/// refuses `linux`.
fn tags(program: &PlatformProgram) -> Vec<String> {
    let architecture = program.architecture.kernel_name();
    let systems: &[&str] = match program.linkage {
        Linkage::Static => &["manylinux_2_17", "manylinux2014", "musllinux_1_1"],
        Linkage::Dynamic => &["linux"],
    };
    systems.iter().map(|system| format!("{system}_{architecture}")).collect()
}

fn metadata(release: &Release) -> String {
    let Release { version, description, licence, repository, readme, .. } = release;
    let licences = release.documents.iter().filter(|file| file.path != "README.md");
    let licences: String = licences.map(|file| format!("License-File: {}\n", file.path)).collect();
    format!(
        "Metadata-Version: 2.4\nName: switchboard-gateway\nVersion: {version}\nSummary: {description}\n\
         Project-URL: Source, {repository}\nLicense-Expression: {licence}\n{licences}\
         Keywords: mcp,ai,gateway,tools,agent\nRequires-Python: >=3.8\n\
         Description-Content-Type: text/markdown\n\n{readme}"
    )
}

fn description(tags: &[String]) -> String {
    let tags: String = tags.iter().map(|tag| format!("Tag: py3-none-{tag}\n")).collect();
    format!("Wheel-Version: 1.0\nGenerator: switchboard-xtask\nRoot-Is-Purelib: false\n{tags}")
}

/// Every file with its hash, and the list itself without one.
fn list(files: &[PackageFile], own_path: &str) -> String {
    let lines = files.iter().map(|file| {
        let content = file.content.as_deref().unwrap_or_default();
        let hash = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(content));
        format!("{},sha256={hash},{}\n", file.path, content.len())
    });
    lines.chain([format!("{own_path},,\n")]).collect()
}

fn zip(files: &[PackageFile], release: &Release) -> Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for file in files {
        // The time is the same for all: the first that the format knows.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(release.compression.level().into()))
            .unix_permissions(file.mode);
        archive.start_file(&file.path, options)?;
        archive
            .write_all(file.content.as_deref().unwrap_or_default())
            .with_context(|| format!("failed to pack `{}`", file.path))?;
    }
    Ok(archive.finish()?.into_inner())
}
