//! Lets the caller of a call sign in at a page, and waits until that is done (SPEC AU-3).

use serde_json::{Value, json};
use switchboard_toolcall::{CallerChannel, Principal, QuestionKind, ServerQuestion};

use super::{
    credential::{CredentialKey, Owner},
    sign_in_pages::SignInPage,
    status::SignInNeeded,
};

/// The key of the question that has the address.
const KEY: &str = "sign_in";

/// Why a caller is not signed in.
#[derive(Debug)]
pub struct NotSignedIn {
    /// Why a call cannot be made, for its caller.
    pub why: String,
    /// What the caller can do.
    pub hint: String,
}

impl SignInPage {
    /// Shows the caller the address and waits until it has signed in there. `ask` asks it one question and returns the
    /// answers.
    ///
    /// # Errors
    /// The caller cannot be asked, declines or takes too long; the hint has the address.
    pub async fn sign_caller_in<F>(
        &self,
        needed: &SignInNeeded,
        channel: Option<&dyn CallerChannel>,
        ask: impl FnOnce(Vec<(String, ServerQuestion)>) -> F,
    ) -> Result<(), NotSignedIn>
    where
        F: Future<Output = Option<serde_json::Map<String, Value>>>,
    {
        let at = format!("sign in at {} and call again", self.address());
        let hint = format!("S{}.", &at[1..]);
        let ended =
            |why: String| NotSignedIn { why, hint: "Call again for a new address.".to_owned() };
        let channel = match channel {
            Some(channel) if opens_pages(channel) => channel,
            // MCP clients see no hints.
            Some(_) => return Err(NotSignedIn { why: format!("{needed}; {at}"), hint }),
            None => return Err(NotSignedIn { why: needed.to_string(), hint }),
        };
        // The time that a person takes is not the tool's.
        let _pause = channel.pause();
        let answered = tokio::select! {
            biased;
            outcome = self.signed_in() => return outcome.map_err(ended),
            answered = ask(vec![(KEY.to_owned(), self.question())]) => answered,
        };
        match answered.is_some_and(|answers| {
            answers.get(KEY).is_some_and(|answer| answer["action"] == "accept")
        }) {
            true => self.signed_in().await.map_err(ended),
            false => {
                Err(NotSignedIn { why: "the caller did not want to sign in".to_owned(), hint })
            }
        }
    }

    fn question(&self) -> ServerQuestion {
        let server = self.server_name();
        let message = format!("Sign in to '{server}' in the browser, so that the call can go on.");
        let params = json!({
            "mode": "url", "message": message, "url": self.address().as_str(), "elicitationId": self.id(),
        });
        ServerQuestion { kind: QuestionKind::Elicit, params }
    }
}

/// Whether the caller takes the address of a page. A client says so; other callers take whatever they are asked.
pub fn opens_pages(channel: &dyn CallerChannel) -> bool {
    let declares = |declared: &Value| declared["elicitation"].get("url").is_some();
    channel.answers(QuestionKind::Elicit) && channel.declared().is_none_or(declares)
}

/// Returns whose sign-in it is; `None` if all callers share it.
pub fn principal_of(key: &CredentialKey) -> Option<Principal> {
    match &key.owner {
        Owner::Everyone => None,
        Owner::Caller(caller) => Principal::from_key(caller),
    }
}
