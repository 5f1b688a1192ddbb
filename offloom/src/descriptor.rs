//! What people read of a launch descriptor.

use offloom_jit_cache::descriptor::{Argument, Contents, Descriptor};

/// The kernel's name, and what is known of its launches: the descriptor's items after kernel and architecture, with the contents
/// of objects as offsets and the bytes that are known there.
pub(crate) fn read_descriptor(text: &str) -> (String, String) {
    let Ok(descriptor) = text.parse::<Descriptor>() else {
        return (text.to_owned(), "?".to_owned());
    };
    let arguments = descriptor.arguments.iter().enumerate();
    let arguments = arguments
        .filter(|(_, argument)| argument.is_specialized())
        .map(|(index, argument)| format!("{index}={}", known_of_argument(argument)));
    let teams = descriptor.teams.map(|teams| format!("teams={teams}"));
    let threads = descriptor.threads.map(|threads| format!("threads={threads}"));
    let known = arguments.chain(teams).chain(threads);
    let known = known.collect::<Vec<_>>().join(";");
    let known = if known.is_empty() {
        "nothing".to_owned()
    } else {
        known
    };
    (descriptor.kernel, known)
}

/// As in the descriptor, but of an object only the bytes that are known.
fn known_of_argument(argument: &Argument) -> String {
    let Argument::Pointer(pointer) = argument else {
        return argument.to_string();
    };
    let alignment = pointer
        .alignment()
        .map(|alignment| format!("align:{}", alignment.bytes()));
    let contents = pointer
        .contents()
        .map(|contents| format!("contents({})", known_bytes(contents)));
    let both = alignment.into_iter().chain(contents);
    both.collect::<Vec<_>>().join("+")
}

/// `0:00ff 8:01` for `00ff????????????01`: the known bytes of an object in hexadecimal, those that follow one another behind their offset.
fn known_bytes(contents: &Contents) -> String {
    let mut known = String::new();
    let mut follows = false;
    for (offset, byte) in contents.bytes().iter().enumerate() {
        if let Some(byte) = byte {
            if !follows {
                let separator = if known.is_empty() { "" } else { " " };
                known += &format!("{separator}{offset}:");
            }
            known += &format!("{byte:02x}");
        }
        follows = byte.is_some();
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_a_kernel_and_what_is_known_of_it() {
        assert_eq!(
            read_descriptor("kernel=a%20b;arch=x86-64;0=i32:7;1=any;2=align:8"),
            ("a b".to_owned(), "0=i32:0x7;2=align:8".to_owned())
        );
        assert_eq!(
            read_descriptor("kernel=k;arch=x86-64;0=align:16+contents:00ff????????????01").1,
            "0=align:16+contents(0:00ff 8:01)"
        );
        assert_eq!(
            read_descriptor("kernel=k;arch=x86-64"),
            ("k".to_owned(), "nothing".to_owned())
        );
    }
}
