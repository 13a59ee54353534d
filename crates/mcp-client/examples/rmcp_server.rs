//! A server on rmcp, the official Rust SDK, over stdio: `weather` answers with structure, which rmcp sends as text too; `closed` fails.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use serde_json::{Map, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let transport = (tokio::io::stdin(), tokio::io::stdout());
    Weather.serve(transport).await?.waiting().await?;
    Ok(())
}

struct Weather;

impl ServerHandler for Weather {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let properties = json!({"city": {"type": "string"}});
        let schema = [("type".to_owned(), "object".into()), ("properties".to_owned(), properties)];
        let schema = Arc::new(Map::from_iter(schema));
        let tool = |name| Tool::new(name, "The weather of a city", schema.clone());
        Ok(ListToolsResult::with_all_items(vec![tool("weather"), tool("closed")]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = request.arguments.unwrap_or_default();
        let city = args.get("city").and_then(|city| city.as_str()).unwrap_or_default();
        let result = match request.name.as_ref() {
            "weather" => CallToolResult::structured(json!({
                "city": city, "celsius": 21.0, "outlook": "sunny, with \"light\" wind"
            })),
            "closed" => {
                CallToolResult::error(vec![ContentBlock::text(format!("{city} is closed"))])
            }
            _ => return Err(ErrorData::invalid_params("no such tool", None)),
        };
        Ok(result.into())
    }
}
