//! The registration module of OpenMP: images, their table, the descriptor, and what hands it to libomptarget.

use offloom_abi::device_image::{
    REGISTER_FUNCTION_SECTION, REGISTER_LIB, REGISTER_PRIORITY, UNREGISTER_LIB, descriptor, image,
    wrapper_symbol,
};
use offloom_abi::{entry, names};
use wrapgen::wrap::{EmbeddedImage, ImageSection};

use super::{ModuleText, declared_image, entry_range};

/// The module for these images.
pub(super) fn text<'a>(images: &'a [EmbeddedImage<'a>], relocatable: bool) -> ModuleText<'a> {
    let llvm = offloom_ir::LLVM;
    let (start, stop) = (entry::start_symbol(llvm), entry::stop_symbol(llvm));
    let (image_type, descriptor_type) = (image::IR_STRUCT_NAME, descriptor::IR_STRUCT_NAME);
    let (image_fields, descriptor_fields) = (image::IR_FIELDS, descriptor::IR_FIELDS);
    let image_section = match relocatable {
        true => names::OFFLOADING_RELOCATABLE_SECTION,
        false => names::OFFLOADING_SECTION,
    };
    let (table, descriptor) = (wrapper_symbol::DEVICE_IMAGES, wrapper_symbol::DESCRIPTOR);
    let (register, unregister) = (wrapper_symbol::REGISTER, wrapper_symbol::UNREGISTER);
    let (count, entries) = (images.len(), entry_range(entry::section(llvm)));

    let mut globals = String::new();
    let mut rows = Vec::new();
    let mut named = Vec::new();
    for (number, image) in images.iter().enumerate() {
        let name = match number {
            0 => wrapper_symbol::DEVICE_IMAGE.to_owned(),
            _ => format!("{}.{number}", wrapper_symbol::DEVICE_IMAGE),
        };
        let size = image.size();
        let address =
            |offset: u64| format!("getelementptr ([{size} x i8], ptr @{name}, i64 0, i64 {offset})");
        let range = image.image_range();
        let alignment = format!(", align {}", names::OFFLOADING_ALIGNMENT);
        globals += &declared_image(&name, "unnamed_addr ", size, image_section, &alignment);
        rows.push(format!(
            "%{image_type} {{ ptr {}, ptr {}, ptr @{start}, ptr @{stop} }}",
            address(range.start),
            address(range.end)
        ));
        named.push((name, image.pieces().to_vec()));
    }
    let rows = rows.join(", ");
    let text = format!(
        r#"%{image_type} = type {{ {image_fields} }}
%{descriptor_type} = type {{ {descriptor_fields} }}
{entries}{globals}@{table} = internal unnamed_addr constant [{count} x %{image_type}] [{rows}]
@{descriptor} = internal constant %{descriptor_type} {{ i32 {count}, ptr @{table}, ptr @{start}, ptr @{stop} }}
@llvm.global_ctors = appending global [1 x {{ i32, ptr, ptr }}] [{{ i32, ptr, ptr }} {{ i32 {REGISTER_PRIORITY}, ptr @{register}, ptr null }}]
define internal void @{register}() section "{REGISTER_FUNCTION_SECTION}" {{
entry:
  call void @{REGISTER_LIB}(ptr @{descriptor})
  %0 = call i32 @atexit(ptr @{unregister})
  ret void
}}
declare void @{REGISTER_LIB}(ptr)
declare i32 @atexit(ptr)
define internal void @{unregister}() section "{REGISTER_FUNCTION_SECTION}" {{
entry:
  call void @{UNREGISTER_LIB}(ptr @{descriptor})
  ret void
}}
declare void @{UNREGISTER_LIB}(ptr)
"#
    );
    ModuleText {
        text,
        images: ImageSection {
            name: image_section,
            alignment: names::OFFLOADING_ALIGNMENT,
            images: named,
        },
    }
}
