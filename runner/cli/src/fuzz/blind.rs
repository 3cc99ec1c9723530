//! Fuzzing without a fuzzer: a target plays inputs that are changed at random, without the coverage that leads libFuzzer, but
//! also without a build of its own. The main function is [`play`].

use super::campaign::Dice;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Plays inputs, and then for some time what chance makes of them. What is played lies in the file `kept` meanwhile: of an
/// input that ends the process it is what is left. Gives how many were played.
///
/// # Errors
/// The file cannot be written.
pub fn play(target: fn(&[u8]), inputs: &[Vec<u8>], time: Duration, kept: &Path) -> io::Result<usize> {
    let mut played = 0;
    let mut play = |input: &[u8]| {
        std::fs::write(kept, input)?;
        target(input);
        played += 1;
        io::Result::Ok(())
    };
    inputs.iter().try_for_each(|input| play(input))?;
    let (begun, mut dice) = (Instant::now(), Dice::new(1));
    while begun.elapsed() < time && !inputs.is_empty() {
        play(&changed(&mut dice, inputs))?;
    }
    if played > 0 {
        std::fs::remove_file(kept)?;
    }
    Ok(played)
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
