//! Switchboard inside your own agent: `cargo run -p switchboard-runtime --example embed`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{CallContext, tool_fn},
};

/// Says how warm it is in a city.
#[derive(Deserialize, JsonSchema)]
struct Weather {
    /// The city's name.
    city: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let executor = ToolExecutor::default();
    executor.tools().add(tool_fn("weather", |Weather { city }, _: CallContext| async move {
        json!({"city": city, "temperature": 21})
    }))?;

    let result = executor.call("weather", json!({"city": "Bonn"})).await;
    println!("{}", result.message().content);

    // What a model asks for badly is a result, too, which says how to do better.
    let result = executor.call("weather", json!({"town": "Bonn"})).await;
    println!("{}", result.message().content);
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}
