//! The table read beside changes, in every order that the memory model allows: loom runs each test once for
//! each of them.
//!
//! `cargo test -p offloom-jit-cache --features loom --lib orders`. The smallest table has two slots here, so
//! that few keys fill it.

use super::{Growing, Table, Value, hash};
use crate::testing::in_every_order;

/// How often at most a thread is stopped in the middle.
const SWITCHES: usize = 2;

const FIRST: Value = Value(101);
const SECOND: Value = Value(102);

/// Runs `change` on a thread of its own while this one reads with `read`.
fn beside<T: 'static>(table: fn() -> T, change: fn(&T), read: fn(&T)) {
    in_every_order(SWITCHES, table, read, change, |_| ());
}

/// Keys of one word, which is no whole block: so all are searched from the same slot on.
const KEYS: [u64; 2] = [1, 2];

#[test]
fn a_key_is_there_or_not_while_the_table_grows() {
    beside(
        || {
            let table = Growing::new(1);
            table.replace(0, &[1], FIRST);
            table
        },
        |table| {
            table.replace(0, &[2], SECOND);
        },
        |table| {
            assert!([None, Some(FIRST)].contains(&table.find(0, &[1])));
            assert!([None, Some(SECOND)].contains(&table.find(0, &[2])));
        },
    );
}

#[test]
fn a_key_has_one_of_its_values_while_it_changes() {
    beside(
        || {
            let table = Growing::new(1);
            table.replace(0, &[1], Value::PENDING);
            table
        },
        |table| {
            table.replace(0, &[1], FIRST);
        },
        |table| assert!([None, Some(Value::PENDING), Some(FIRST)].contains(&table.find(0, &[1]))),
    );
}

#[test]
fn a_slot_that_gets_another_key_is_not_taken_for_either_with_the_other_value() {
    beside(
        || {
            let table = Table::new(1, 1);
            table.add(0, &[KEYS[0]], FIRST);
            table
        },
        |table| {
            table.clear();
            table.add(0, &[KEYS[1]], SECOND);
        },
        |table| {
            let [first, second] = KEYS;
            let find = |key: u64| table.find(hash(0, &[key]), 0, &[key]);
            assert!([None, Some(FIRST)].contains(&find(first)));
            assert!([None, Some(SECOND)].contains(&find(second)));
        },
    );
}
