//! A hash of a tool's definition, so that a remembered approval ends when the definition changes.

use serde_json::json;
use sha2::{Digest, Sha256};
use switchboard_toolcall::numbers::canonical;

use crate::tools::RegisteredTool;

/// Hashes the tool's name, server, title, description, schemas and annotations. Other fields (`_meta`, icons) are left
/// out: they may differ from one `tools/list` to the next.
pub(super) fn hash(tool: &RegisteredTool) -> [u8; 32] {
    *tool.definition.get_or_init(|| {
        // A profile may show it in another way, but it does the same.
        let tool = tool.original();
        let spec = tool.spec();
        let mut definition = json!({
            "name": &**tool.full_name(),
            "server": spec.server().map(|server| &**server),
            "title": spec.extra.get("title"),
            "description": spec.description,
            "parameters": spec.parameters,
            "output_schema": spec.output_schema,
            "annotations": spec.annotations,
            "hints": spec.extra.get("annotations"),
        });
        for (name, fixed) in &spec.settings.fixed {
            definition["fixed"][name] = fixed.value.clone();
        }
        Sha256::digest(canonical(&definition).to_string().as_bytes()).into()
    })
}
