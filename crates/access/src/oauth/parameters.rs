//! The parameters of a request: of a query or a form.

use super::OAuthError;

/// The parameters of a request.
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses a query or the body of a form.
    pub fn parse(text: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(text).into_owned().collect())
    }

    /// Returns the value of a parameter; `None` if it is missing or empty.
    ///
    /// # Errors
    /// It stands there more than once: two readers could choose different ones.
    pub fn one(&self, name: &str) -> Result<Option<&str>, OAuthError> {
        let found = self.0.iter().filter(|(own, _)| own == name);
        let mut values = found.map(|(_, value)| value.as_str());
        let first = values.next();
        match values.next() {
            None => Ok(first.filter(|value| !value.is_empty())),
            Some(_) => {
                Err(OAuthError::invalid_request(format!("`{name}` stands there more than once")))
            }
        }
    }

    /// Like [`one`](Self::one), for a parameter that must be there.
    ///
    /// # Errors
    /// It is missing, or stands there more than once.
    pub fn required(&self, name: &str) -> Result<&str, OAuthError> {
        let missing = || OAuthError::invalid_request(format!("`{name}` is missing"));
        self.one(name)?.ok_or_else(missing)
    }

    /// Returns all values of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}
