//! How a fuzz target is made: [`target!`] with a function of the suite that takes bytes.
//!
//! With the feature `libfuzzer` a target is one of libFuzzer; without it a program that plays the files and folders that it
//! is given, which builds anywhere: `cargo run --no-default-features --bin bundle -- inputs/bundle`. With FUZZ_SECONDS it
//! goes on for so long with changes of these files, blindly: without the coverage that leads libFuzzer, but also without a
//! second build of everything.

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
        let (begun, mut dice, mut played) = (Instant::now(), Dice(1), inputs.len());
        while begun.elapsed() < Duration::from_secs(seconds) {
            let input = dice.changed(&inputs);
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

/// Numbers that look random and are always the same (xorshift64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).unwrap_or(0)
    }

    /// One of the inputs, changed in one to eight places.
    fn changed(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut input = inputs[self.below(inputs.len())].clone();
        for _ in 0..=self.below(8) {
            let at = self.below(input.len() + 1);
            let to = at + self.below(input.len() + 1 - at);
            match self.below(5) {
                0 if at < input.len() => input[at] ^= 1 << self.below(8),
                1 => input.insert(at, u8::try_from(self.below(256)).unwrap_or(0)),
                2 => drop(input.drain(at..to)),
                3 if to - at < 4096 => {
                    let part = input[at..to].to_vec();
                    input.splice(at..at, part);
                }
                _ => {
                    let other = &inputs[self.below(inputs.len())];
                    let from = self.below(other.len() + 1);
                    let end = (from + self.below(64)).min(other.len());
                    input.splice(at..at, other[from..end].iter().copied());
                }
            }
        }
        input
    }
}
