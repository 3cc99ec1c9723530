//! The memory of the program. The main type is [`Allocator`].

use libmimalloc_sys as mi;
use std::alloc::{GlobalAlloc, Layout};

/// mimalloc. JSON is trees of small values, made and dropped by several threads: the allocator of glibc gives the top of a heap
/// back to the system and takes it again at each of them, which took most of the time of everything.
///
/// The crate of that name asks for the alignment with each piece of memory, which costs more than the piece where every one has
/// it anyway.
pub(crate) struct Allocator;

/// As any `malloc`: what fits into a piece of memory is aligned in it, up to this.
const ALIGNED: usize = 16;

fn is_usual(layout: Layout, bytes: usize) -> bool {
    layout.align() <= ALIGNED && layout.align() <= bytes
}

// SAFETY: each function hands its own duties on to mimalloc, whose pieces may be freed and made larger however they were asked
// for; one that is asked for without an alignment is aligned for all that fits into it.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let bytes = layout.size();
        if is_usual(layout, bytes) {
            unsafe { mi::mi_malloc(bytes).cast() }
        } else {
            unsafe { mi::mi_malloc_aligned(bytes, layout.align()).cast() }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let bytes = layout.size();
        if is_usual(layout, bytes) {
            unsafe { mi::mi_zalloc(bytes).cast() }
        } else {
            unsafe { mi::mi_zalloc_aligned(bytes, layout.align()).cast() }
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, _layout: Layout) {
        unsafe { mi::mi_free(piece.cast()) }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if is_usual(layout, bytes) {
            unsafe { mi::mi_realloc(piece.cast(), bytes).cast() }
        } else {
            unsafe { mi::mi_realloc_aligned(piece.cast(), bytes, layout.align()).cast() }
        }
    }
}
