//! Arguments of `switchboard secret`.

use clap::{Args, Subcommand, ValueEnum};
use switchboard_vault::KeyPlace;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard secret set GITHUB_TOKEN            asks for it without showing it
  switchboard secret set DB_PASSWORD < password  takes it from a file
  switchboard secret list
  switchboard secret rm GITHUB_TOKEN
  switchboard secret rotate                      seals the vault with a new key

The config refers to a secret as ${secret:GITHUB_TOKEN}. The vault is an encrypted file in the state folder; its key is \
in the system's keyring if one answers when the vault is created, else in a file beside it.

Exit status: 0 success, 2 wrong usage, no such secret, or a vault that cannot be opened.")]
pub(crate) struct SecretArgs {
    #[command(subcommand)]
    pub(crate) action: SecretAction,
}

/// What to do with secrets.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretAction {
    /// Store a secret: typed without echo on a terminal, else read from stdin
    Set {
        /// Its name: letters, digits, `_`, `-` and `.`
        name: String,
    },
    /// List the names of the secrets
    List {
        /// Print an array of {name}
        #[arg(long)]
        json: bool,
    },
    /// Remove a secret
    Rm {
        /// Its name
        name: String,
    },
    /// Seal the vault with a new key
    Rotate {
        /// Where to keep the key [default: where it is]
        #[arg(long, value_name = "PLACE")]
        key: Option<KeyPlaceArg>,
    },
}

/// Where the vault's key is kept.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum KeyPlaceArg {
    /// In the system's keyring
    Keyring,
    /// In a file beside the vault, readable by you alone
    File,
}

impl From<KeyPlaceArg> for KeyPlace {
    fn from(place: KeyPlaceArg) -> Self {
        match place {
            KeyPlaceArg::Keyring => Self::Keyring,
            KeyPlaceArg::File => Self::File,
        }
    }
}
