//! Words which together are an order to the model, or a request for secrets.
//!
//! A real tool's description has any of these words, but seldom these ones near each other.

use std::sync::LazyLock;

use super::words::Classes;

/// Orders to the model: within how many words, and one word of each of these classes (`|`: of any of them; `!`: of none).
const ORDERS: &[(usize, &str)] = &[
    // To hide something from a person.
    (12, "not-tell person !ask|in-parameter"),
    (12, "not-tell you|send|argument|model|to-model !in-parameter"),
    (10, "not-know person"),
    (8, "quiet send|read|download"),
    (10, "hide person not|must|send"),
    (12, "hide to-model"),
    (9, "not-ask agree|person|invoke|send !in-parameter"),
    (8, "person already agree"),
    (8, "already agree send|rules"),
    // What a model has to do, beside what it is asked for.
    (10, "model-must send|read|invoke|alter|not|answer|become"),
    (40, "to-model must|not|send|read|invoke|override|alter|download"),
    (8, "become mode|model"),
    (8, "become rules !not"),
    (10, "override rules you|model|all|person|tool"),
    (7, "override rules !in-parameter"),
    (14, "harm must not path|secret|secret-key|person|send"),
    (10, "download address|path|must"),
    // About other tools, and every answer.
    (12, "other-tool invoke|read|send when must|send"),
    (12, "other-tool not invoke must|best|person"),
    (10, "other-tool not invoke when|best"),
    (12, "other-tool best"),
    (12, "other-tool instead invoke"),
    (12, "other-tool override"),
    (10, "other-tool prefer"),
    (12, "best invoke other-tool|model"),
    (10, "invoke this answer when all|must"),
    (14, "answer address|send must|all you"),
    // To change what others asked for, or where it goes.
    (12, "alter target name|address must|when"),
    (12, "name must when target"),
    (10, "name alter must|all instead|tool"),
    (16, "all must address"),
    (12, "target address must|all|send|alter"),
    (14, "send address when|must|all|person"),
    (12, "remote send person|talk|secret|file"),
];

/// Requests for secrets, files or the conversation.
const SECRETS: &[(usize, &str)] = &[
    (14, "path read|send|must|argument|person|quoted"),
    (12, "secret-key send|person argument|must|quoted !override"),
    (12, "secret-key read|file person|send"),
    (12, "secret person send|must !in-parameter"),
    (12, "secret|secret-key send argument|quoted must|when|person"),
    (12, "secret read send must|person|argument|when|address"),
    (12, "secret send address|remote"),
    (10, "secret|secret-key person when|send !in-parameter"),
    (6, "in-parameter-name file secret|secret-key|env !public"),
    (6, "in-parameter-name path"),
    (12, "past-message send person|you|model|address|remote|argument"),
    (12, "talk send|address|remote argument|address|remote|person"),
    (12, "in-parameter talk all|past"),
    (12, "in-parameter past person context|talk"),
    (12, "in-parameter past you context|talk|tool"),
    (9, "in-parameter why you|model|person"),
    (6, "in-parameter-name talk|context past|all|you"),
];

/// Classes that are suspicious near each other.
pub(super) struct Combination {
    /// Within how many words.
    pub(super) within: usize,
    /// A word of each of these.
    all: Vec<Classes>,
    /// No word of these.
    none: Classes,
}

impl Combination {
    fn new(&(within, text): &(usize, &str)) -> Self {
        let (none, all): (Vec<_>, Vec<_>) =
            text.split(' ').partition(|names| names.starts_with('!'));
        let none = none.iter().map(|names| Classes::named(names.trim_start_matches('!')));
        Self {
            within,
            all: all.iter().map(|names| Classes::named(names)).collect(),
            none: none.fold(Classes::default(), Classes::with),
        }
    }

    /// Whether words with these classes are such a combination.
    pub(super) fn is_in(&self, classes: Classes) -> bool {
        self.all.iter().all(|one| one.meets(classes)) && !self.none.meets(classes)
    }
}

pub(super) static ORDER: LazyLock<Vec<Combination>> =
    LazyLock::new(|| ORDERS.iter().map(Combination::new).collect());
pub(super) static SECRET: LazyLock<Vec<Combination>> =
    LazyLock::new(|| SECRETS.iter().map(Combination::new).collect());
