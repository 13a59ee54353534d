//! An npm package that holds the programs of all architectures, and a script that starts the right one: `npx`, `npm install -g`.
//!
//! The script is one of the shell, which the program replaces: no Node.js stays in memory beside it.

use anyhow::Result;
use serde_json::json;

use super::{
    Release,
    files::{EXECUTABLE, PLAIN, PackageFile, gzip, tar},
};

const LAUNCHER: &[u8] = include_bytes!("../../../packaging/npm/switchboard");

/// Makes the package; returns its name and its bytes.
pub(super) fn package(release: &Release) -> Result<(String, Vec<u8>)> {
    let architectures: Vec<_> =
        release.programs.iter().map(|program| program.architecture.node_name()).collect();
    let manifest = json!({
        "name": "switchboard-gateway",
        "version": release.version,
        "description": release.description,
        "keywords": ["mcp", "ai", "gateway", "tools", "agent"],
        "homepage": release.repository,
        "license": format!("({})", release.licence),
        "bin": {"switchboard": "bin/switchboard"},
        "os": ["linux"],
        "cpu": architectures,
        "files": ["bin", "licenses"],
    });
    let manifest = serde_json::to_string_pretty(&manifest)? + "\n";
    let mut files = vec![
        PackageFile::new("package.json", PLAIN, manifest),
        PackageFile::new("README.md", PLAIN, release.readme.as_str()),
        PackageFile::new("bin/switchboard", EXECUTABLE, LAUNCHER),
    ];
    for program in &release.programs {
        let path = format!("bin/linux-{}/switchboard", program.architecture.node_name());
        files.push(PackageFile::new(path, EXECUTABLE, &*program.bytes));
    }
    let licences = release.documents.iter().filter(|file| file.path != "README.md");
    files.extend(licences.map(|file| file.at(format!("licenses/{}", file.path))));
    let packed = gzip(&tar(&files, "package/", release.modified)?, release.compression)?;
    Ok((format!("switchboard-gateway-{}.tgz", release.version), packed))
}
