//! Arguments of `switchboard approve`.

use clap::Args;
use clap_complete::ArgValueCandidates;

use crate::completion;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard approve                the calls that wait
  switchboard approve k7mq           allow one, this once; it is shown first
  switchboard approve k7mq --deny --reason 'not on a Friday'
  switchboard approve k7mq --always  allow it, always with these arguments
  switchboard approve --rules        what is always allowed
  switchboard approve --forget w2xe  ask again

Reaches the calls of every `serve`, `chat` and `voice` of the same user on this machine.

Exit status: 0 success, 1 there is no such approval, or it is over, 2 wrong usage or config.")]
pub(crate) struct ApproveArgs {
    /// The id of an approval, or how it begins
    #[arg(add = ArgValueCandidates::new(completion::approval_ids))]
    pub(crate) id: Option<String>,

    /// Do not let the call run
    #[arg(long, requires = "id")]
    pub(crate) deny: bool,

    /// Why; the model reads it where the call is denied
    #[arg(long, value_name = "TEXT", requires = "id")]
    pub(crate) reason: Option<String>,

    /// Allow the tool with exactly these arguments from now on
    #[arg(long, requires = "id", conflicts_with = "deny")]
    pub(crate) always: bool,

    /// Allow the tool with any arguments from now on
    #[arg(long, requires = "id", conflicts_with_all = ["deny", "always"])]
    pub(crate) always_tool: bool,

    /// Do not ask again after the call was shown on a terminal
    #[arg(short, long, requires = "id")]
    pub(crate) yes: bool,

    /// List what is always allowed
    #[arg(long, conflicts_with = "id")]
    pub(crate) rules: bool,

    /// Forget what is always allowed: such calls are asked about again
    #[arg(long, value_name = "RULE", conflicts_with_all = ["id", "rules"], add = ArgValueCandidates::new(completion::approval_rules))]
    pub(crate) forget: Option<String>,

    /// Print JSON: an array of approvals or rules, or the one that was changed
    #[arg(long)]
    pub(crate) json: bool,
}
