//! How a fuzz target is made: [`target!`] with a function of the suite that takes bytes.
//!
//! With the feature `libfuzzer` a target is one of libFuzzer; without it a program that plays the files and folders that it
//! is given, which builds anywhere: `cargo run --no-default-features --bin bundle -- inputs/bundle`. With FUZZ_SECONDS it
//! goes on for so long with changes of these files, blindly: without the coverage that leads libFuzzer, but also without a
//! second build of everything.

use cetp_conformance::fuzz::campaign::Dice;
use std::path::Path;
use std::time::{Duration, Instant};

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
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let kept = std::env::temp_dir().join(format!("fuzz-input-{}", std::process::id()));
    // What targets send may be nested deeply.
    let work = move || -> std::io::Result<usize> {
        let mut inputs = Vec::new();
        for file in &files {
            let input = std::fs::read(file)?;
            play(&input);
            inputs.push(input);
        }
        let (begun, mut dice, mut played) = (Instant::now(), Dice::new(1), inputs.len());
        while begun.elapsed() < Duration::from_secs(seconds) {
            let input = changed(&mut dice, &inputs);
            // Of an input that ends the process this is what is left.
            std::fs::write(&kept, &input)?;
            play(&input);
            played += 1;
        }
        if seconds > 0 {
            std::fs::remove_file(&kept).or_else(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })?;
        }
        Ok(played)
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

/// One of the inputs, changed in one to eight places.
fn changed(dice: &mut Dice, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut input = inputs[dice.below(inputs.len())].clone();
    for _ in 0..=dice.below(8) {
        let at = dice.below(input.len() + 1);
        let to = at + dice.below(input.len() + 1 - at);
        match dice.below(5) {
            0 if at < input.len() => input[at] ^= 1 << dice.below(8),
            1 => input.insert(at, u8::try_from(dice.below(256)).unwrap_or(0)),
            2 => drop(input.drain(at..to)),
            3 if to - at < 4096 => {
                let part = input[at..to].to_vec();
                input.splice(at..at, part);
            }
            _ => {
                let other = &inputs[dice.below(inputs.len())];
                let from = dice.below(other.len() + 1);
                let end = (from + dice.below(64)).min(other.len());
                input.splice(at..at, other[from..end].iter().copied());
            }
        }
    }
    input
}
