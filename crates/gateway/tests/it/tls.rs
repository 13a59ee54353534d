//! TLS: from two files, with clear errors, read again when they change.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use switchboard_gateway::{Config, Tls, TlsConfig};
use switchboard_testkit::until;
use switchboard_toolcall::HumanDuration;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use crate::TestGateway;

/// Two files in a folder of their own.
struct Files {
    folder: TempDir,
    config: TlsConfig,
}

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = TlsConfig {
            certificate: folder.path().join("certificate.pem"),
            key: folder.path().join("key.pem"),
        };
        let files = Self { folder, config };
        files.renew();
        files
    }

    /// Writes a new certificate and its key.
    fn renew(&self) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(&self.config.key, made.signing_key.serialize_pem()).unwrap();
        fs::write(&self.config.certificate, made.cert.pem()).unwrap();
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn settings(&self) -> Config {
        Config { tls: Some(self.config.clone()), ..Config::default() }
    }

    /// Asks as somebody who trusts just the certificate in the file.
    async fn ask(&self, gateway: &TestGateway, request: &str) -> std::io::Result<String> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&self.config.certificate).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let stream = TcpStream::connect(gateway.address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = TlsConnector::from(Arc::new(client)).connect(name, stream).await?;
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}

const READY: &str = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

// GW-2
#[tokio::test]
async fn answers_come_over_tls_and_a_new_certificate_is_taken_up() {
    let files = Files::new();
    let gateway = TestGateway::configured(files.settings()).await;
    let answer = files.ask(&gateway, READY).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");

    files.renew();
    // The old one is shown for up to a second; a client that trusts the new one does not take it.
    until(async || files.ask(&gateway, READY).await.is_ok()).await;
    let good = fs::read_to_string(&files.config.certificate).unwrap();
    fs::write(&files.config.certificate, "half a certif").unwrap();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert!(gateway.client.get(gateway.url("/readyz")).send().await.is_err(), "in the clear");
    fs::write(&files.config.certificate, good).unwrap();
    assert!(files.ask(&gateway, READY).await.is_ok(), "the one that was there stays");
}

// GW-2
#[tokio::test]
async fn another_user_needs_a_token_over_tls_too() {
    let files = Files::new();
    let tools = READY.replace("/readyz", "/api/tools");
    let own = TestGateway::configured(files.settings()).await;
    let answer = files.ask(&own, &tools).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    let other = TestGateway::with_lookup(files.settings(), |_, _| Some(4_000_000)).await;
    let answer = files.ask(&other, &tools).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}

#[tokio::test]
async fn clients_that_fail_the_tls_handshake_are_disconnected() {
    let files = Files::new();
    let header_timeout = HumanDuration(Duration::from_millis(50));
    let gateway = TestGateway::configured(Config { header_timeout, ..files.settings() }).await;
    for greeting in [&b""[..], b"GET / HTTP/1.1\r\n\r\n"] {
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        stream.write_all(greeting).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(!answer.starts_with(b"HTTP/"), "nothing is answered in the clear");
    }
    assert!(files.ask(&gateway, READY).await.is_ok());
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named_at_the_start() {
    let (files, others) = (Files::new(), Files::new());
    let of = |certificate: &PathBuf, key: &PathBuf| TlsConfig {
        certificate: certificate.clone(),
        key: key.clone(),
    };
    let (certificate, key) = (&files.config.certificate, &files.config.key);
    let missing = files.folder.path().join("missing.pem");
    let text = files.write("text.pem", "hello");
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let broken = files.write("broken.pem", broken);
    let cases = [
        (of(&missing, key), "missing.pem", "failed to read the certificate"),
        (of(certificate, &missing), "missing.pem", "failed to read the private key"),
        (of(&text, key), "text.pem", "BEGIN CERTIFICATE"),
        (of(certificate, &text), "text.pem", "private key"),
        (of(certificate, certificate), "certificate.pem", "private key"),
        (of(&broken, key), "broken.pem", "cannot be used"),
        (of(certificate, &others.config.key), "key.pem", "not the key of the certificate"),
    ];
    for (tls, file, word) in cases {
        let error = Tls::open(tls).err().unwrap().to_string();
        assert!(error.contains(file) && error.contains(word), "{error}");
    }
}
