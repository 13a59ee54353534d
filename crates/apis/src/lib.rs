//! Operations of HTTP APIs as tools (SPEC TK-3): OpenAPI 3.0, 3.1 and Swagger 2, in JSON or YAML.
//!
//! `document.rs` reads a description, `operation.rs` makes a tool of each operation or says why not: `parameter.rs` and
//! `body.rs` read what goes into the request, `schema.rs` turns schemas into JSON Schema. At a call `request.rs` makes the
//! request, `send.rs` adds the token of a sign-in, `switchboard_local::http` sends it, `hints.rs` tells about pages and limits. An [`Api`] is a server of the
//! `ToolManager`, as MCP servers and groups of workers are.
//!
//! ```
//! # fn main() -> Result<(), String> {
//! use switchboard_apis::{ApiConfig, Description};
//!
//! let document = r#"{
//!     "openapi": "3.1.0",
//!     "info": {"title": "Pets", "version": "1"},
//!     "servers": [{"url": "https://pets.example"}],
//!     "paths": {"/pets/{id}": {"get": {
//!         "operationId": "get_pet",
//!         "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}]
//!     }}}
//! }"#;
//! let config = ApiConfig { openapi: "pets.json".to_owned(), ..ApiConfig::default() };
//! let pets = Description::compile(document, "pets", &config, "__", None)?;
//! assert_eq!(pets.tools[0].spec().name, "pets__get_pet");
//! # Ok(())
//! # }
//! ```

mod account;
mod api;
mod apis;
mod base_url;
mod body;
mod config;
mod document;
mod hints;
mod load;
mod multipart;
mod name;
mod operation;
mod parameter;
mod request;
mod response_schema;
mod schema;
mod send;
mod sign_in;
mod style;
mod tool;
mod yaml;

pub use account::ApiAccount;
pub use api::{Api, ApiInfo, ApiState};
pub use apis::{Apis, PreparedApis};
pub use config::ApiConfig;
pub use load::{Description, SkippedOperation};
