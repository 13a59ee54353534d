use super::*;
use crate::shell::Run;

#[test]
fn a_rust_program_is_built_again_when_its_source_has_changed() {
    let scratch = Scratch::new();
    let manifest = "[workspace]\n[package]\nname = 'sample'\nedition = '2024'\n";
    let part = scratch.part("Cargo.toml", manifest);
    fs::write(
        part.declared.join("Cargo.lock"),
        "version = 4\n[[package]]\nname = \"sample\"\nversion = \"0.0.0\"\n",
    )
    .unwrap();
    fs::create_dir(part.declared.join("src")).unwrap();
    let source = part.declared.join("src/main.rs");
    let printed = || Run::new(part.installed.join("target/debug/sample")).text().unwrap();

    fs::write(&source, "fn main() { println!(\"one\") }").unwrap();
    rust::install(&part).unwrap();
    assert_eq!(printed(), "one");
    let stamp = part.installed.join("target/.stamp");
    let written = fs::metadata(&stamp).unwrap().modified().unwrap();
    rust::install(&part).unwrap();
    assert_eq!(fs::metadata(&stamp).unwrap().modified().unwrap(), written, "nothing has changed");

    fs::write(&source, "fn main() { println!(\"other\") }").unwrap();
    rust::install(&part).unwrap();
    assert_eq!(printed(), "other");

    fs::write(&source, "fn main() { nothing() }").unwrap();
    let error = rust::install(&part).unwrap_err().to_string();
    assert!(error.contains("cargo build --locked"), "{error}");
    assert!(rust::install(&part).is_err(), "it is not taken for built");
}
