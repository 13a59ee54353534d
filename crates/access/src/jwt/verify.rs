//! Verifies signatures with ring, which TLS uses already.

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind,
    crypto::{CryptoProvider, JwtVerifier, KeyUtils},
    errors::{Error, ErrorKind},
    signature::{self, Verifier},
};
use ring::signature as known;

static RING: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Installs ring as the provider of jsonwebtoken.
pub(super) fn install() {
    // It may be installed already.
    let _ = RING.install_default();
}

/// Returns what is wrong with a token, for its bearer.
pub(super) fn reason(error: &Error, issuer: &str, audience: &[String]) -> String {
    match error.kind() {
        ErrorKind::InvalidSignature => "its signature is wrong".to_owned(),
        ErrorKind::InvalidIssuer => format!("it is not of the issuer `{issuer}`"),
        ErrorKind::InvalidAudience => {
            format!("it is not for `{}`", audience.join("` or `"))
        }
        ErrorKind::MissingRequiredClaim(claim) => format!("it has no claim `{claim}`"),
        ErrorKind::InvalidKeyFormat | ErrorKind::InvalidAlgorithm => {
            "its signature is not of the key's kind".to_owned()
        }
        _ => "it cannot be read".to_owned(),
    }
}

/// Verifies signatures of one algorithm with one key.
struct RingVerifier {
    algorithm: Algorithm,
    method: SignatureMethod,
    key: DecodingKey,
}

enum SignatureMethod {
    Rsa(&'static known::RsaParameters),
    Curve(&'static dyn known::VerificationAlgorithm),
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    let method = match algorithm {
        Algorithm::RS256 => SignatureMethod::Rsa(&known::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => SignatureMethod::Rsa(&known::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => SignatureMethod::Rsa(&known::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => SignatureMethod::Rsa(&known::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => SignatureMethod::Rsa(&known::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => SignatureMethod::Rsa(&known::RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 => SignatureMethod::Curve(&known::ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => SignatureMethod::Curve(&known::ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => SignatureMethod::Curve(&known::ED25519),
        _ => return Err(ErrorKind::UnsupportedAlgorithm.into()),
    };
    if key.family() != algorithm.family() {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(RingVerifier { algorithm: *algorithm, method, key: key.clone() }))
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signed: &Vec<u8>) -> Result<(), signature::Error> {
        let outcome = match (&self.method, self.key.kind()) {
            (SignatureMethod::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                known::RsaPublicKeyComponents { n, e }.verify(parameters, message, signed)
            }
            (SignatureMethod::Curve(algorithm), DecodingKeyKind::SecretOrDer(point)) => {
                known::UnparsedPublicKey::new(*algorithm, point).verify(message, signed)
            }
            _ => return Err(signature::Error::new()),
        };
        outcome.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
