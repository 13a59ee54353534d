//! Looks for secrets in everything that a test has written: as they are, cut short, and in the encodings that logs, forms and
//! headers use.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Path, PathBuf},
};

use aho_corasick::AhoCorasick;
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};

/// How many characters of a secret are enough to call it found; shorter secrets are looked for whole.
pub const PREFIX: usize = 12;

/// A secret that was found where it must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretLeak {
    /// Where it was found.
    pub place: PathBuf,
    /// The secret.
    pub secret: String,
    /// In which form: `plain`, `percent-encoded`, `base64` or `hex`.
    pub form: &'static str,
}

impl fmt::Display for SecretLeak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({}) in {}", self.secret, self.form, self.place.display())
    }
}

/// Scans every file below `folder`, their names included, for each of the secrets. Files and folders in `except` (such as the
/// vault) are left out. Links are not followed.
///
/// # Panics
/// A folder cannot be read, or there is no file at all: such a scan would prove nothing.
pub fn scan(folder: &Path, except: &[&Path], secrets: &[&str]) -> Vec<SecretLeak> {
    let wanted = WantedSecrets::new(secrets);
    let (mut folders, mut leaks, mut files) = (vec![folder.to_owned()], Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder);
        for entry in entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let entry = entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            let path = entry.path();
            if except.contains(&&*path) {
                continue;
            }
            leaks.extend(wanted.find(path.to_string_lossy().as_bytes(), &path));
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() => {
                    files += 1;
                    // One that a process has just removed holds nothing any more.
                    let bytes = fs::read(&path).unwrap_or_default();
                    leaks.extend(wanted.find(&bytes, &path));
                }
                _ => {}
            }
        }
    }
    assert!(files > 0, "there is nothing to scan in {}", folder.display());
    leaks
}

/// Scans a text, such as what a process wrote to stderr; `place` says what it is.
pub fn scan_text(text: &str, place: &str, secrets: &[&str]) -> Vec<SecretLeak> {
    WantedSecrets::new(secrets).find(text.as_bytes(), Path::new(place))
}

/// Checks that none of the secrets is in any file below `folder`, apart from `except`.
///
/// # Panics
/// One is, or there is nothing to scan.
pub fn assert_none(folder: &Path, except: &[&Path], secrets: &[&str]) {
    let leaks = scan(folder, except, secrets);
    let listed: Vec<_> = leaks.iter().map(|leak| format!("  {leak}")).collect();
    assert!(leaks.is_empty(), "secrets were written:\n{}", listed.join("\n"));
}

/// What a secret may look like.
type SecretForms = Vec<(&'static str, Vec<u8>)>;

/// All forms of all secrets, which are looked for at once: tests know thousands of secrets.
struct WantedSecrets<'a> {
    automaton: AhoCorasick,
    /// The secret and the form of each pattern; those of one secret follow each other.
    patterns: Vec<(&'a str, &'static str)>,
}

impl<'a> WantedSecrets<'a> {
    fn new(secrets: &[&'a str]) -> Self {
        let (mut texts, mut patterns) = (Vec::new(), Vec::new());
        for secret in secrets {
            for (form, text) in forms(secret) {
                patterns.push((*secret, form));
                texts.push(text);
            }
        }
        let automaton = AhoCorasick::new(&texts).expect("the secrets are few enough");
        Self { automaton, patterns }
    }

    /// Returns the secrets in these bytes, each with the first of its forms that occurs.
    fn find(&self, bytes: &[u8], place: &Path) -> Vec<SecretLeak> {
        let mut found = BTreeMap::new();
        for occurrence in self.automaton.find_overlapping_iter(bytes) {
            let at = occurrence.pattern().as_usize();
            let first = found.entry(self.patterns[at].0).or_insert(at);
            *first = at.min(*first);
        }
        let leak = |(secret, at): (&str, usize)| SecretLeak {
            place: place.to_owned(),
            secret: secret.to_owned(),
            form: self.patterns[at].1,
        };
        found.into_iter().map(leak).collect()
    }
}

/// Every form that counts as found: the beginning of the secret as it is and encoded.
fn forms(secret: &str) -> SecretForms {
    assert!(secret.len() >= 6, "`{secret}` is too short to be looked for");
    let start: String = secret.chars().take(PREFIX).collect();
    let bytes = start.as_bytes();
    let mut forms = vec![("plain", bytes.to_vec())];
    for encoded in percent_encoded(&start) {
        forms.push(("percent-encoded", encoded.into_bytes()));
    }
    forms.extend(base64(bytes).into_iter().map(|form| ("base64", form.into_bytes())));
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    forms.push(("hex", hex.to_uppercase().into_bytes()));
    forms.push(("hex", hex.into_bytes()));
    forms
}

/// The text as URLs and forms write it, with large and small digits; none if nothing in it needs encoding.
fn percent_encoded(text: &str) -> BTreeSet<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encode = |byte: u8, is_form: bool| match byte {
        plain if is_plain(plain) => char::from(plain).to_string(),
        b' ' if is_form => "+".to_owned(),
        other => format!("%{other:02X}"),
    };
    let forms = [false, true]
        .map(|is_form| text.bytes().map(|byte| encode(byte, is_form)).collect::<String>());
    let small = forms.clone().map(|form| form.to_lowercase());
    forms.into_iter().chain(small).filter(|form| form.contains(['%', '+'])).collect()
}

/// What is certain to be in the Base64 of any text that contains the bytes, wherever they begin in it, in both alphabets.
fn base64(bytes: &[u8]) -> BTreeSet<String> {
    let at = |offset: usize| {
        let padded = [&vec![0; offset][..], bytes].concat();
        let whole = STANDARD_NO_PAD.encode(&padded);
        // The characters at both ends also hold bits of what stands before and after.
        let first = (offset * 8).div_ceil(6);
        let last = padded.len() * 8 / 6;
        whole[first..last].to_owned()
    };
    let forms = [0, 1, 2].map(at);
    let url = forms.clone().map(|form| form.replace('+', "-").replace('/', "_"));
    forms.into_iter().chain(url).collect()
}
