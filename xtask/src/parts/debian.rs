//! Debian packages, installed system-wide.

use anyhow::{Result, bail};

use crate::shell::Run;

/// What the tests need of Debian.
pub(super) const PACKAGES: &[&str] = &[
    // A sound server with a null sink, and `pactl`, for control_speaker_volume.
    "alsa-utils",
    "dbus",
    "libasound2-plugins",
    "pipewire",
    "pulseaudio",
    "pulseaudio-utils",
    "wireplumber",
    // Browsers for the console; fonts for its pictures, and what makes those small.
    "chromium",
    "firefox-esr",
    "fonts-inter",
    "fonts-jetbrains-mono",
    "pngquant",
    // A keyring for the vault; it runs on `dbus`.
    "gnome-keyring",
    // Programs for command tools; the docs use jq too.
    "git",
    "jq",
    // The headers of ALSA, for cpal.
    "libasound2-dev",
    "pkg-config",
    // A broker for Z-Wave, and what publishes to it in the docs.
    "mosquitto",
    "mosquitto-clients",
    // What the docs tell people to use, and a network for each page.
    "curl",
    "iproute2",
    "systemd",
    // A clean root to install packages into, and the Python that makes a clean environment.
    "mmdebstrap",
    "python3-venv",
    // Proxies for the client of MCP servers, HTTP and SOCKS.
    "microsocks",
    "tinyproxy",
    // Scrapes /metrics.
    "prometheus",
    // A terminal that a test can type on and look at, for `chat`.
    "tmux",
    // What `sandbox learn` watches servers with.
    "strace",
    // Shells that complete by our scripts.
    "fish",
    "zsh",
];

/// Seconds to wait while another program installs packages.
const WAIT_FOR_LOCK: &str = "DPkg::Lock::Timeout=300";

/// Installs those of `packages` that are missing.
pub(super) fn install(packages: &[&str]) -> Result<()> {
    let wanted = missing(packages)?;
    if wanted.is_empty() {
        return Ok(());
    }
    eprintln!("installing {} (Debian)…", wanted.join(", "));
    let rights = rights(&wanted)?;
    apt_get(rights, &["update"]).quiet()?;
    let install = ["install", "-y", "--no-install-recommends", "-o", WAIT_FOR_LOCK];
    apt_get(rights, &install).arguments(&wanted).quiet()?;

    let still = missing(&wanted)?;
    if !still.is_empty() {
        bail!("apt-get succeeded, but dpkg does not list as installed: {}", still.join(", "));
    }
    Ok(())
}

fn missing<'a>(packages: &[&'a str]) -> Result<Vec<&'a str>> {
    let mut missing = Vec::new();
    for package in packages {
        // It fails for a package it has never heard of, and knows others that were removed again.
        let query = ["-W", "-f", "${db:Status-Status}", package];
        let output = Run::new("dpkg-query").arguments(query).output();
        let Ok(output) = output else {
            bail!(
                "this is not Debian (no dpkg-query), but the tests need its packages {}",
                packages.join(", ")
            );
        };
        if output.stdout != b"installed" {
            missing.push(*package);
        }
    }
    Ok(missing)
}

/// The program that starts `apt-get`, and the words between; through `env`, for sudo passes no variables on.
type Rights = (&'static str, &'static [&'static str]);

/// Finds out how we may change the system.
fn rights(wanted: &[&str]) -> Result<Rights> {
    if Run::new("id").arguments(["-u"]).text()? == "0" {
        return Ok(("env", &[]));
    }
    if Run::new("sudo").arguments(["-n", "true"]).succeeds() {
        return Ok(("sudo", &["-n", "env"]));
    }
    bail!(
        "the tests need Debian packages, but you are not root and `sudo -n` does not work; run this, then try again: \
         sudo apt-get update && sudo apt-get install -y --no-install-recommends {}",
        wanted.join(" ")
    );
}

fn apt_get((program, before): Rights, arguments: &[&str]) -> Run {
    let quietly = ["DEBIAN_FRONTEND=noninteractive", "apt-get"];
    Run::new(program).arguments(before).arguments(quietly).arguments(arguments)
}
