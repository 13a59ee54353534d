//! Random texts and digests, as OAuth writes them.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest,
    rand::{SecureRandom, SystemRandom},
};

use super::error::Error;

/// Returns 256 random bits in Base64.
///
/// # Errors
/// The system has no randomness.
pub(super) fn text() -> Result<String, Error> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Error::Metadata("the system has no random numbers".to_owned()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The challenge for a verifier (RFC 7636, S256).
pub(super) fn challenge(verifier: &str) -> String {
    sha256(verifier)
}

/// Returns the SHA-256 digest of a text in Base64.
pub(super) fn sha256(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-1: the example of RFC 7636, appendix B.
    #[test]
    fn the_challenge_is_the_standards() {
        let challenge = challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, other) = (text().unwrap(), text().unwrap());
        assert!(one.len() == 43 && one != other, "{one} {other}");
    }
}
