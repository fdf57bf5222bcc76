//! An allocator that counts per thread (the test harness has threads of its own).

#![allow(dead_code, reason = "each test file uses its part")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<i64> = const { Cell::new(0) };
    static MOST: Cell<i64> = const { Cell::new(0) };
}

fn take(bytes: usize) {
    ALLOCATIONS.with(|n| n.set(n.get() + 1));
    let held = HELD.with(Cell::get) + bytes as i64;
    HELD.with(|n| n.set(held));
    MOST.with(|n| n.set(n.get().max(held)));
}

fn give_back(bytes: usize) {
    HELD.with(|n| n.set(n.get() - bytes as i64));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both blocks may exist for a moment.
        take(size);
        give_back(layout.size());
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread so far.
pub fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

/// The largest number of bytes that this thread held during `work`, beyond what it held before.
pub fn most_held(work: impl FnOnce()) -> i64 {
    let before = HELD.with(Cell::get);
    MOST.with(|n| n.set(before));
    work();
    MOST.with(Cell::get) - before
}
