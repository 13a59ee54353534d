//! The claims of a token: when it expires, who its bearer is, which tools it may see.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Map, Value};
use switchboard_toolcall::{Principal, ToolPatterns};

use super::{JwtConfig, quotas::CallerQuotas};
use crate::{Caller, rate::Quota};

/// The prefix of JWT callers' names, so that none can take a token's name.
pub(crate) const PREFIX: &str = "jwt:";

/// The bearer of a verified token.
pub(super) struct JwtBearer {
    pub(super) caller: Caller,
    /// The caller's quota.
    pub(super) quota: Arc<Quota>,
    /// The version of the keys that it was verified with.
    pub(super) generation: u64,
    not_before: Option<f64>,
    expires: f64,
}

impl JwtBearer {
    pub(super) fn new(
        claims: Map<String, Value>,
        config: &JwtConfig,
        generation: u64,
        shares: &CallerQuotas,
    ) -> Result<Self, String> {
        let time = |name: &str| match claims.get(name) {
            None => Ok(None),
            Some(time) => match time.as_f64().filter(|time| time.is_finite()) {
                Some(time) => Ok(Some(time)),
                None => Err(format!("its claim `{name}` is not a time")),
            },
        };
        let expires = time("exp")?.ok_or("it has no claim `exp`")?;
        let not_before = time("nbf")?;
        let name = name(&claims, &config.name_claim)?;
        let tools = config.tools_claim.as_deref().map(|claim| tools(&claims, claim)).transpose()?;
        let says_true = |claim: &Option<String>| {
            claim.as_ref().is_some_and(|claim| claims.get(claim) == Some(&Value::Bool(true)))
        };
        let approves = says_true(&config.approve_claim);
        let watches = says_true(&config.watch_claim);
        let principal = principal(&claims, config, &name);
        let claims = Some(Arc::new(Value::Object(claims)));
        let quota = shares.of(&name);
        let caller = Caller::with_claims(Some(name), tools.map(Arc::new), claims);
        let caller = caller.authenticated(principal).approving(approves).watching(watches);
        Ok(Self { caller, quota, generation, not_before, expires })
    }

    /// Returns when it expires. `None` if that is out of range.
    pub(super) fn expires_after(&self, leeway: Duration) -> Option<SystemTime> {
        let expires = Duration::try_from_secs_f64(self.expires).ok()?;
        UNIX_EPOCH.checked_add(expires)?.checked_add(leeway)
    }

    /// Checks that it is valid now.
    pub(super) fn check_times(&self, now: SystemTime, leeway: Duration) -> Result<(), String> {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let leeway = leeway.as_secs_f64();
        if self.expires + leeway <= now {
            return Err("it has expired".to_owned());
        }
        match self.not_before {
            Some(from) if from - leeway > now => Err("it is not good yet".to_owned()),
            _ => Ok(()),
        }
    }
}

fn name(claims: &Map<String, Value>, claim: &str) -> Result<Arc<str>, String> {
    let name = claims.get(claim).and_then(Value::as_str).unwrap_or_default();
    match name.chars().any(char::is_control) || !(1..=255).contains(&name.len()) {
        false => Ok(format!("{PREFIX}{name}").into()),
        true => Err(format!("its claim `{claim}` is not a name of 1 to 255 characters")),
    }
}

/// Returns the issuer's subject; its `name_claim` if the issuer names no subject.
fn principal(claims: &Map<String, Value>, config: &JwtConfig, name: &str) -> Principal {
    let subject = claims.get("sub").and_then(Value::as_str).filter(|subject| !subject.is_empty());
    Principal::Subject {
        issuer: config.issuer.as_str().into(),
        subject: subject.map_or_else(|| name.into(), Arc::from),
    }
}

/// Returns the tools of the claim: an array, or one text separated by spaces. None without the claim.
fn tools(claims: &Map<String, Value>, claim: &str) -> Result<ToolPatterns, String> {
    let wrong = || format!("its claim `{claim}` is not a list of patterns");
    let patterns: Vec<&str> = match claims.get(claim) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => text.split_whitespace().collect(),
        Some(Value::Array(list)) => list
            .iter()
            .map(|pattern| pattern.as_str().ok_or_else(wrong))
            .collect::<Result<_, _>>()?,
        Some(_) => return Err(wrong()),
    };
    ToolPatterns::new(&patterns).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config() -> JwtConfig {
        let text = json!({
            "issuer": "i", "audience": "a", "jwks": "keys.json", "tools_claim": "tools",
        });
        serde_json::from_value(text).unwrap()
    }

    fn bearer(mut more: Value) -> Result<JwtBearer, String> {
        let mut claims = json!({"sub": "ada", "exp": 1000});
        claims.as_object_mut().unwrap().append(more.as_object_mut().unwrap());
        let Value::Object(claims) = claims else { unreachable!() };
        JwtBearer::new(claims, &config(), 0, &CallerQuotas::new(&config()))
    }

    // GW-2
    #[test]
    fn times_hold_within_the_leeway() {
        let check = |claims: Value, now: u64| {
            let now = UNIX_EPOCH + Duration::from_secs(now);
            bearer(claims).unwrap().check_times(now, Duration::from_secs(60)).err()
        };
        assert_eq!(check(json!({}), 1059), None);
        assert_eq!(check(json!({}), 1060).unwrap(), "it has expired");
        assert_eq!(check(json!({"exp": 1000.5, "nbf": 900}), 840), None);
        assert_eq!(check(json!({"nbf": 900}), 839).unwrap(), "it is not good yet");
        for (wrong, word) in [
            (json!({"exp": "soon"}), "`exp`"),
            (json!({"exp": null}), "`exp`"),
            (json!({"nbf": []}), "`nbf`"),
            (json!({"sub": 1}), "`sub`"),
            (json!({"sub": ""}), "`sub`"),
            (json!({"sub": "a\nb"}), "`sub`"),
            (json!({"tools": 1}), "`tools`"),
            (json!({"tools": [1]}), "`tools`"),
            (json!({"tools": "a{"}), "`tools`"),
        ] {
            let reason = bearer(wrong.clone()).err().unwrap_or_else(|| panic!("{wrong}"));
            assert!(reason.contains(word), "{reason}");
        }
    }

    #[test]
    fn the_claim_lists_what_may_be_seen() {
        let sees = |claims: Value| {
            let caller = bearer(claims).unwrap().caller;
            assert_eq!(caller.name.as_deref(), Some("jwt:ada"));
            ["time__now", "echo", "other"].map(|tool| caller.visibility().sees_name(tool))
        };
        assert_eq!(sees(json!({"tools": ["time__*", "echo"]})), [true, true, false]);
        assert_eq!(sees(json!({"tools": "time__* other"})), [true, false, true]);
        assert_eq!(sees(json!({})), [false, false, false]);
    }
}
