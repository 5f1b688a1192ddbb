//! Where the code of linked objects lies.
#![expect(
    unsafe_code,
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test without its code has failed; what is called is what was linked, and is not removed yet"
)]

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::fs;
use std::mem::transmute;
use std::thread;

use offloom_ir::orc::{Dylib, Session};

use crate::jit::object;

/// What the code of an object has to itself.
const LINE: usize = 64;
const PAGE: usize = 4096;

/// An object whose function `f` returns a constant that lies in memory.
fn constant(number: u32) -> Vec<u8> {
    object(&format!(
        "target triple = \"x86_64-pc-linux-gnu\"\n\
         @numbers = private constant [4 x i32] [i32 {number}, i32 1, i32 2, i32 3]\n\
         define i32 @f(i64 %i) {{\n\
           %place = getelementptr [4 x i32], ptr @numbers, i64 0, i64 %i\n\
           %number = load i32, ptr %place\n\
           ret i32 %number\n\
         }}"
    ))
}

fn link<'s>(session: &'s Session, name: &str, object: &[u8]) -> (Dylib<'s>, *const c_void) {
    let dylib = session.create_dylib(name).unwrap();
    dylib.add_object(object, name).unwrap();
    let address = dylib.look_up("f").unwrap();
    (dylib, address)
}

unsafe fn call(address: *const c_void, argument: i64) -> u32 {
    let function = unsafe { transmute::<*const c_void, extern "C" fn(i64) -> u32>(address) };
    function(argument)
}

#[test]
fn code_of_many_objects_lies_in_few_pages_that_nobody_may_write_to() {
    const OBJECTS: u32 = 200;
    let session = Session::start().unwrap();
    let linked: Vec<_> = (0..OBJECTS)
        .map(|number| link(&session, &format!("constant-{number}"), &constant(number)))
        .collect();
    let addresses: Vec<usize> = linked.iter().map(|(_, address)| address.addr()).collect();
    let distinct = |unit: usize| {
        let places: BTreeSet<_> = addresses.iter().map(|address| address / unit).collect();
        places.len()
    };
    assert_eq!(distinct(LINE), addresses.len());
    assert!(
        distinct(PAGE) <= addresses.len() * LINE / PAGE + 1,
        "{} pages",
        distinct(PAGE)
    );
    for (number, (_, address)) in (0..).zip(&linked) {
        assert_eq!(unsafe { (call(*address, 0), call(*address, 2)) }, (number, 2));
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let map = maps.lines().find(|line| {
        let (begin, rest) = line.split_once('-').unwrap();
        let end = rest.split(' ').next().unwrap();
        let number = |digits| usize::from_str_radix(digits, 16).unwrap();
        (number(begin)..number(end)).contains(&addresses[0])
    });
    assert!(map.unwrap().contains(" r-xp "), "{map:?}");
}

#[test]
fn what_was_freed_is_used_again_beside_code_that_runs() {
    let session = Session::start().unwrap();
    let (_kept, kept) = link(&session, "kept", &constant(17));
    let kept = kept.expose_provenance();
    let runs = thread::spawn(move || {
        (0..1_000_000).all(|_| {
            let address = std::ptr::with_exposed_provenance(kept);
            unsafe { call(address, 0) == 17 }
        })
    });
    let mut places = BTreeSet::new();
    for number in 0..100 {
        let (dylib, address) = link(&session, &format!("passing-{number}"), &constant(number));
        assert_eq!(unsafe { call(address, 0) }, number);
        places.insert(address.addr());
        unsafe { dylib.remove().unwrap() };
    }
    assert_eq!(places.len(), 1, "{places:x?}");
    assert!(runs.join().unwrap());
}

#[test]
fn objects_with_something_to_write_to_have_pages_of_their_own() {
    let session = Session::start().unwrap();
    let counter = object(
        "target triple = \"x86_64-pc-linux-gnu\"\n\
         @count = internal global i32 0\n\
         define i32 @f(i64 %step) {\n\
           %add = trunc i64 %step to i32\n\
           %before = load i32, ptr @count\n\
           %after = add i32 %before, %add\n\
           store i32 %after, ptr @count\n\
           ret i32 %after\n\
         }",
    );
    let (dylib, address) = link(&session, "counter", &counter);
    let (_other, constant) = link(&session, "constant", &constant(5));
    assert_ne!(address.addr() / PAGE, constant.addr() / PAGE);
    assert_eq!(
        unsafe { (call(address, 2), call(address, 3), call(constant, 0)) },
        (2, 5, 5)
    );
    unsafe { dylib.remove().unwrap() };
    assert_eq!(unsafe { call(constant, 0) }, 5);
}

#[test]
fn code_that_is_too_long_for_common_pages_is_linked_too() {
    const WORDS: usize = 100_000;
    let numbers = vec!["i32 7"; WORDS].join(", ");
    let long = object(&format!(
        "target triple = \"x86_64-pc-linux-gnu\"\n\
         @numbers = private constant [{WORDS} x i32] [{numbers}]\n\
         define i32 @f(i64 %i) {{\n\
           %place = getelementptr [{WORDS} x i32], ptr @numbers, i64 0, i64 %i\n\
           %number = load volatile i32, ptr %place\n\
           ret i32 %number\n\
         }}"
    ));
    let session = Session::start().unwrap();
    let (_dylib, address) = link(&session, "long", &long);
    assert_eq!(unsafe { call(address, WORDS as i64 - 1) }, 7);
}
