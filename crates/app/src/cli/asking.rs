//! `ask` and `chat` on the command line.

use std::{num::NonZeroU32, path::PathBuf};

use clap::{Args, ValueHint};
use clap_complete::ArgValueCandidates;
use switchboard_toolcall::HumanDuration;

use crate::completion;

/// The model and its tools; the same for `ask`, `chat` and `voice`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ModelArgs {
    #[arg(long, short, value_name = "MODEL", help = MODEL, long_help = MODEL_HELP, add = ArgValueCandidates::new(completion::model_names))]
    pub(crate) model: Option<String>,

    /// Offer only the tools whose names match; may be repeated [default: the model's `tools`, else all]
    #[arg(long, value_name = "GLOB")]
    pub(crate) tools: Vec<String>,

    /// Offer only the tools of this profile, as they look there
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completion::profile_names))]
    pub(crate) profile: Option<String>,

    /// What the model should know and obey
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,

    /// How often the model is asked at most; the last time without tools
    #[arg(long, value_name = "N")]
    pub(crate) max_iterations: Option<NonZeroU32>,
}

const MODEL: &str = "The model: a name of [models.*], PROVIDER:MODEL[@URL], or demo
[default: the first of [models.*], else one that $ANTHROPIC_API_KEY or $OPENAI_API_KEY is for, else one of an Ollama]";

const MODEL_HELP: &str = "The model that is asked:
  local                        the one of [models.local] in the config
  anthropic:claude-sonnet-4-5  Anthropic, with the key in $ANTHROPIC_API_KEY
  openai:gpt-5-mini            OpenAI, with the key in $OPENAI_API_KEY
  openai-responses:gpt-5.4     OpenAI's Responses API, with the same key
  openai:NAME@http://host/v1   a server that speaks OpenAI's chat completions, key or not
  ollama:qwen3:0.6b[@http://host:11434]
  demo                         none: answers that are built in, to see how it works
  script:FILE                  none: answers of a file
Default: the first of [models.*]. Without one: $ANTHROPIC_API_KEY, then $OPENAI_API_KEY, with the model above. \
Without these: a model of the Ollama at $OLLAMA_HOST or its usual port, one that can call tools if it has one";

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard ask \"How many cm are 2 inch?\"
  switchboard ask -m ollama:qwen3:0.6b --tools 'math_*' \"What is 17% of 345?\"
  git diff | switchboard ask \"Summarise this change\"
  switchboard ask - < question.txt
  switchboard ask --json -m demo \"Try it without a model\"
  switchboard ask --schema city.json \"Which city has the most people?\"

What comes through a pipe or from a file on stdin follows the question; a word - says where it goes.

Exit status: 0 there is an answer, 1 the model failed or gave none, 2 wrong usage or config, \
130 Ctrl-C.")]
pub(crate) struct AskArgs {
    /// The question; - stands for stdin
    #[arg(value_name = "QUESTION|-")]
    pub(crate) question: Vec<String>,

    #[command(flatten)]
    pub(crate) model_args: ModelArgs,

    /// Print the answer while it comes, and what the model says between calls (the default)
    #[arg(long, overrides_with = "no_stream")]
    pub(crate) stream: bool,

    /// Print only the answer, when it is complete
    #[arg(long)]
    pub(crate) no_stream: bool,

    /// Print one object {answer, messages, usage, run_id, shortened}, with `error` if there is no answer
    #[arg(long)]
    pub(crate) json: bool,

    /// The answer is JSON that fits the JSON Schema in this file; it is asked for once more if it does not
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) schema: Option<PathBuf>,

    /// How long it all may take, such as 30s or 5m [default: `time_budget` of the config, else no limit]
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<HumanDuration>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard chat
  switchboard chat -m anthropic:claude-sonnet-4-5 --tools 'git__*'
  switchboard chat --list
  switchboard chat --resume  the last one, with its model

Commands: /help, /tools, /model [NAME], /save [FILE], /clear, /quit. \
Ctrl-C cancels what the model does; at the prompt it clears the line, and twice it ends the chat, \
as Ctrl-D does. After each turn the chat is saved under $XDG_STATE_HOME/switchboard/chats. \
Without a terminal each line of stdin is a turn.

Exit status: 0 success, 1 a turn failed and nobody sat there to see it, 2 wrong usage or config.")]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) model_args: ModelArgs,

    /// Go on with a saved chat: its id or the beginning of it, or a file [default: the last one]
    #[arg(long, value_name = "ID|FILE", num_args = 0..=1, add = ArgValueCandidates::new(completion::chat_ids))]
    pub(crate) resume: Option<Option<String>>,

    /// List the saved chats, the last one first
    #[arg(long, conflicts_with = "resume")]
    pub(crate) list: bool,

    /// With --list: print an array of {id, model, started, updated, turns, title}
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
}
