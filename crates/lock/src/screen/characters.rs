//! Characters that cannot be seen, change the direction of text, or look like others.

use switchboard_toolcall::text::is_hidden;

use super::{ScreenedText, Suspicion, TextRole};

/// Letters of other scripts that look like Latin ones.
const LOOK_ALIKES: &str = "\
аa АA еe ЕE оo ОO рp РP сc СC хx ХX уy УY іi ІI јj ЈJ ѕs ЅS һh ԁd ԛq ԝw ВB КK МM НH ТT ҮY ӏl Ӏl ɡg ɑa ıi ʟl \
αa οo ΟO ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΡP ΤT ΥY ΧX νv ρp ιi κk υu \
օo ոn սu հh ցg ԁd ɩi ꓲI ꓮA ꓰE ꓳO ᴀa ᴇe ᴏo ᴄc ᴠv ᴡw ᴢz ꜱs ℮e ⅼl ⅰi ⅽc ⅾd ⅿm";

/// Returns the Latin letter that a character looks like.
pub(super) fn latin(c: char) -> Option<char> {
    match c {
        c if c.is_ascii() => None,
        // Full-width letters and digits.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xff01 + 0x21),
        '\u{1d400}'..='\u{1d6a3}' => {
            let letter = (u32::from(c) - 0x1d400) % 52;
            char::from_u32(if letter < 26 { 0x41 + letter } else { 0x61 + letter - 26 })
        }
        '\u{1d7ce}'..='\u{1d7ff}' => char::from_u32(0x30 + (u32::from(c) - 0x1d7ce) % 10),
        c => LOOK_ALIKES.split(' ').find_map(|pair| {
            let mut pair = pair.chars();
            (pair.next() == Some(c)).then(|| pair.next()).flatten()
        }),
    }
}

pub(super) fn find(text: &ScreenedText<'_>, add: &mut impl FnMut(Suspicion, String)) {
    if text.text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')) {
        return;
    }
    let place = &text.place;
    let hidden: Vec<char> = invisible(text.text);
    let is_direction = |c: &char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}');
    let (directions, invisible): (Vec<char>, Vec<char>) =
        hidden.into_iter().partition(is_direction);
    if let Some(first) = directions.first() {
        let code = u32::from(*first);
        add(
            Suspicion::Direction,
            format!("{place} has characters that change the direction of text (U+{code:04X})"),
        );
    }
    if let Some(first) = invisible.first() {
        let (count, code) = (invisible.len(), u32::from(*first));
        let characters = if count == 1 { "character" } else { "characters" };
        let said =
            tag_text(&invisible).map(|said| format!(", which say “{said}”")).unwrap_or_default();
        add(
            Suspicion::Invisible,
            format!("{place} has {count} invisible {characters} (U+{code:04X}){said}"),
        );
    }
    if let Some((c, like)) = look_alike(text) {
        let code = u32::from(c);
        add(
            Suspicion::LookAlike,
            format!("{place} has “{c}” (U+{code:04X}), which looks like “{like}”"),
        );
    }
}

/// Returns the characters that cannot be seen, apart from those that emoji and other scripts need.
fn invisible(text: &str) -> Vec<char> {
    let characters: Vec<char> = text.chars().collect();
    let at = |index: Option<usize>| index.and_then(|index| characters.get(index)).copied();
    let is_needed = |index: usize, c: char| {
        let (before, after) = (at(index.checked_sub(1)), at(Some(index + 1)));
        let is_symbol = |c: char| !c.is_ascii() && !c.is_alphanumeric();
        match c {
            '\n' | '\r' | '\t' => true,
            '\u{fe0e}' | '\u{fe0f}' => {
                before.is_some_and(|c| is_symbol(c) || c.is_ascii_digit() || c == '#' || c == '*')
            }
            '\u{200c}' | '\u{200d}' => before.zip(after).is_some_and(|(one, other)| {
                let is_other_script = |c: char| c.is_alphabetic() && u32::from(c) > 0x5ff;
                is_symbol(one) || (is_other_script(one) && is_other_script(other))
            }),
            // The flags of England, Scotland and Wales.
            '\u{e0020}'..='\u{e007f}' => {
                let first = characters[..index]
                    .iter()
                    .rev()
                    .find(|c| !('\u{e0020}'..='\u{e007f}').contains(*c));
                first == Some(&'\u{1f3f4}')
            }
            // Texts of files may begin with it.
            '\u{feff}' => index == 0,
            _ => false,
        }
    };
    let others = |c: char| is_hidden(c) || matches!(c, '\u{2800}' | '\u{e000}'..='\u{f8ff}');
    let hidden = characters.iter().enumerate();
    hidden.filter(|(index, c)| others(**c) && !is_needed(*index, **c)).map(|(_, c)| *c).collect()
}

/// Returns what tag characters say, which are invisible copies of ASCII.
fn tag_text(characters: &[char]) -> Option<String> {
    let ascii = |c: &char| {
        let code = u32::from(*c).checked_sub(0xe0000)?;
        u8::try_from(code).ok().map(char::from).filter(|c| matches!(c, ' '..='~'))
    };
    let said: String = characters.iter().filter_map(ascii).take(80).collect();
    (!said.is_empty()).then_some(said)
}

/// Returns the first letter that only looks like the Latin letters beside it.
fn look_alike(text: &ScreenedText<'_>) -> Option<(char, char)> {
    let is_name = matches!(text.role, TextRole::Name | TextRole::ParameterName);
    let words = text.text.split(|c: char| !c.is_alphanumeric());
    // Somebody who writes whole words in Cyrillic or Greek uses letters that no Latin one looks like.
    let has_other_script =
        text.text.chars().any(|c| c.is_alphabetic() && u32::from(c) > 0x24f && latin(c).is_none());
    for word in words {
        let like = word.chars().find_map(|c| Some((c, latin(c)?)));
        let Some(like) = like else { continue };
        let is_mixed = word.chars().any(|c| c.is_ascii_alphabetic());
        let is_whole = word.chars().count() >= 2 && word.chars().all(|c| latin(c).is_some());
        if is_mixed || is_name || (is_whole && !has_other_script) {
            return Some(like);
        }
    }
    None
}
