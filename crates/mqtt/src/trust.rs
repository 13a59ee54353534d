//! Whose certificates are believed when a connection is made over TLS.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use rustls_platform_verifier::BuilderVerifierExt;

/// Why TLS cannot be spoken.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The file has no certificates that can be used.
    #[error("failed to read the certificates of `ca` from `{}`: {reason}", path.display())]
    File {
        /// The file of the settings.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Certificates are configured, but the connection has no TLS.
    #[error("`ca` is set, but `{address}` is reached without TLS; did you mean `{meant}`?")]
    Unused {
        /// Where the connection goes.
        address: String,
        /// The address with TLS.
        meant: String,
    },
    /// What this machine trusts cannot be found out.
    #[error("TLS cannot be spoken: {0}")]
    Machine(rustls::Error),
}

/// How TLS is spoken: believing those whose certificates are in the PEM file `ca` and nobody else, or all that this machine
/// believes.
///
/// # Errors
/// The file is invalid, or this machine has no root certificates.
pub fn trust(ca: Option<&Path>) -> Result<Arc<ClientConfig>, TrustError> {
    // Named explicitly, independent of the process's default provider.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TrustError::Machine)?;
    let builder = match ca {
        Some(file) => builder.with_root_certificates(roots(file)?),
        None => builder.with_platform_verifier().map_err(TrustError::Machine)?,
    };
    Ok(Arc::new(builder.with_no_client_auth()))
}

fn roots(file: &Path) -> Result<RootCertStore, TrustError> {
    let wrong = |reason: String| TrustError::File { path: file.to_owned(), reason };
    let certificates =
        CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(wrong("it has no certificate in PEM form".to_owned()));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    // HM-1, HM-2
    #[test]
    fn a_file_without_certificates_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let refused = || trust(Some(&file)).unwrap_err().to_string();
        let start = format!("failed to read the certificates of `ca` from `{}`: ", file.display());
        assert!(refused().starts_with(&start), "{}", refused());
        for (text, reason) in [
            ("nothing", "it has no certificate in PEM form"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", ""),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n", ""),
        ] {
            std::fs::write(&file, text).unwrap();
            assert!(refused().starts_with(&format!("{start}{reason}")), "{}", refused());
        }
        assert!(trust(None).is_ok());
    }
}
