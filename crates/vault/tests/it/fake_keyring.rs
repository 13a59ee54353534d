//! A keyring in memory that can be absent or locked.

use std::sync::{Arc, Mutex};

use switchboard_vault::{Keyring, KeyringError, Secret};

#[derive(Clone, Debug, Default)]
pub(crate) struct FakeKeyring {
    problem: Arc<Mutex<Option<KeyringError>>>,
    held: Arc<Mutex<Option<Secret>>>,
}

impl FakeKeyring {
    pub(crate) fn absent() -> Self {
        let keyring = Self::default();
        keyring.fail(Some(KeyringError::Absent("there is none".to_owned())));
        keyring
    }

    pub(crate) fn fail(&self, problem: Option<KeyringError>) {
        *self.problem.lock().unwrap() = problem;
    }

    pub(crate) fn held(&self) -> Option<Secret> {
        self.held.lock().unwrap().clone()
    }

    fn check(&self) -> Result<(), KeyringError> {
        self.problem.lock().unwrap().clone().map_or(Ok(()), Err)
    }
}

impl Keyring for FakeKeyring {
    fn get(&self) -> Result<Option<Secret>, KeyringError> {
        self.check()?;
        Ok(self.held())
    }

    fn set(&self, secret: &Secret) -> Result<(), KeyringError> {
        self.check()?;
        *self.held.lock().unwrap() = Some(secret.clone());
        Ok(())
    }

    fn remove(&self) -> Result<(), KeyringError> {
        self.check()?;
        *self.held.lock().unwrap() = None;
        Ok(())
    }
}
