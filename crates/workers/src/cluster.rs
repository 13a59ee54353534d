//! The connection to NATS, and what is kept there.

use std::{net::IpAddr, path::Path, sync::Arc, time::Duration};

use async_nats::{
    Client, ConnectOptions, ServerAddr,
    connection::State,
    jetstream::{
        self,
        kv::{self, Store},
        object_store::{self, ObjectStore},
        stream::StorageType,
    },
};
use tokio::{
    sync::{OnceCell, watch},
    time::{Instant, sleep},
};

use crate::{
    Config, Error, Jobs,
    health::{Health, hint},
    jobs,
    names::{Bucket, Names},
    sign::Signer,
};

/// How long what is too large for a message lies in the object store: as long as what came of a call is kept.
const LARGE_MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The cluster, as one process sees it. Cheap to clone.
#[derive(Clone)]
pub struct Cluster(Arc<Inner>);

struct Inner {
    client: Client,
    jetstream: jetstream::Context,
    names: Names,
    replicas: usize,
    jobs: jobs::Config,
    address: String,
    buckets: [OnceCell<Store>; Bucket::ALL.len()],
    large: OnceCell<ObjectStore>,
    health: Health,
    signer: Signer,
}

impl Cluster {
    /// Connects. With servers that cannot be reached yet it returns as well, and goes on trying in the background: what
    /// needs them waits, or fails, by itself.
    ///
    /// # Errors
    /// A setting cannot be used.
    pub async fn connect(config: &Config) -> Result<Self, Error> {
        let names = Names::new(&config.prefix)?;
        let signer = Signer::new(config.key.as_ref())?;
        let addresses = addresses(config)?;
        let shown = shown(&addresses);
        let unreachable = |reason: async_nats::ConnectError| Error::Unreachable {
            address: shown.clone(),
            reason: reason.into(),
        };
        let options = options(config).await?.custom_inbox_prefix(names.inbox());
        let health = Health::default();
        let (heard, address) = (health.clone(), shown.clone());
        let options = options.event_callback(move |event| {
            heard.hear(&address, &event);
            std::future::ready(())
        });
        let client =
            options.retry_on_initial_connect().connect(addresses).await.map_err(unreachable)?;
        Ok(Self(Arc::new(Inner {
            jetstream: jetstream::new(client.clone()),
            client,
            names,
            replicas: config.replicas,
            jobs: config.jobs.clone(),
            address: shown,
            buckets: Default::default(),
            large: OnceCell::new(),
            health,
            signer,
        })))
    }

    /// The connection itself.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// Streams, queues and buckets.
    pub fn jetstream(&self) -> &jetstream::Context {
        &self.0.jetstream
    }

    /// What is called how.
    pub fn names(&self) -> &Names {
        &self.0.names
    }

    /// Signs what is said, and says what may be believed.
    pub fn signer(&self) -> &Signer {
        &self.0.signer
    }

    /// On how many servers things are kept.
    pub fn replicas(&self) -> usize {
        self.0.replicas
    }

    /// Its durable calls, as the settings say. Whoever asks for them often keeps them.
    pub fn jobs(&self) -> Jobs {
        Jobs::new(self.clone(), self.0.jobs.clone())
    }

    /// Where the servers are, without secrets.
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// What is wrong with the connection, where something is.
    pub fn problem(&self) -> Option<String> {
        self.0.health.problem()
    }

