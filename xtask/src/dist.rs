//! Makes what is published, into `target/dist`: static programs and every package that carries them, with their sums, what they
//! are made of and the licences of that.
//!
//! Nothing is needed but Rust, Python and the network; packages are written here, without the tools of their systems.

mod build;
mod deb;
mod files;
mod licences;
mod linked;
mod npm;
mod oci;
mod platform;
mod release;
mod sbom;
mod source;
mod sums;
mod wheel;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::{
    parts,
    shell::{Run, bold, root},
    test,
};
use files::{EXECUTABLE, PackageFile, gzip, tar};
use platform::{Architecture, PlatformProgram};
use release::Release;

/// Where tests find packages that were made before.
const DIST_VARIABLE: &str = "SWITCHBOARD_DIST";

#[derive(Args)]
pub(crate) struct DistOptions {
    /// Package this program instead of building one; once for each architecture
    #[arg(long, value_name = "FILE")]
    binary: Vec<PathBuf>,
    /// A program that writes the manual and the completions, if none of the packaged ones runs on this machine
    #[arg(long, value_name = "FILE")]
    native: Option<PathBuf>,
    /// The folder to write to, which is emptied
    #[arg(long, value_name = "FOLDER", default_value = "target/dist")]
    output: PathBuf,
    /// Then install each package into a clean root and use it, and install from source
    #[arg(long)]
    check: bool,
}

/// Makes all packages.
pub(crate) fn run(options: &DistOptions) -> Result<()> {
    let built = match &options.binary[..] {
        [] => build_all()?,
        given => given.to_vec(),
    };
    let mut programs = Vec::new();
    for file in &built {
        let failed = || format!("failed to package `{}`", file.display());
        programs.push(
            fs::read(file)
                .map_err(Into::into)
                .and_then(PlatformProgram::new)
                .with_context(failed)?,
        );
    }
    let native = match &options.native {
        Some(native) => native,
        None => {
            let host = Architecture::of_host();
            let own = programs.iter().position(|program| Some(program.architecture) == host);
            &built[own.context("none of the programs runs here; --native names one that does")?]
        }
    };
    let release = Release::new(programs, native, options.binary.is_empty())?;
    let output = root().join(&options.output);
    write(&release, &output)?;
    eprintln!("{} {}", bold("Packages are in"), output.display());
    if options.check { check(&release, &output) } else { Ok(()) }
}

fn build_all() -> Result<Vec<PathBuf>> {
    let build = |architecture: Architecture| {
        eprintln!("{}", bold(&format!("Building for {}", architecture.static_target())));
        build::program(architecture)
    };
    Architecture::ALL.into_iter().map(build).collect()
}

fn write(release: &Release, output: &Path) -> Result<()> {
    if output.exists() {
        fs::remove_dir_all(output)
            .with_context(|| format!("failed to empty `{}`", output.display()))?;
    }
    fs::create_dir_all(output)?;
    let mut packages = vec![npm::package(release)?, oci::package(release)?];
    for program in &release.programs {
        packages.push(bare(release, program)?);
        packages.push(deb::package(release, program)?);
        packages.push(wheel::package(release, program)?);
    }
    let version = &release.version;
    packages.push((format!("switchboard-{version}.cdx.json"), release.sbom.clone().into_bytes()));
    for (name, content) in packages {
        fs::write(output.join(&name), &content)
            .with_context(|| format!("failed to write `{name}`"))?;
        eprintln!("{:>9.1} MB  {name}", content.len() as f64 / 1e6);
    }
    sums::write(output)
}

/// The program with its papers, for people who unpack it themselves.
fn bare(release: &Release, program: &PlatformProgram) -> Result<(String, Vec<u8>)> {
    let mut files = vec![PackageFile::new("switchboard", EXECUTABLE, &*program.bytes)];
    files.extend(release.documents.iter().cloned());
    files.extend(release.manual.iter().map(|page| page.at(format!("man/{}", page.path))));
    let scripts = release.completions.iter();
    files.extend(
        scripts.map(|(shell, script)| script.at(format!("completions/switchboard.{shell}"))),
    );
    let stem =
        format!("switchboard-{}-{}-linux", release.version, program.architecture.kernel_name());
    let archive = tar(&files, &format!("{stem}/"), release.modified)?;
    Ok((format!("{stem}.tar.gz"), gzip(&archive, release.compression)?))
}

/// Runs the tests that install the packages, with those that were just made, and installs from source.
fn check(release: &Release, output: &Path) -> Result<()> {
    let host = Architecture::of_host();
    if release.programs.iter().any(|program| Some(program.architecture) != host) {
        parts::install_debian(&["qemu-user-static"])?;
    }
    let parts = parts::install()?;
    let paths = (parts.to_str(), output.to_str());
    let (Some(parts), Some(output)) = paths else { anyhow::bail!("a path is not UTF-8") };
    let tests = ["test", "--package", "switchboard", "--features", "real-parts", "--test", "real"];
    let outcome = Run::cargo(tests)
        .arguments(["--", "packages::", "--nocapture"])
        .environment(test::PARTS_VARIABLE, parts)
        .environment(DIST_VARIABLE, output)
        .stream();
    ensure!(outcome.is_ok(), "the packages in {output} do not work; see above");
    source::check()
}
