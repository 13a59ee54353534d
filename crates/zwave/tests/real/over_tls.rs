//! The same over TLS, with certificates that nobody but us believes: a household has its own.

use std::{fs, path::PathBuf, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::{Value, json};
use switchboard_testkit::{Mosquitto, process::free_port};
use switchboard_zwave::Config;
use tempfile::TempDir;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;

use crate::parts::{SimulatedDevices, TestNetwork, ZwaveTransport, call, executor, order};

/// A home-made authority, and what it has signed for `localhost`.
struct Certificates(TempDir);

impl Certificates {
    fn make() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        fs::write(files.path("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        let authority = Issuer::new(params, key);
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let signed = params.signed_by(&key, &authority).unwrap();
        fs::write(files.path("certificate.pem"), signed.pem()).unwrap();
        fs::write(files.path("key.pem"), key.serialize_pem()).unwrap();
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A mosquitto for the gateway on a plain port and for us over TLS; and the latter's port.
    fn broker(&self) -> (Mosquitto, u16) {
        let (plain, secure) = (free_port(), free_port());
        let settings = format!(
            "allow_anonymous true\nlistener {plain} 127.0.0.1\nlistener {secure} 127.0.0.1\ncertfile {}\nkeyfile {}\n",
            self.path("certificate.pem").display(),
            self.path("key.pem").display(),
        );
        // Started by root, it reads its files as somebody else.
        let settings = format!("user root\n{settings}");
        fs::write(self.path("mosquitto.conf"), settings).unwrap();
        (Mosquitto::configured(plain, &self.path("mosquitto.conf")), secure)
    }

    /// Speaks TLS in front of a server that does not, as a reverse proxy does; returns its port.
    async fn proxy(&self, to: &str) -> u16 {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain = vec![CertificateDer::from_pem_file(self.path("certificate.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(self.path("key.pem")).unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let to = to.replace("ws://", "");
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, to) = (acceptor.clone(), to.clone());
                tokio::spawn(async move {
                    // Who does not believe us hangs up.
                    let mut from = acceptor.accept(stream).await?;
                    copy_bidirectional(&mut from, &mut TcpStream::connect(to).await?).await
                });
            }
        });
        port
    }
}

/// The tools work for who believes the authority, and say why for who does not.
async fn only_for_believers(mut config: Config, certificates: &Certificates) {
    let doubting = executor(&config);
    let refused = call(&doubting, "list_devices", json!({})).await;
    let reason = refused["error"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert_eq!(refused["error_kind"], "unavailable", "{refused}");
    assert!(reason.to_lowercase().contains("certificate"), "{reason}");

    config.ca = Some(certificates.path("ca.pem"));
    let believing = executor(&config);
    let done: Value = call(&believing, "control_zwave_device", order("Switch One", "on")).await;
    assert_eq!(done["result"]["structuredContent"]["confirmed"], true, "{done}");
}

// HM-1
#[tokio::test(flavor = "multi_thread")]
async fn mqtts() {
    let certificates = Certificates::make();
    let (broker, port) = certificates.broker();
    let devices =
        TestNetwork::around(ZwaveTransport::Mqtt, Some(broker), SimulatedDevices::default());
    let mqtt = Some(format!("mqtts://localhost:{port}"));
    only_for_believers(Config { mqtt, ..Config::default() }, &certificates).await;
    assert!(devices.is_switch_on());
}

// HM-1
#[tokio::test(flavor = "multi_thread")]
async fn wss() {
    let certificates = Certificates::make();
    let devices = TestNetwork::start(ZwaveTransport::Server);
    let port = certificates.proxy(&devices.url()).await;
    let server = Some(format!("wss://localhost:{port}"));
    only_for_believers(Config { server, ..Config::default() }, &certificates).await;
}
