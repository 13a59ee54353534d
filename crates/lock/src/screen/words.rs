//! Words by what they mean in an order to a model: sets of words, not phrases, so that another wording of the same order is found too.

use std::{collections::HashMap, sync::LazyLock};

use regex::Regex;

/// Each class with its words. A word may be in several; inflected forms are found by their stem, irregular ones are listed.
const CLASSES: &[(&str, &str)] = &[
    ("model", "assistant model llm ai agent claude gpt chatgpt copilot chatbot"),
    ("you", "you your yourself"),
    (
        "person",
        "user human person people operator customer they them anyone anybody nobody everyone him her sender requester somebody",
    ),
    (
        "not",
        "not never no without avoid refrain neither cannot nothing nobody no-one omit dont stop leave keep spare unnecessary off",
    ),
    (
        "tell",
        "tell told mention inform notify reveal disclose warn show say said explain report bother discuss acknowledge admit trouble",
    ),
    (
        "know",
        "know known aware notice see seen learn learnt realise realize suspect discover awareness knowledge consent attention watch worry upset confuse",
    ),
    ("ask", "ask confirm confirmation permission approval consent"),
    (
        "quiet",
        "secretly silently quietly discreetly covertly invisibly stealthily unnoticed surreptitiously unobtrusively quiet",
    ),
    ("hide", "hide hidden conceal secret confidential invisible secrecy"),
    (
        "secret",
        "password passphrase passwd credential cookie ssh netrc npmrc mnemonic keychain bearer apikey secret token pem login environ",
    ),
    ("private", "private ssh api access seed recovery signing deploy personal"),
    ("key", "key phrase"),
    ("public", "public"),
    ("env", "env dotenv rsa ed25519 id_rsa environ"),
    ("environment", "environment"),
    ("variable", "variable"),
    ("talk", "conversation transcript dialogue dialog thought chat reasoning"),
    (
        "message",
        "message prompt history turn word instruction question text output result answer tool",
    ),
    ("context", "message prompt history instruction context transcript"),
    (
        "past",
        "previous prior earlier past last recent far verbatim unabridged remember said typed wrote written told",
    ),
    ("all", "all every each whole full complete entire everything anything whatever any"),
    (
        "send",
        "send sent upload forward transmit exfiltrate post hand handed pass include append attach copy put supply add give given fill provide submit paste insert import encode mirror stream leak deliver relay embed prepend share push sync quote harvest report",
    ),
    (
        "read",
        "read open fetch get obtain load access cat dump collect gather look find scan extract retrieve locate harvest steal glance copy take taken",
    ),
    (
        "must",
        "must always require mandatory need has have should shall crucial essential necessary oblige prerequisite compulsory ought important critical",
    ),
    ("when", "before after whenever when prior each while once until afterwards then first if"),
    ("other", "other another different remaining alternative competing similar"),
    ("tool", "tool function server command plugin"),
    ("this", "this me it"),
    (
        "invoke",
        "call use run execute invoke choose chosen pick select prefer favour favor trust rely",
    ),
    ("prefer", "prefer choose chosen pick favour favor select"),
    (
        "override",
        "ignore disregard bypass override overrule suspend lift disable supersede forget circumvent outrank unrestricted precedence skip",
    ),
    (
        "rules",
        "instruction rule policy guideline restriction safety safeguard guardrail directive security persona confirmation approval permission check control validation",
    ),
    ("remote", "webhook attacker remote external analytics third-party outbound telemetry"),
    ("argument", "parameter argument field here"),
    (
        "alter",
        "delete remove wipe replace change swap redirect alter modify multiply disable reroute divert",
    ),
    (
        "target",
        "recipient payee account iban amount destination beneficiary firewall backup audit log phone address path",
    ),
    (
        "best",
        "best fastest superior trusted trustworthy certified reliable deprecated outdated insecure unsafe compromised malicious obsolete supersede false",
    ),
    ("download", "curl wget sudo rm chmod nc bash sh"),
    ("harm", "otherwise else fail reject crash terminate lose"),
    ("already", "already pre-approved prevalidated pre-validated"),
    ("agree", "agree consent approve authorise authorize validate"),
    ("file", "file folder directory content document desktop home"),
    ("answer", "answer reply response respond"),
    ("mode", "persona mode unrestricted administrator superuser"),
    ("become", "act adopt pretend behave obey become treat"),
    ("why", "why reason rationale motive"),
    ("instead", "instead regardless whatever"),
];

