//! Forms of our own pages: a random cookie, and a field that only a page of ours can have computed from it.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, request};
use sha2::{Digest, Sha256};

use super::secret;
use crate::{Access, Rejection, sessions};

/// The cookie behind the forms of a page.
pub struct FormCookie {
    id: String,
    /// The cookie, if the browser has to be given one.
    pub set: Option<HeaderValue>,
}

impl FormCookie {
    /// Returns the field of a form that does `purpose`.
    pub fn field(&self, purpose: &[&str]) -> String {
        let mut hash = Sha256::new();
        for part in [self.id.as_str()].iter().chain(purpose) {
            // Lengths keep neighbouring parts apart.
            hash.update(part.len().to_be_bytes());
            hash.update(part.as_bytes());
        }
        URL_SAFE_NO_PAD.encode(hash.finalize())
    }
}

impl Access {
    /// Returns the browser's cookie for forms, or a new one.
    ///
    /// # Errors
    /// There are no random numbers.
    pub fn form_cookie(&self, request: &request::Parts) -> Result<FormCookie, Rejection> {
        if let Some(id) = self.form_id(&request.headers) {
            return Ok(FormCookie { id, set: None });
        }
        let random = secret::random::<32>();
        let bytes = random.map_err(|error| Rejection::Unavailable(error.to_string()))?;
        let id = URL_SAFE_NO_PAD.encode(bytes);
        let secure = if self.base_url(request)?.starts_with("https://") { "; Secure" } else { "" };
        // `Lax`, so that another page which leads here does not make the browser get a second one.
        let text =
            format!("{}={id}; Path=/oauth; HttpOnly; SameSite=Lax{secure}", self.form_name());
        Ok(FormCookie { id, set: HeaderValue::from_str(&text).ok() })
    }

    /// Checks that a form was sent by our own page, to do `purpose`.
    ///
    /// # Errors
    /// Another page may have sent it.
    pub fn check_form(
        &self,
        request: &request::Parts,
        field: &str,
        purpose: &[&str],
    ) -> Result<(), Rejection> {
        self.hosts.check_own_form(request)?;
        let id = self.form_id(&request.headers);
        match id.is_some_and(|id| FormCookie { id, set: None }.field(purpose) == field) {
            true => Ok(()),
            false => Err(Rejection::Forbidden(
                "the form is not of this page, or the browser keeps no cookies; open the page again".to_owned(),
            )),
        }
    }

    fn form_name(&self) -> String {
        format!("{}_form", self.sessions.name())
    }

    fn form_id(&self, headers: &HeaderMap) -> Option<String> {
        let name = self.form_name();
        let mut ids = sessions::cookies(headers, &name).filter(|id| id.len() == 43);
        ids.next().map(str::to_owned)
    }
}
