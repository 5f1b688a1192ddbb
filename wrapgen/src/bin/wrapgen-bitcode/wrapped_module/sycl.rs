//! The registration module of SYCL: each image with its own entries, and a descriptor of all of them.

use offloom_abi::device_image::REGISTER_FUNCTION_SECTION;
use offloom_abi::entry::{self, EntryField};
use offloom_abi::sycl_image::{
    DESCRIPTOR_IR_FIELDS, DESCRIPTOR_IR_STRUCT_NAME, DESCRIPTOR_RECORD_VERSION, IMAGE_FORMAT_NONE,
    IMAGE_IR_FIELDS, IMAGE_IR_STRUCT_NAME, IMAGE_RECORD_VERSION, REGISTER, REGISTER_LIB, REGISTER_PRIORITY,
    SYMBOL_PREFIX, UNREGISTER, UNREGISTER_LIB,
};
use offloom_abi::{OffloadKind, names};
use wrapgen::wrap::{ImageSection, SyclImage};

use super::{LARGE_GLOBAL_ALIGNMENT, ModuleText, declared_image, entry_record, entry_type};

/// Makes the names of equally named globals unique as LLVM does: one counter for the whole module.
#[derive(Default)]
struct UniqueNames {
    taken: std::collections::BTreeSet<String>,
    last: usize,
}

impl UniqueNames {
    fn unique(&mut self, name: &str) -> String {
        let mut found = name.to_owned();
        while !self.taken.insert(found.clone()) {
            self.last += 1;
            found = format!("{name}.{}", self.last);
        }
        found
    }
}

/// The module for these images.
pub(super) fn text<'a>(images: &[SyclImage<'a>]) -> ModuleText<'a> {
    let entry_type_name = entry::IR_STRUCT_NAME;
    let kind = OffloadKind::Sycl.number(offloom_ir::LLVM).unwrap_or_default();
    let mut unique = UniqueNames::default();
    let (mut globals, mut metadata) = (String::new(), Vec::new());
    let (mut rows, mut named) = (Vec::new(), Vec::new());
    for (number, image) in images.iter().enumerate() {
        let (target, data) = (
            format!("{SYMBOL_PREFIX}.target.{number}"),
            format!("{SYMBOL_PREFIX}.{number}.data"),
        );
        let compile = format!("{SYMBOL_PREFIX}.opts.compile.{number}");
        let link = format!("{SYMBOL_PREFIX}.opts.link.{number}");
        for (name, value) in [(&target, image.triple), (&compile, ""), (&link, "")] {
            globals += &format!("@{name} = internal unnamed_addr constant {}\n", c_string(value));
        }
        let size = image.image.size();
        globals += &declared_image(&data, "unnamed_addr ", size, names::OFFLOADING_SECTION, "");
        let mut records = Vec::new();
        for symbol in image.symbols.lines().filter(|symbol| !symbol.is_empty()) {
            let name = unique.unique(entry::NAME_GLOBAL);
            let section = entry::name_section(offloom_ir::LLVM).unwrap_or_default();
            globals += &format!(
                "@{name} = internal unnamed_addr constant {}, section \"{section}\", align 1\n",
                c_string(symbol)
            );
            metadata.push(format!("!{{ptr @{name}}}"));
            let record = entry_record(|field| match field {
                EntryField::Version => Some(entry::RECORD_VERSION.to_string()),
                EntryField::Kind => Some(kind.to_string()),
                EntryField::Name => Some(format!("@{name}")),
                _ => None,
            });
            globals += &format!(
                "@\"{}\" = weak constant {record}, section \"{}\", align {}\n",
                escaped(unique.unique(&entry::global_name(symbol)).as_bytes()),
                entry::section(offloom_ir::LLVM),
                entry::alignment(offloom_ir::LLVM)
            );
            records.push(record);
        }
        let count = records.len();
        let array = format!("[{count} x %{entry_type_name}]");
        let entries = unique.unique(&format!("{SYMBOL_PREFIX}.entries_arr"));
        let value = match count {
            0 => "zeroinitializer".to_owned(),
            _ => format!("[{}]", records.join(", ")),
        };
        globals += &format!("@{entries} = internal constant {array} {value}\n");
        let end = format!("getelementptr ({array}, ptr @{entries}, i64 0, i64 {count})");
        rows.push(format!(
            "%{IMAGE_IR_STRUCT_NAME} {{ i16 {IMAGE_RECORD_VERSION}, i8 {kind}, i8 {IMAGE_FORMAT_NONE}, ptr @{target}, \
             ptr @{compile}, ptr @{link}, ptr @{data}, ptr getelementptr ([{size} x i8], ptr @{data}, i64 0, i64 {size}), \
             ptr @{entries}, ptr {end}, ptr null, ptr null }}"
        ));
        named.push((data, vec![image.image]));
    }

    let (count, rows) = (images.len(), rows.join(", "));
    let entry_type = entry_type();
    let mut text = format!(
        r#"%{IMAGE_IR_STRUCT_NAME} = type {{ {IMAGE_IR_FIELDS} }}
%{DESCRIPTOR_IR_STRUCT_NAME} = type {{ {DESCRIPTOR_IR_FIELDS} }}
{entry_type}{globals}@{SYMBOL_PREFIX}.device_images = internal unnamed_addr constant [{count} x %{IMAGE_IR_STRUCT_NAME}] [{rows}]
@{SYMBOL_PREFIX}.descriptor = internal constant %{DESCRIPTOR_IR_STRUCT_NAME} {{ i16 {DESCRIPTOR_RECORD_VERSION}, i16 {count}, ptr @{SYMBOL_PREFIX}.device_images, ptr null, ptr null }}
"#
    );
    for (list, function) in [("ctors", REGISTER), ("dtors", UNREGISTER)] {
        text += &format!(
            "@llvm.global_{list} = appending global [1 x {{ i32, ptr, ptr }}] [{{ i32, ptr, ptr }} \
             {{ i32 {REGISTER_PRIORITY}, ptr @{function}, ptr null }}]\n"
        );
    }
    for (function, callee) in [(REGISTER, REGISTER_LIB), (UNREGISTER, UNREGISTER_LIB)] {
        text += &format!(
            r#"define internal void @{function}() section "{REGISTER_FUNCTION_SECTION}" {{
entry:
  call void @{callee}(ptr @{SYMBOL_PREFIX}.descriptor)
  ret void
}}
declare void @{callee}(ptr)
"#
        );
    }
    if !metadata.is_empty() {
        let numbers: Vec<_> = (0..metadata.len()).map(|number| format!("!{number}")).collect();
        text += &format!(
            "!{} = !{{{}}}\n",
            names::OFFLOADING_SYMBOLS_METADATA,
            numbers.join(", ")
        );
        for (number, node) in metadata.iter().enumerate() {
            text += &format!("!{number} = {node}\n");
        }
    }
    ModuleText {
        text,
        images: ImageSection {
            name: names::OFFLOADING_SECTION,
            alignment: LARGE_GLOBAL_ALIGNMENT,
            images: named,
        },
    }
}

/// A NUL-terminated string as a constant.
fn c_string(text: &str) -> String {
    format!("[{} x i8] c\"{}\\00\"", text.len() + 1, escaped(text.as_bytes()))
}

fn escaped(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|&byte| match byte {
            b'"' | b'\\' | 0..=31 | 127.. => format!("\\{byte:02X}"),
            _ => char::from(byte).to_string(),
        })
        .collect()
}
