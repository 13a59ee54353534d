//! An issuer of tokens: keys that sign, and a place where the public ones can be had.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RsaKeyPair},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// A key with a name.
pub(crate) struct Key {
    id: String,
    pair: Pair,
}

enum Pair {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl Key {
    pub(crate) fn p256(id: &str) -> Self {
        Self::of(id, Pair::P256(curve(&signature::ECDSA_P256_SHA256_FIXED_SIGNING)))
    }

    pub(crate) fn p384(id: &str) -> Self {
        Self::of(id, Pair::P384(curve(&signature::ECDSA_P384_SHA384_FIXED_SIGNING)))
    }

    pub(crate) fn ed25519(id: &str) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::of(id, Pair::Ed(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap()))
    }

    /// Made once for these tests, since ring makes none.
    pub(crate) fn rsa(id: &str) -> Self {
        let document = include_bytes!("rsa-for-tests.pk8");
        Self::of(id, Pair::Rsa(RsaKeyPair::from_pkcs8(document).unwrap()))
    }

    fn of(id: &str, pair: Pair) -> Self {
        Self { id: id.to_owned(), pair }
    }

    /// The public half.
    pub(crate) fn jwk(&self) -> Value {
        let base64 = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let point = |name: &str, public: &[u8]| {
            let (x, y) = public[1..].split_at((public.len() - 1) / 2);
            json!({"kty": "EC", "crv": name, "x": base64(x), "y": base64(y)})
        };
        let mut jwk = match &self.pair {
            Pair::P256(pair) => point("P-256", pair.public_key().as_ref()),
            Pair::P384(pair) => point("P-384", pair.public_key().as_ref()),
            Pair::Ed(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": base64(pair.public_key().as_ref())})
            }
            Pair::Rsa(pair) => {
                let public = signature::RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({"kty": "RSA", "n": base64(&public.n), "e": base64(&public.e)})
            }
        };
        jwk["kid"] = self.id.as_str().into();
        jwk
    }

    /// A token that says this.
    pub(crate) fn token(&self, algorithm: &str, claims: &Value) -> String {
        self.token_under(&json!({"alg": algorithm, "kid": self.id, "typ": "JWT"}), claims)
    }

    /// A token with a head of its own.
    pub(crate) fn token_under(&self, head: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(head), part(claims));
        let signed = self.sign(head["alg"].as_str().unwrap(), message.as_bytes());
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signed))
    }

    fn sign(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::P256(pair) | Pair::P384(pair) => {
                pair.sign(&random, message).unwrap().as_ref().to_vec()
            }
            Pair::Ed(pair) => pair.sign(message).as_ref().to_vec(),
            Pair::Rsa(pair) => {
                let way: &dyn signature::RsaEncoding = match algorithm {
                    "RS256" => &signature::RSA_PKCS1_SHA256,
                    "RS384" => &signature::RSA_PKCS1_SHA384,
                    "RS512" => &signature::RSA_PKCS1_SHA512,
                    "PS256" => &signature::RSA_PSS_SHA256,
                    "PS384" => &signature::RSA_PSS_SHA384,
                    _ => &signature::RSA_PSS_SHA512,
                };
                let mut signed = vec![0; pair.public().modulus_len()];
                pair.sign(way, &random, message, &mut signed).unwrap();
                signed
            }
        }
    }
}

fn curve(way: &'static signature::EcdsaSigningAlgorithm) -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(way, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(way, document.as_ref(), &random).unwrap()
}

/// A server that answers everything with the keys of the hour.
#[derive(Clone)]
pub(crate) struct KeyServer {
    pub(crate) url: String,
    keys: Arc<Mutex<Option<Value>>>,
    asked: Arc<AtomicUsize>,
}

impl KeyServer {
    pub(crate) async fn start(keys: &[&Key]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let server = Self { url, keys: Arc::default(), asked: Arc::default() };
        server.show(keys);
        let own = server.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                own.asked.fetch_add(1, Ordering::Relaxed);
                let body = own.keys.lock().unwrap().clone();
                let mut head = [0; 4096];
                let _ = stream.read(&mut head).await;
                let (status, body) = match body {
                    Some(body) => ("200 OK", body.to_string()),
                    None => ("503 Service Unavailable", String::new()),
                };
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        server
    }

    /// From now on these are the keys.
    pub(crate) fn show(&self, keys: &[&Key]) {
        self.say(set(keys));
    }

    /// From now on this is the answer.
    pub(crate) fn say(&self, answer: Value) {
        *self.keys.lock().unwrap() = Some(answer);
    }

    /// From now on there is no answer.
    pub(crate) fn fail(&self) {
        *self.keys.lock().unwrap() = None;
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

/// The public halves as a set, with some that cannot be used.
pub(crate) fn set(keys: &[&Key]) -> Value {
    let strange = [
        json!({"kty": "oct", "k": "c2VjcmV0", "kid": "shared"}),
        json!({"kty": "new", "kid": "unknown", "since": 2030}),
    ];
    json!({"keys": keys.iter().map(|key| key.jwk()).chain(strange).collect::<Vec<_>>()})
}
