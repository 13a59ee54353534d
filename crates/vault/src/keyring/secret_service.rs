//! The Secret Service (GNOME Keyring, KWallet, KeePassXC) over D-Bus.
//!
//! Secrets cross the session's bus as they are (`plain`): every process that could listen there may ask the service itself.

use std::{collections::HashMap, thread, time::Duration};

use serde::{Serialize, de::DeserializeOwned};
use tokio::{runtime, time::timeout};
use zbus::{
    Connection, OwnedObjectPath, OwnedVariant, Variant, connection,
    zvariant::{DynamicType, Type},
};

use super::{Keyring, KeyringError, SystemKeyring};
use crate::secret::Secret;

const SERVICE: &str = "org.freedesktop.secrets";
const ROOT: &str = "/org/freedesktop/secrets";

/// How long the keyring has to answer, its start included.
const PATIENCE: Duration = Duration::from_secs(3);

/// As it crosses the bus: the session, parameters of the encryption, the secret, its content type.
type WireSecret = (OwnedObjectPath, Vec<u8>, Vec<u8>, String);

impl Keyring for SystemKeyring {
    fn get(&self) -> Result<Option<Secret>, KeyringError> {
        self.within_patience(async |service| service.get().await)
    }

    fn set(&self, secret: &Secret) -> Result<(), KeyringError> {
        self.within_patience(async |service| service.set(secret).await)
    }

    fn remove(&self) -> Result<(), KeyringError> {
        self.within_patience(async |service| service.remove().await)
    }
}

impl SystemKeyring {
    /// Runs `work` on a thread of its own, for the caller may be on a runtime's.
    fn within_patience<T: Send>(
        &self,
        work: impl AsyncFnOnce(SecretService<'_>) -> Result<T, KeyringError> + Send,
    ) -> Result<T, KeyringError> {
        let Some(bus) = &self.bus else {
            return Err(KeyringError::Absent("this session has no D-Bus".to_owned()));
        };
        let on_thread = || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| KeyringError::Absent(error.to_string()))?;
            let talk = async {
                let connection = connection::Builder::address(bus.as_str()).build().await?;
                work(SecretService { connection, vault: &self.vault }).await
            };
            let silent = || KeyringError::Absent(format!("silent for {} s", PATIENCE.as_secs()));
            runtime
                .block_on(async { timeout(PATIENCE, talk).await.unwrap_or_else(|_| Err(silent())) })
        };
        thread::scope(|scope| scope.spawn(on_thread).join())
            .unwrap_or_else(|_| Err(KeyringError::Absent("its client failed".to_owned())))
    }
}

/// A connection to the service.
struct SecretService<'a> {
    connection: Connection,
    vault: &'a str,
}

impl SecretService<'_> {
    async fn get(&self) -> Result<Option<Secret>, KeyringError> {
        let Some(item) = self.item().await? else { return Ok(None) };
        let session = self.session().await?;
        let (_, _, bytes, _): WireSecret = self.call(&item, "Item.GetSecret", &(session,)).await?;
        let text = String::from_utf8(bytes);
        text.map(|text| Some(text.into()))
            .map_err(|_| KeyringError::Absent("the key in the keyring is not text".to_owned()))
    }

    async fn set(&self, secret: &Secret) -> Result<(), KeyringError> {
        let collection = self.default_collection().await?;
        let bytes = secret.expose().as_bytes().to_vec();
        let wire: WireSecret = (self.session().await?, Vec::new(), bytes, "text/plain".to_owned());
        let properties = HashMap::from([
            ("org.freedesktop.Secret.Item.Label", Variant::from("Switchboard: key of the vault")),
            ("org.freedesktop.Secret.Item.Attributes", Variant::from(self.attributes())),
        ]);
        let replaces = true;
        let (_, prompt): (OwnedObjectPath, OwnedObjectPath) =
            self.call(&collection, "Collection.CreateItem", &(properties, wire, replaces)).await?;
        self.without_prompt(&prompt).await
    }

    async fn remove(&self) -> Result<(), KeyringError> {
        let Some(item) = self.item().await? else { return Ok(()) };
        let prompt: OwnedObjectPath = self.call(&item, "Item.Delete", &()).await?;
        self.without_prompt(&prompt).await
    }

    /// Finds the item of this vault; it must not be locked.
    async fn item(&self) -> Result<Option<OwnedObjectPath>, KeyringError> {
        let (unlocked, locked): (Vec<OwnedObjectPath>, Vec<OwnedObjectPath>) =
            self.call(ROOT, "Service.SearchItems", &(self.attributes(),)).await?;
        match (unlocked.into_iter().next(), locked.is_empty()) {
            (Some(item), _) => Ok(Some(item)),
            (None, true) => Ok(None),
            (None, false) => Err(KeyringError::Locked),
        }
    }

    async fn default_collection(&self) -> Result<OwnedObjectPath, KeyringError> {
        let path: OwnedObjectPath = self.call(ROOT, "Service.ReadAlias", &("default",)).await?;
        if path.as_str() == "/" {
            return Err(KeyringError::Absent("it has no default collection".to_owned()));
        }
        let property = ("org.freedesktop.Secret.Collection", "Locked");
        let interface = Some("org.freedesktop.DBus.Properties");
        let reply = self.connection.call_method(Some(SERVICE), &path, interface, "Get", &property);
        let is_locked: OwnedVariant = reply.await?.body().deserialize()?;
        if bool::try_from(is_locked).unwrap_or(true) { Err(KeyringError::Locked) } else { Ok(path) }
    }

    async fn session(&self) -> Result<OwnedObjectPath, KeyringError> {
        let algorithm = ("plain", Variant::from(""));
        let (_, session): (OwnedVariant, OwnedObjectPath) =
            self.call(ROOT, "Service.OpenSession", &algorithm).await?;
        Ok(session)
    }

    /// What has to be asked is dismissed: nobody may be there to answer.
    async fn without_prompt(&self, prompt: &OwnedObjectPath) -> Result<(), KeyringError> {
        if prompt.as_str() == "/" {
            return Ok(());
        }
        self.call::<()>(prompt, "Prompt.Dismiss", &()).await?;
        Err(KeyringError::Locked)
    }

    fn attributes(&self) -> HashMap<&str, &str> {
        HashMap::from([("application", "switchboard"), ("vault", self.vault)])
    }

    /// Calls `Interface.Method` of an object.
    async fn call<T: DeserializeOwned + Type>(
        &self,
        path: &str,
        method: &str,
        arguments: &(impl Serialize + DynamicType),
    ) -> Result<T, KeyringError> {
        let (interface, method) = method.split_once('.').unwrap_or_default();
        let interface = format!("org.freedesktop.Secret.{interface}");
        let reply =
            self.connection.call_method(Some(SERVICE), path, Some(&*interface), method, arguments);
        Ok(reply.await?.body().deserialize()?)
    }
}

impl From<zbus::Error> for KeyringError {
    fn from(error: zbus::Error) -> Self {
        match error.to_string() {
            text if text.contains("org.freedesktop.Secret.Error.IsLocked") => Self::Locked,
            text => Self::Absent(text),
        }
    }
}
