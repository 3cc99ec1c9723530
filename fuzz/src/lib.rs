//! How a fuzz target is made: [`target!`] with a function of the suite that takes bytes.
//!
//! With the feature `libfuzzer` a target is one of libFuzzer; without it a program that plays the files and folders that it
//! is given, which builds anywhere: `cargo run --no-default-features --bin bundle -- inputs/bundle`.

use std::path::Path;

#[cfg(feature = "libfuzzer")]
#[doc(hidden)]
pub use libfuzzer_sys;

/// Makes a target of a function from bytes.
#[cfg(feature = "libfuzzer")]
#[macro_export]
macro_rules! target {
    ($play:path) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $play(data));
    };
}

/// Makes a target of a function from bytes.
#[cfg(not(feature = "libfuzzer"))]
#[macro_export]
macro_rules! target {
    ($play:path) => {
        fn main() -> std::io::Result<()> {
            $crate::replay($play)
        }
    };
}

/// Plays each file that the program was given, and those of each folder.
///
/// # Errors
/// A file cannot be read, or none was given.
pub fn replay(play: fn(&[u8])) -> std::io::Result<()> {
    let mut files = Vec::new();
    for word in std::env::args().skip(1) {
        let path = Path::new(&word);
        if path.is_dir() {
            for entry in std::fs::read_dir(path)? {
                files.push(entry?.path());
            }
        } else {
            files.push(path.to_owned());
        }
    }
    if files.is_empty() {
        return Err(std::io::Error::other("no file to play was given"));
    }
    files.sort();
    // What targets send may be nested deeply.
    let work = move || -> std::io::Result<usize> {
        for file in &files {
            play(&std::fs::read(file)?);
        }
        Ok(files.len())
    };
    let thread = std::thread::Builder::new().stack_size(512 << 20).spawn(work)?;
    match thread.join() {
        Ok(played) => {
            println!("{} played", played?);
            Ok(())
        }
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
