//! The tables of `docs/dev/abi.md` say what this crate defines.

use std::fmt::{Debug, Write as _};
use std::fs;
use std::mem::offset_of;
use std::path::Path;

use offloom_abi::kernel_arguments::{KernelArguments, MapType};
use offloom_abi::{LlvmVersion, device_image, entry, kernel_arguments, offload_binary};

/// One row with a cell for each LLVM.
fn row<T: Debug>(what: &str, of: impl Fn(LlvmVersion) -> T) -> String {
    let cells = LlvmVersion::ALL.map(|version| format!("{:?}", of(version)).replace('"', "`"));
    format!("| {what} | {} |\n", cells.join(" | "))
}

fn entries() -> String {
    let names = LlvmVersion::ALL.map(|version| format!("LLVM {}", version.major()));
    let mut table = format!(
        "| entry | {} |\n| --- |{}\n",
        names.join(" | "),
        " --- |".repeat(names.len())
    );
    table += &row("section", entry::section);
    table += &row("first symbol", entry::start_symbol);
    table += &row("symbol behind it", entry::stop_symbol);
    table += &row("size", entry::size);
    table += &row("alignment of the global", entry::alignment);
    table += &row("offset of the host symbol's address", entry::address_offset);
    table += &row("offset of the name's address", entry::name_offset);
    table += &row("name of a `requires` entry", entry::requires_name);
    table
}

fn flags() -> String {
    use entry::EntryFlags as Flags;
    let mut table = "| flag of an entry | bits |\n| --- | --- |\n".to_owned();
    for (name, flag) in [
        ("link", Flags::LINK),
        ("enter, of a variable; constructor, of a kernel", Flags::ENTER),
        ("destructor", Flags::DESTRUCTOR),
        ("indirect", Flags::INDIRECT),
        ("requires", Flags::REQUIRES),
        ("indirect, a table of virtual functions", Flags::INDIRECT_VTABLE),
    ] {
        let _ = writeln!(table, "| {name} | {} |", flag.0);
    }
    table
}

fn arguments() -> String {
    let mut table = "| `__tgt_kernel_arguments` | offset |\n| --- | --- |\n".to_owned();
    for (name, offset) in [
        ("version", offset_of!(KernelArguments, version)),
        (
            "number of arguments",
            offset_of!(KernelArguments, number_of_arguments),
        ),
        ("base pointers", offset_of!(KernelArguments, base_pointers)),
        ("pointers", offset_of!(KernelArguments, pointers)),
        ("sizes", offset_of!(KernelArguments, sizes)),
        ("map types", offset_of!(KernelArguments, map_types)),
        ("map names", offset_of!(KernelArguments, map_names)),
        ("mappers", offset_of!(KernelArguments, mappers)),
        ("trip count", offset_of!(KernelArguments, trip_count)),
        ("flags", offset_of!(KernelArguments, flags)),
        (
            "number of teams, three dimensions",
            offset_of!(KernelArguments, number_of_teams),
        ),
        (
            "thread limit, three dimensions",
            offset_of!(KernelArguments, thread_limit),
        ),
        ("dynamic memory", offset_of!(KernelArguments, dynamic_memory)),
        ("size of the record", size_of::<KernelArguments>()),
    ] {
        let _ = writeln!(table, "| {name} | {offset} |");
    }
    let _ = writeln!(table, "| value of the version | {} |", kernel_arguments::VERSION);
    let _ = writeln!(
        table,
        "| its value since LLVM 23 | {} |",
        kernel_arguments::VERSION_WITH_LAUNCH_ENVIRONMENT
    );
    table
}

fn map_types() -> String {
    let mut table = "| map type | bits |\n| --- | --- |\n".to_owned();
    for (name, kind) in [
        ("to", MapType::TO),
        ("from", MapType::FROM),
        ("always", MapType::ALWAYS),
        ("delete", MapType::DELETE),
        ("pointer and object", MapType::PTR_AND_OBJ),
        ("target parameter", MapType::TARGET_PARAM),
        ("return", MapType::RETURN_PARAM),
        ("private", MapType::PRIVATE),
        ("literal", MapType::LITERAL),
        ("implicit", MapType::IMPLICIT),
        ("close", MapType::CLOSE),
        ("present", MapType::PRESENT),
        ("hold", MapType::OMPX_HOLD),
        ("attach, LLVM 22 only", MapType::ATTACH),
        ("non-contiguous", MapType::NON_CONTIG),
        ("member of", MapType::MEMBER_OF),
    ] {
        let _ = writeln!(table, "| {name} | {:#x} |", kind.0);
    }
    table
}

fn images() -> String {
    use device_image::{descriptor, image};
    let mut table = "| record | field | offset |\n| --- | --- | --- |\n".to_owned();
    for (record, field, offset) in [
        (
            image::IR_STRUCT_NAME,
            "first byte of the image",
            image::IMAGE_START,
        ),
        (image::IR_STRUCT_NAME, "behind the image", image::IMAGE_END),
        (image::IR_STRUCT_NAME, "first host entry", image::ENTRIES_BEGIN),
        (
            image::IR_STRUCT_NAME,
            "behind the host entries",
            image::ENTRIES_END,
        ),
        (image::IR_STRUCT_NAME, "size of the record", image::SIZE),
        (
            descriptor::IR_STRUCT_NAME,
            "number of images",
            descriptor::NUM_DEVICE_IMAGES,
        ),
        (descriptor::IR_STRUCT_NAME, "images", descriptor::DEVICE_IMAGES),
        (
            descriptor::IR_STRUCT_NAME,
            "first host entry",
            descriptor::HOST_ENTRIES_BEGIN,
        ),
        (
            descriptor::IR_STRUCT_NAME,
            "behind the host entries",
            descriptor::HOST_ENTRIES_END,
        ),
        (descriptor::IR_STRUCT_NAME, "size of the record", descriptor::SIZE),
    ] {
        let _ = writeln!(table, "| `{record}` | {field} | {offset} |");
    }
    table
}

fn container() -> String {
    let magic = offload_binary::MAGIC.map(|byte| format!("{byte:02x}")).join(" ");
    let mut table = format!(
        "| OffloadBinary | |\n| --- | --- |\n| magic | `{magic}` |\n| alignment of containers and images | {} |\n",
        offload_binary::ALIGNMENT
    );
    for number in 1..=6 {
        let name = offload_binary::ImageKind(number).name().unwrap_or("none");
        let _ = writeln!(table, "| kind of image {number} | {name} |");
    }
    table
}

#[test]
fn the_page_has_every_table() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dev/abi.md");
    let page = fs::read_to_string(page).unwrap();
    for table in [
        entries(),
        flags(),
        arguments(),
        map_types(),
        images(),
        container(),
    ] {
        assert!(
            page.contains(&format!("\n\n{table}\n")) || page.ends_with(&format!("\n\n{table}")),
            "docs/dev/abi.md must have\n{table}"
        );
    }
}
