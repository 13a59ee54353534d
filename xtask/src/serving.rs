//! A program that serves, for as long as it is measured.

use std::{
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};

/// Returns a port that is free now.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A program that serves until this is dropped.
pub(crate) struct Serving(Child);

#[expect(clippy::disallowed_methods, reason = "processes live in real time")]
pub(crate) fn serve(command: &mut Command, folder: &Path, port: u16) -> Result<Serving> {
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}")]);
    command.current_dir(folder).env("XDG_STATE_HOME", folder).env("XDG_CONFIG_HOME", folder);
    let config = folder.join("switchboard.toml");
    if config.exists() {
        // One that is only found would have to be trusted.
        command.env("SWITCHBOARD_CONFIG", config);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut serving = Serving(command.spawn().context("failed to start the program")?);
    for _ in 0..600 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(serving);
        }
        if let Some(status) = serving.0.try_wait()? {
            bail!("`switchboard serve` ended ({status}) before it listened");
        }
        thread::sleep(Duration::from_millis(100));
    }
    bail!("`switchboard serve` does not listen after a minute")
}

impl Serving {
    /// Returns the id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
