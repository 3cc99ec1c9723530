//! Lists the data files of this crate, so that they are embedded and the crate is built again when one comes or goes.

use std::path::Path;
use std::{env, fs};

/// The folders of data. Everything else beside `src/` is not embedded.
const FOLDERS: [&str; 6] = ["requirements", "fixture", "schemas", "catalogue", "cetp-v2", "aw-provider-v1alpha1"];

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let mut files = Vec::new();
    for folder in FOLDERS {
        println!("cargo:rerun-if-changed={folder}");
        collect(&Path::new(&root).join(folder), folder, &mut files);
    }
    files.sort();
    let mut out = String::from("&[\n");
    for file in files {
        println!("cargo:rerun-if-changed={file}");
        // Not the path of today: a build folder may be used for another checkout.
        let path = format!("/{file}");
        out.push_str(&format!("    ({file:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))),\n"));
    }
    out.push_str("]\n");
    let target = Path::new(&env::var("OUT_DIR").expect("set by cargo")).join("embedded.rs");
    fs::write(target, out).expect("the output folder is writable");
}

fn collect(folder: &Path, name: &str, files: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            println!("cargo:rerun-if-changed={name}");
            collect(&entry.path(), &name, files);
        } else if name.ends_with(".json") {
            files.push(name);
        }
    }
}