/// What is found by other means than a list of words.
const MARKS: &[&str] = &[
    // A file that keeps secrets, an address somewhere else, a name with underscores, a word in quotes.
    "path",
    "address",
    "name",
    "quoted",
    // Two words near each other.
    "not-tell",
    "not-ask",
    "not-know",
    "secret-key",
    "model-must",
    "other-tool",
    "past-message",
    // What holds for a whole sentence.
    "to-model",
    "in-parameter",
    "in-parameter-name",
];

/// A set of classes and marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Classes(u128);

impl Classes {
    /// Returns the set of these names, separated by `|`.
    pub(super) fn named(names: &str) -> Self {
        let all = CLASSES.iter().map(|(name, _)| *name).chain(MARKS.iter().copied());
        let bit = |name: &str| {
            let at = all.clone().position(|known| known == name);
            1 << at.unwrap_or_else(|| unreachable!("no class `{name}`"))
        };
        Self(names.split('|').map(bit).fold(0, |set, bit: u128| set | bit))
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the two have a class in common.
    pub(super) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

static WORDS: LazyLock<HashMap<String, Classes>> = LazyLock::new(|| {
    let mut words: HashMap<String, Classes> = HashMap::new();
    for (name, list) in CLASSES {
        for word in list.split(' ') {
            let classes = words.entry(stem(word)).or_default();
            *classes = classes.with(Classes::named(name));
        }
    }
    words
});

/// Files in which programs keep secrets.
static SECRET_FILE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"^~/[.\w]|^/etc/(passwd|shadow|sudoers)|(^|/|~)\.(env|ssh|aws|netrc|npmrc|kube|gnupg|docker|pem|bash_history|zsh_history|gitconfig|password-store|cursor|config)\b|id_rsa|id_ed25519|wallet\.dat|mcp\.json|^/proc/|^/root/|\.(pem|gpg|kdbx)$|authorized_keys|^\*\.(pem|key|env)";
    Regex::new(pattern).expect("a fixed pattern")
});

/// Addresses of sites, mailboxes, telephones and bank accounts.
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"^https?://|^[\w.+-]+@[\w-]+\.\w+|^\d+\.\d+\.\d+\.\d+|^[\w-]+(\.[\w-]+)*\.(com|net|ru|xyz|example|invalid|evil|top)\b|^\+\d{2,}|^[a-z]{2}\d\d\d*$";
    Regex::new(pattern).expect("a fixed pattern")
});

static NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[a-z]+_[a-z_]+$").expect("a fixed pattern"));

/// Returns what a word in lower case is.
pub(super) fn classify(word: &str) -> Classes {
    let of = |word: &str| WORDS.get(&stem(word)).copied().unwrap_or_default();
    let mut classes = of(word);
    for part in word.split(['-', '/', '\'']) {
        classes = classes.with(of(part));
    }
    if word.bytes().any(|byte| !byte.is_ascii_lowercase()) {
        for (pattern, mark) in [(&*SECRET_FILE, "path"), (&*ADDRESS, "address"), (&*NAME, "name")] {
            if pattern.is_match(word) {
                classes = classes.with(Classes::named(mark));
            }
        }
    }
    classes
}

/// Returns a word without its ending: enough to find `send` in `sends`, `sending` and.
fn stem(word: &str) -> String {
    if word.ends_with("n't") {
        return "not".to_owned();
    }
    if word.len() > 4
        && let Some(begin) = word.strip_suffix("ies").or_else(|| word.strip_suffix("ied"))
    {
        return format!("{begin}y");
    }
    let ending = ["ing", "ed", "es", "s"].into_iter().find_map(|ending| {
        let begin = word.strip_suffix(ending)?;
        (begin.len() >= 3 && !word.ends_with("ss")).then_some(begin)
    });
    let mut stem = ending.unwrap_or(word);
    // `dropping` without its ending is `dropp`.
    if let [.., before, last] = stem.as_bytes()
        && stem.len() > 3
        && before == last
        && b"tpdnrgm".contains(last)
    {
        stem = &stem[..stem.len() - 1];
    }
    if stem.len() > 3 {
        stem = stem.strip_suffix('e').unwrap_or(stem);
    }
    stem.to_owned()
}
