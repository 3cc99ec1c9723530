//! How a fuzz target is made: [`target!`] with a function of the suite that takes bytes.
//!
//! With the feature `libfuzzer` a target is one of libFuzzer; without it a program that plays the files and folders that it
//! is given, which builds anywhere: `cargo run --no-default-features --bin bundle -- inputs/bundle`. With FUZZ_SECONDS it
//! goes on for so long with changes of these files, blindly: without the coverage that leads libFuzzer, but also without a
//! second build of everything.

use cetp_conformance::fuzz::blind;
use std::path::Path;
use std::time::Duration;

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
pub fn replay(target: fn(&[u8])) -> std::io::Result<()> {
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
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let kept = std::env::temp_dir().join(format!("fuzz-input-{}", std::process::id()));
    // What targets send may be nested deeply.
    let work = move || {
        let inputs = files.iter().map(std::fs::read).collect::<std::io::Result<Vec<_>>>()?;
        blind::play(target, &inputs, Duration::from_secs(seconds), &kept)
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
