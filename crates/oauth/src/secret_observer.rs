//! Who learns the secrets of sign-ins, to redact them.

use std::{any::Any, sync::Arc};

use switchboard_vault::Secret;

/// Says that a secret is in use, until it is dropped.
pub type SecretGuard = Box<dyn Any + Send + Sync>;

/// Called with every secret that a sign-in has, or that is sent to an authorization server, so that it can be redacted.
pub type SecretObserver = Arc<dyn Fn(&Secret) -> SecretGuard + Send + Sync>;
