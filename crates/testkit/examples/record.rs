//! Records what an endpoint says: `cargo run -p switchboard-testkit --example record -- URL FILE [TEXT TO HIDE…]`.
//!
//! Point a client at the address that it prints, as if it were the endpoint; Ctrl-C ends it. The file is complete after
//! every answer. Read it before you commit it: keys are masked, but what you asked is not.

use switchboard_testkit::{Cassette, Scrub};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err("usage: record URL FILE [TEXT TO HIDE…], the URL without what the client adds: http://host:port".into());
    };
    let cassette = Cassette::record(&url, &file, Scrub::hiding(arguments)).await?;
    println!("{}", cassette.url());
    eprintln!("recording {url} to {file}; Ctrl-C ends it");
    tokio::signal::ctrl_c().await?;
    eprintln!("{} exchanges", cassette.exchanges().len());
    Ok(())
}
