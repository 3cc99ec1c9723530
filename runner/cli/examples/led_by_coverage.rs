//! The suite's program with campaigns led by coverage: `fuzz/campaign` builds it with the reference instrumented, and runs its
//! command `fuzz`. Built in any other way it knows of no branch, and that command says so.
//!
//! An instrumented crate has a flag for each branch, a byte that becomes 1 when the branch is reached, and calls
//! [`__sanitizer_cov_bool_flag_init`] before `main`. It is defined in a program of its own: the library is also part of the
//! programs of libFuzzer, which has functions of this kind itself.

use cetp_conformance::fuzz::coverage::Branches;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The flags, by the part of the program that they are of.
static FLAGS: Mutex<Vec<&[AtomicBool]>> = Mutex::new(Vec::new());

/// Tells where flags are. Each instrumented part of the program does so, before `main`; where parts are linked together their
/// flags are one piece, which may be told more than once.
///
/// # Safety
/// From `start` to `stop` there are bytes, each 0 or 1, for as long as the process lives, to which nobody has references.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_cov_bool_flag_init(start: *const AtomicBool, stop: *const AtomicBool) {
    let length = stop.addr().saturating_sub(start.addr());
    let mut parts = FLAGS.lock().unwrap_or_else(PoisonError::into_inner);
    if length == 0 || parts.iter().any(|known| std::ptr::eq(known.as_ptr(), start)) {
        return;
    }
    // SAFETY: as the caller says; an AtomicBool is such a byte. Instrumented code sets flags from any thread at any time, with
    // plain stores that LLVM puts in where nothing is optimised any more. To the processor they are the stores of an AtomicBool,
    // and what one of them and `take` may do to each other is that a flag stays set or is cleared.
    parts.push(unsafe { std::slice::from_raw_parts(start, length) });
}

fn parts() -> Vec<&'static [AtomicBool]> {
    FLAGS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn all() -> usize {
    parts().iter().map(|part| part.len()).sum()
}

fn take(each: &mut dyn FnMut(usize)) {
    for (number, flag) in parts().into_iter().flatten().enumerate() {
        // Most are not set, and are left alone.
        if flag.load(Ordering::Relaxed) {
            flag.store(false, Ordering::Relaxed);
            each(number);
        }
    }
}

fn main() -> ExitCode {
    cetp_conformance::main_with(Some(Branches { all, take }))
}
