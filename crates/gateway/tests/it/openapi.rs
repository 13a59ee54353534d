//! `/openapi.json`.
