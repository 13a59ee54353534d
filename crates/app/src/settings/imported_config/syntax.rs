//! Converts the variables of other programs to `${…}`, as editors write them.

use super::Dialect;
use crate::settings::substitute::is_name;

/// Stands for a plain `${` in a config whose program knows no variables.
pub(super) const PLAIN: &str = "${literal:}";

/// Returns the text with its variables written as `${NAME}`.
///
/// # Errors
/// The text refers to a value that only the other program can find.
pub(super) fn ours(text: &str, dialect: Dialect) -> Result<String, String> {
    match dialect {
        Dialect::Codex | Dialect::Zed => Ok(text.replace("${", PLAIN)),
        Dialect::Gemini => Ok(with_braces(text)),
        Dialect::Opencode => opencode(text),
        Dialect::Continue => Ok(continues(text)),
        _ => Ok(text.to_owned()),
    }
}

/// `$NAME` → `${NAME}`.
fn with_braces(text: &str) -> String {
    let mut parts = text.split('$');
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        let is_variable = is_name(name) && !name.starts_with(|c: char| c.is_ascii_digit());
        written += &if is_variable { format!("${{{name}}}{rest}") } else { format!("${part}") };
    }
    written
}

/// `{env:NAME}` → `${NAME}`; in opencode it is empty if the variable is not set.
fn opencode(text: &str) -> Result<String, String> {
    if text.contains("{file:") {
        return Err("`{file:…}` reads a file, which only opencode does; write `${NAME}`".to_owned());
    }
    let text = text.replace("${", PLAIN);
    let mut parts = text.split("{env:");
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}') {
            Some((name, rest)) if is_name(name.trim()) => {
                written += &format!("${{{}}}{rest}", name.trim());
            }
            _ => written += &format!("{{env:{part}"),
        }
    }
    Ok(written)
}

/// `${{ secrets.NAME }}` and `${{ inputs.NAME }}` → `${NAME}`.
fn continues(text: &str) -> String {
    let mut parts = text.split("${{");
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let name = part.split_once("}}").and_then(|(inside, rest)| {
            let name = inside.trim().rsplit('.').next()?;
            is_name(name).then_some((name, rest))
        });
        written += &match name {
            Some((name, rest)) => format!("${{{name}}}{rest}"),
            None => format!("{PLAIN}{{{part}"),
        };
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    // MC-8
    #[test]
    fn each_program_has_its_own_variables() {
        for (dialect, text, expected) in [
            (Dialect::Gemini, "Bearer $TOKEN", "Bearer ${TOKEN}"),
            (Dialect::Gemini, "${A}$B/$C-d $ $5", "${A}${B}/${C}-d $ $5"),
            (Dialect::Codex, "a ${B} $C", "a ${literal:}B} $C"),
            (Dialect::Opencode, "Bearer {env:A_B}, {env: C }, {x}", "Bearer ${A_B}, ${C}, {x}"),
            (Dialect::Opencode, "{env:a b} ${x}", "{env:a b} ${literal:}x}"),
            (Dialect::Continue, "a ${{ secrets.KEY }}b ${{inputs.X}}", "a ${KEY}b ${X}"),
            (Dialect::Continue, "${{ a b", "${literal:}{ a b"),
            (Dialect::McpServers, "$A ${env:B}", "$A ${env:B}"),
        ] {
            assert_eq!(ours(text, dialect).as_deref(), Ok(expected), "{dialect:?} {text}");
        }
        assert!(ours("{file:~/.key}", Dialect::Opencode).unwrap_err().contains("{file:…}"));
    }
}
