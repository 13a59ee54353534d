//! Arguments of `switchboard login` and `logout`.

use clap::Args;
use clap_complete::ArgValueCandidates;

use crate::completion;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard login linear           opens $BROWSER, or the system's browser
  switchboard login linear --device  shows a code to type on another device
  switchboard login linear --paste   asks for the address where a browser ended

The sign-in is kept in the vault and renewed by itself, if the server's authorization server allows that.

Exit status: 0 signed in, 1 refused or failed, 2 there is no such server, wrong usage or config.")]
pub(crate) struct LoginArgs {
    /// The name of the server or API in the config
    #[arg(add = ArgValueCandidates::new(completion::sign_in_names))]
    pub(crate) server: String,

    /// Sign in on another device, with a code
    #[arg(long)]
    pub(crate) device: bool,

    /// Read the address that the browser ended on from stdin, and open none
    #[arg(long, conflicts_with = "device")]
    pub(crate) paste: bool,
}

impl LoginArgs {
    /// A sign-in in the browser.
    pub(crate) fn browser(server: String) -> Self {
        Self { server, device: false, paste: false }
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 nobody is signed in now, 2 there is no such server, wrong usage or config."
)]
pub(crate) struct LogoutArgs {
    /// The name of the server or API in the config
    #[arg(add = ArgValueCandidates::new(completion::sign_in_names))]
    pub(crate) server: String,
    /// Sign this caller out, of a server with `auth = "user"`: a token's name, a JWT's subject, or `owner`
    #[arg(long, value_name = "NAME", default_value = "owner")]
    pub(crate) caller: String,
}
