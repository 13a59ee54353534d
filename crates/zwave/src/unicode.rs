//! Names in one Unicode form, so that `ü` is the same letter whether it is one character or `u` with a mark (NFC).

use unicode_normalization::UnicodeNormalization;

/// Returns the text in the composed form, NFC.
pub(crate) fn composed(text: &str) -> String {
    text.nfc().collect()
}

/// Returns the text in the composed form, in lower case.
pub(crate) fn folded(text: &str) -> String {
    // Some letters have a mark of their own in lower case: composed again, they compare, too.
    composed(&composed(text).to_lowercase())
}
