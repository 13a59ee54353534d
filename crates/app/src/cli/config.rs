//! Arguments of `config`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  switchboard config path                      which file is used here
  switchboard config check --config home.toml  what is wrong with it
  switchboard config schema > switchboard.schema.json

With the schema, editors complete and check keys. In a TOML config its first line names it, for taplo and VS Code's \
Even Better TOML:
  #:schema ./switchboard.schema.json

To change a config: `switchboard init`, `add`, `import`, `remove`, `enable`, `disable`.

Exit status: 0 success, 1 there is no config, 2 wrong usage or config."
)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) action: ConfigAction,
}

/// What to do with the config.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Print the path of the config that is used
    Path,
    /// Read the config and say what is wrong with it, without starting anything
    Check,
    /// Print the JSON Schema of the config
    Schema,
}
