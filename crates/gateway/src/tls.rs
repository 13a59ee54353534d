//! TLS: a certificate and its key from two files, read again when they change.

use std::{
    fmt::Display,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde::Deserialize;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

/// How long the files are not checked again.
const FRESH: Duration = Duration::from_secs(1);

/// The settings of `[serve.tls]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// The certificate and those that vouch for it, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// Why TLS cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("failed to read the {what} in `{}`", path.display())]
    File {
        /// What it should contain.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A file does not contain what it should.
    #[error("the {what} in `{}` cannot be used: {reason}", path.display())]
    Unusable {
        /// What it should contain.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Provides the TLS acceptor for each connection.
pub struct Tls {
    config: TlsConfig,
    current: RwLock<LoadedTls>,
}

struct LoadedTls {
    acceptor: TlsAcceptor,
    /// The modification times and sizes of the files when they were read.
    stamps: [Option<(SystemTime, u64)>; 2],
    looked: Instant,
}

impl Tls {
    /// Reads the files.
    pub fn open(config: TlsConfig) -> Result<Self, TlsError> {
        let current = RwLock::new(LoadedTls::read(&config)?);
        Ok(Self { config, current })
    }

    /// Returns the acceptor with the current certificate. If a new one cannot be used, the old one stays.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            if current.looked.elapsed() < FRESH {
                return current.acceptor.clone();
            }
        }
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        current.looked = Instant::now();
        let stamps = stamps(&self.config);
        if stamps != current.stamps {
            match LoadedTls::read(&self.config) {
                Ok(newer) => *current = newer,
                Err(error) => {
                    // Logged once per change; only one of the two files may have been written so far.
                    current.stamps = stamps;
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "the certificate stays as it was");
                }
            }
        }
        current.acceptor.clone()
    }
}

impl LoadedTls {
    fn read(config: &TlsConfig) -> Result<Self, TlsError> {
        let stamps = stamps(config);
        let certificate = read("certificate", &config.certificate)?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&certificate).collect();
        let chain = chain.map_err(|error| unusable("certificate", &config.certificate, error))?;
        if chain.is_empty() {
            let reason = "it has no certificate, which begins with `-----BEGIN CERTIFICATE-----`";
            return Err(unusable("certificate", &config.certificate, reason));
        }
        let key = read("private key", &config.key)?;
        let key = PrivateKeyDer::from_pem_slice(&key)
            .map_err(|error| unusable("private key", &config.key, error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable("certificate", &config.certificate, error))?
            .with_no_client_auth()
            .with_single_cert(chain, key);
        let mut server = server.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                let certificate = config.certificate.display();
                let reason = format!("it is not the key of the certificate in `{certificate}`");
                unusable("private key", &config.key, reason)
            }
            error => unusable("certificate or its key", &config.certificate, error),
        })?;
        server.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(server));
        Ok(Self { acceptor, stamps, looked: Instant::now() })
    }
}

fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::File { what, path: path.to_owned(), source })
}

fn unusable(what: &'static str, path: &Path, reason: impl Display) -> TlsError {
    TlsError::Unusable { what, path: path.to_owned(), reason: reason.to_string() }
}

fn stamps(config: &TlsConfig) -> [Option<(SystemTime, u64)>; 2] {
    [&config.certificate, &config.key]
        .map(|path| fs::metadata(path).and_then(|data| Ok((data.modified()?, data.len()))).ok())
}
