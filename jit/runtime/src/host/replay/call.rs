//! Calls a kernel with argument words.

use std::ffi::c_void;

/// Words passed in registers.
const IN_REGISTERS: usize = 6;
/// Words passed on the stack, at most.
const ON_STACK: usize = 250;
/// Arguments that a kernel may have.
pub(super) const MOST_ARGUMENTS: usize = IN_REGISTERS + ON_STACK;

/// By value, it lies on the stack just as so many words do.
#[repr(C)]
#[derive(Clone, Copy)]
struct OnStack([u64; ON_STACK]);

type Kernel = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, OnStack);

/// Calls `kernel` with words, of which each is one argument; the caller takes them off the stack, so there
/// may be more than it has parameters.
///
/// # Safety
/// `kernel` is a function of the 64-bit System V ABI that takes integers or pointers, as many as there are
/// words at most, and is right for these.
pub(super) unsafe fn call(kernel: *const c_void, words: &[u64]) {
    let mut all = [0; MOST_ARGUMENTS];
    let count = words.len().min(MOST_ARGUMENTS);
    all[..count].copy_from_slice(&words[..count]);
    let mut on_stack = OnStack([0; ON_STACK]);
    on_stack.0.copy_from_slice(&all[IN_REGISTERS..]);
    // SAFETY: as the caller promises.
    unsafe {
        let kernel = std::mem::transmute::<*const c_void, Kernel>(kernel);
        kernel(all[0], all[1], all[2], all[3], all[4], all[5], on_stack);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    static SEEN: Mutex<Vec<u64>> = Mutex::new(Vec::new());

    extern "C" fn nine(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, h: u64, i: u64) {
        SEEN.lock().unwrap().extend([a, b, c, d, e, f, g, h, i]);
    }

    #[test]
    fn words_arrive_in_registers_and_on_the_stack() {
        let words: Vec<u64> = (1..=9).collect();
        // SAFETY: the function takes nine words.
        unsafe { call(nine as *const c_void, &words) };
        assert_eq!(*SEEN.lock().unwrap(), words);
    }
}