    /// Waits until the servers can be reached, for so long at most. What they refuse is told at once.
    ///
    /// # Errors
    /// They cannot be reached, or do not let us in.
    pub async fn reached(&self, within: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + within;
        while self.0.client.connection_state() != State::Connected {
            let problem = self.problem();
            let is_final = problem.as_deref().is_some_and(|problem| !hint(problem).is_empty());
            if is_final || Instant::now() >= deadline {
                let problem = problem.unwrap_or_else(|| "there is no answer".to_owned());
                let reason = format!("{problem}{}", hint(&problem)).into();
                return Err(Error::Unreachable { address: self.0.address.clone(), reason });
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Whether the servers can be reached now.
    pub fn is_connected(&self) -> bool {
        self.0.client.connection_state() == State::Connected
    }

    /// A number that grows with each connection that is made: after the first, what was watched has to be looked at anew.
    pub fn connected(&self) -> watch::Receiver<u64> {
        self.0.health.connected()
    }

    /// Makes a bucket again, which the servers may have lost when they were started anew.
    ///
    /// # Errors
    /// As [`bucket`](Self::bucket).
    pub async fn renew(&self, bucket: Bucket) -> Result<(), Error> {
        match self.place(bucket).initialized() {
            true => self.open(bucket).await.map(drop),
            false => self.bucket(bucket).await.map(drop),
        }
    }

    /// A bucket, made where it is not there yet.
    ///
    /// # Errors
    /// The servers cannot be reached, or do not allow it.
    pub async fn bucket(&self, bucket: Bucket) -> Result<&Store, Error> {
        self.place(bucket).get_or_try_init(|| self.open(bucket)).await
    }

    fn place(&self, bucket: Bucket) -> &OnceCell<Store> {
        &self.0.buckets[bucket.number()]
    }

    async fn open(&self, bucket: Bucket) -> Result<Store, Error> {
        let name = self.0.names.bucket(bucket);
        let config = kv::Config {
            bucket: name.clone(),
            max_age: bucket.max_age().unwrap_or_default(),
            storage: storage(bucket.is_fleeting()),
            num_replicas: self.0.replicas,
            history: 1,
            ..kv::Config::default()
        };
        let refused = Error::refused(format!("open the bucket `{name}`"));
        match self.0.jetstream.create_key_value(config).await {
            Ok(store) => Ok(store),
            // It may be there with other settings, which somebody chose.
            Err(error) => match self.0.jetstream.get_key_value(name).await {
                Ok(store) => Ok(store),
                Err(_) => Err(refused(error.into())),
            },
        }
    }

    /// Where lies what is too large for a message, made where it is not there yet.
    ///
    /// # Errors
    /// The servers cannot be reached, or do not allow it.
    pub async fn large(&self) -> Result<&ObjectStore, Error> {
        let open = || async {
            let bucket = self.0.names.stream("large");
            let refused = Error::refused(format!("open the object store `{bucket}`"));
            let config = object_store::Config {
                bucket: bucket.clone(),
                max_age: LARGE_MAX_AGE,
                num_replicas: self.0.replicas,
                ..object_store::Config::default()
            };
            match self.0.jetstream.create_object_store(config).await {
                Ok(store) => Ok(store),
                Err(error) => match self.0.jetstream.get_object_store(bucket).await {
                    Ok(store) => Ok(store),
                    Err(_) => Err(refused(error.into())),
                },
            }
        };
        self.0.large.get_or_try_init(open).await
    }
}

fn storage(is_fleeting: bool) -> StorageType {
    if is_fleeting { StorageType::Memory } else { StorageType::File }
}

fn addresses(config: &Config) -> Result<Vec<ServerAddr>, Error> {
    let wrong = |reason: String| Error::Setting { key: "nats", reason };
    let nats = config.nats.as_deref().unwrap_or_default();
    let addresses: Vec<_> = nats.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
    if addresses.is_empty() {
        return Err(wrong("it names no server (such as nats://127.0.0.1:4222)".to_owned()));
    }
    // What cannot be read may hold a password anywhere, so it is not shown.
    let read =
        |address: &str| address.parse::<ServerAddr>().map_err(|error| wrong(error.to_string()));
    addresses.into_iter().map(read).collect()
}

/// What is unsafe about these settings, a sentence each.
///
/// # Errors
/// The addresses cannot be used.
pub fn warnings(config: &Config) -> Result<Vec<String>, Error> {
    let addresses = addresses(config)?;
    let mut warnings = Vec::new();
    if config.key.is_none() {
        warnings.push(format!(
            "`[cluster] key` is not set: whoever can write to NATS at {} can run every worker's tools as any caller, make tokens \
             with all rights and answer approvals; set the same key on all nodes (`openssl rand -base64 32` makes one)",
            shown(&addresses)
        ));
    }
    let is_open = |address: &&ServerAddr| !address.tls_required() && !is_loopback(address.host());
    let open: Vec<_> = addresses.iter().filter(is_open).cloned().collect();
    if !open.is_empty() {
        warnings.push(format!(
            "NATS at {} is reached without TLS: whoever is on the way can read calls and results; write `tls://…`",
            shown(&open)
        ));
    }
    let has_credentials = config.credentials.is_some()
        || config.token.is_some()
        || config.nkey.is_some()
        || config.user.is_some()
        || config.certificate.is_some()
        || addresses.iter().any(|address| address.username().is_some());
    if !has_credentials {
        warnings.push(format!(
            "NATS at {} is reached without credentials: whoever reaches it can read calls and results, and delete what is kept \
             there; have the servers ask for credentials, and set `credentials`, `nkey`, `token` or `user` in [cluster]",
            shown(&addresses)
        ));
    }
    Ok(warnings)
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// The addresses without what is secret in them.
fn shown(addresses: &[ServerAddr]) -> String {
    let one = |address: &ServerAddr| {
        let scheme = if address.tls_required() { "tls" } else { "nats" };
        format!("{scheme}://{}:{}", address.host(), address.port())
    };
    addresses.iter().map(one).collect::<Vec<_>>().join(",")
}

async fn options(config: &Config) -> Result<ConnectOptions, Error> {
    let mut options = ConnectOptions::new().name("switchboard");
    if let Some(file) = &config.credentials {
        let unusable = |error: std::io::Error| unusable("credentials", file, &error);
        options = options.credentials_file(file).await.map_err(unusable)?;
    }
    if let Some(token) = &config.token {
        options = options.token(token.clone());
    }
    if let Some(seed) = &config.nkey {
        options = options.nkey(seed.clone());
    }
    options = match (&config.user, &config.password) {
        (Some(user), password) => {
            options.user_and_password(user.clone(), password.clone().unwrap_or_default())
        }
        (None, Some(_)) => {
            let reason = "a password needs a `user`".to_owned();
            return Err(Error::Setting { key: "password", reason });
        }
        (None, None) => options,
    };
    if let Some(file) = &config.ca {
        readable("ca", file)?;
        options = options.add_root_certificates(file.clone());
    }
    match (&config.certificate, &config.certificate_key) {
        (Some(certificate), Some(key)) => {
            readable("certificate", certificate)?;
            readable("certificate_key", key)?;
            Ok(options.add_client_certificate(certificate.clone(), key.clone()))
        }
        (None, None) => Ok(options),
        (Some(_), None) => Err(Error::Setting {
            key: "certificate",
            reason: "a certificate needs its `certificate_key` (`key` is what signs messages)"
                .to_owned(),
        }),
        (None, Some(_)) => Err(Error::Setting {
            key: "certificate_key",
            reason: "a key needs its `certificate`".to_owned(),
        }),
    }
}

fn readable(key: &'static str, file: &Path) -> Result<(), Error> {
    std::fs::File::open(file).map(drop).map_err(|error| unusable(key, file, &error))
}

fn unusable(key: &'static str, file: &Path, error: &std::io::Error) -> Error {
    Error::Setting { key, reason: format!("`{}` cannot be read: {error}", file.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RC-3
    #[test]
    fn what_is_unsafe_is_said() {
        let config = |nats: &str, key: bool| Config {
            nats: Some(nats.to_owned()),
            key: key.then(|| "a secret of the cluster with enough letters".into()),
            ..Config::default()
        };
        let begin = |config: &Config| -> Vec<String> {
            let words = |text: String| text.split(':').next().unwrap_or_default().to_owned();
            warnings(config).unwrap().into_iter().map(words).collect()
        };
        let all = ["`[cluster] key` is not set", "NATS at nats", "NATS at nats"];
        assert_eq!(begin(&config("nats://10.0.0.7:4222", false)), all);
        let said = warnings(&config("nats://me:secret@10.0.0.7,tls://b", true)).unwrap();
        assert_eq!(said.len(), 1);
        assert!(
            said[0].starts_with("NATS at nats://10.0.0.7:4222 is reached without TLS"),
            "{said:?}"
        );
        for nats in
            ["nats://127.0.0.1", "nats://localhost:1", "nats://[::1]:4222", "tls://10.0.0.7"]
        {
            let said = warnings(&config(nats, true)).unwrap();
            assert!(said[0].contains("is reached without credentials"), "{said:?}");
            assert_eq!(said.len(), 1, "{said:?}");
        }
        let token =
            Config { token: Some("t".to_owned()), ..config("tls://nats.example.com", true) };
        assert!(warnings(&token).unwrap().is_empty());
        assert!(warnings(&Config::default()).is_err());
    }
}
