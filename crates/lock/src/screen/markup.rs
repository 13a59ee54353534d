//! Text that a model reads and a person is not shown: comments, hidden elements, text far to the right or below, encoded text.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::{ScreenedText, Suspicion, short};

/// A pattern, and what it finds.
type Rule = (&'static str, &'static str);

const RULES: &[Rule] = &[
    (r"(?s)<!--.{3,}?-->", "an HTML comment"),
    (
        r"(?i)<\s*/?\s*(important|system([_-]?[a-z]+)?|hidden|critical|admin|override|assistant|instructions?_?override|confidential|priority|invisible|sys)\b[^>]{0,80}>|<\s*/\s*secret\s*>",
        "a tag that is addressed to the model",
    ),
    (
        r"(?i)<\s*(script|iframe|object|embed|svg|style|meta|link|img)\b[^>]*>",
        "HTML that is not shown as text",
    ),
    (
        r"(?i)(display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(\.0+)?\s*[;}'\x22])",
        "text that a style hides",
    ),
    (r"!\[[^\]]*\]\(\s*(https?:|//|data:)", "an image, whose address can carry data away"),
    (r"(?m)^\s*\[(//|comment|_)\]\s*:\s*[#<]", "a comment of Markdown"),
    (r"(?i)\]\(\s*(javascript|data|vbscript):", "a link that runs code"),
    (r"(\r?\n[ \t]*){12,}\S", "text far below the rest"),
    (r"[^\S\r\n]{80,}\S", "text far to the right of the rest"),
    (r"\x1b\[", "escape sequences for terminals"),
    (r"[A-Za-z0-9+/]{160,}={0,2}", "a long encoded text"),
    (
        r"(\\x[0-9a-fA-F]{2}){8,}|(\\u[0-9a-fA-F]{4}){8,}|(&#x?[0-9a-fA-F]{2,6};){6,}",
        "text written as escapes",
    ),
    (
        r"(?i)\b(decode|from)\b.{0,20}\b(base64|rot13|hex)\b.{0,60}\b(follow|execute|obey|instructions?)\b",
        "an encoded text to obey",
    ),
];

static SET: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(RULES.iter().map(|(pattern, _)| pattern)).expect("fixed patterns")
});

static PATTERNS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let compile = |(pattern, what): &Rule| (Regex::new(pattern).expect("a fixed pattern"), *what);
    RULES.iter().map(compile).collect()
});

pub(super) fn find(text: &ScreenedText<'_>, add: &mut impl FnMut(Suspicion, String)) {
    for index in SET.matches(text.text) {
        let Some((pattern, what)) = PATTERNS.get(index) else { continue };
        if let Some(found) = pattern.find(text.text) {
            let said = short(found.as_str());
            add(Suspicion::Markup, format!("{} has {what}: “{said}”", text.place));
        }
    }
}
