//! The registration module of CUDA and HIP: the fat binary, and a loop over the entries that registers
//! kernels and variables.

use std::collections::BTreeMap;

use offloom_abi::LlvmVersion;
use offloom_abi::device_image::{REGISTER_FUNCTION_SECTION, REGISTER_PRIORITY};
use offloom_abi::entry::{self, EntryField};
use offloom_abi::fat_binary::{
    FatBinaryRuntime, IMAGE, IR_FIELDS, IR_STRUCT_NAME, RECORD_VERSION, WRAPPER, variable,
};
use offloom_abi::version::EntryFormat;
use wrapgen::inputs::Piece;
use wrapgen::wrap::ImageSection;

use super::{LARGE_GLOBAL_ALIGNMENT, ModuleText, declared_image, entry_range};

/// The module for this fat binary.
pub(super) fn text<'a>(runtime: &FatBinaryRuntime, image: Piece<'a>) -> ModuleText<'a> {
    let llvm = offloom_ir::LLVM;
    let section = runtime.entry_section(llvm);
    let FatBinaryRuntime {
        name,
        magic,
        image_section,
        wrapper_section,
        has_end,
        ..
    } = *runtime;
    let entries = entry_range(section);
    let image_global = declared_image(IMAGE, "", image.size(), image_section, "");
    let end = match has_end {
        true => format!("  call void @__{name}RegisterFatBinaryEnd(ptr %0)\n"),
        false => String::new(),
    };
    // The stock wrapper declares CUDA's function for HIP, too, where nothing calls it.
    let managed = match llvm.entries {
        EntryFormat::Legacy => String::new(),
        EntryFormat::Version1 => {
            format!("declare void @__{name}RegisterManagedVar(ptr, ptr, ptr, ptr, i64, i32)\n")
        }
    };
    let sanitizers = match llvm.keeps_sanitizers_off_fat_binaries {
        true => ", no_sanitize_address, no_sanitize_hwaddress",
        false => "",
    };
    let registration_loop = registration_loop(runtime, section);
    let text = format!(
        r#"%{IR_STRUCT_NAME} = type {{ {IR_FIELDS} }}
{entries}{image_global}@{WRAPPER} = internal constant %{IR_STRUCT_NAME} {{ i32 {magic}, i32 {RECORD_VERSION}, ptr @{IMAGE}, ptr null }}, section "{wrapper_section}"{sanitizers}, align 8
@.{name}.binary_handle = internal global ptr null
@llvm.global_ctors = appending global [1 x {{ i32, ptr, ptr }}] [{{ i32, ptr, ptr }} {{ i32 {REGISTER_PRIORITY}, ptr @.{name}.fatbin_reg, ptr null }}]
define internal void @.{name}.fatbin_reg() section "{REGISTER_FUNCTION_SECTION}" {{
entry:
  %0 = call ptr @__{name}RegisterFatBinary(ptr @{WRAPPER})
  store ptr %0, ptr @.{name}.binary_handle, align 8
  call void @.{name}.globals_reg(ptr %0)
{end}  %1 = call i32 @atexit(ptr @.{name}.fatbin_unreg)
  ret void
}}
define internal void @.{name}.fatbin_unreg() section "{REGISTER_FUNCTION_SECTION}" {{
entry:
  %0 = load ptr, ptr @.{name}.binary_handle, align 8
  call void @__{name}UnregisterFatBinary(ptr %0)
  ret void
}}
declare ptr @__{name}RegisterFatBinary(ptr)
declare void @__cudaRegisterFatBinaryEnd(ptr)
declare void @__{name}UnregisterFatBinary(ptr)
declare i32 @atexit(ptr)
declare i32 @__{name}RegisterFunction(ptr, ptr, ptr, ptr, i32, ptr, ptr, ptr, ptr, ptr)
declare void @__{name}RegisterVar(ptr, ptr, ptr, ptr, i32, i64, i32, i32)
{managed}declare void @__{name}RegisterSurface(ptr, ptr, ptr, ptr, i32, i32)
declare void @__{name}RegisterTexture(ptr, ptr, ptr, ptr, i32, i32, i32)
{registration_loop}"#
    );
    ModuleText {
        text,
        images: ImageSection {
            name: image_section,
            alignment: LARGE_GLOBAL_ALIGNMENT,
            images: vec![(IMAGE.to_owned(), vec![image])],
        },
    }
}

/// A field of an entry, the name of its value, the alignment that LLVM's wrapper gives the load.
type Field = (EntryField, &'static str, u32);

/// The fields in the order in which LLVM's wrapper loads them.
fn fields(llvm: LlvmVersion) -> &'static [Field] {
    match llvm.entries {
        EntryFormat::Legacy => &[
            (EntryField::Address, "addr", 8),
            (EntryField::Name, "name", 8),
            (EntryField::Size, "size", 4),
            (EntryField::Flags, "flags", 4),
            (EntryField::Data, "textype", 4),
        ],
        EntryFormat::Version1 => &[
            (EntryField::Address, "addr", 8),
            (EntryField::AuxAddress, "aux_addr", 8),
            (EntryField::Kind, "kind", 2),
            (EntryField::Name, "name", 8),
            (EntryField::Size, "size", 4),
            (EntryField::Flags, "flags", 4),
            (EntryField::Data, "data", 4),
        ],
    }
}

/// The function that registers what each entry stands for.
fn registration_loop(runtime: &FatBinaryRuntime, section: &str) -> String {
    let llvm = offloom_ir::LLVM;
    let name = runtime.name;
    let entry_type = entry::IR_STRUCT_NAME;
    let (start, stop) = (format!("@__start_{section}"), format!("@__stop_{section}"));
    let zero = match llvm.entries {
        EntryFormat::Legacy => "i64 0",
        EntryFormat::Version1 => "i32 0",
    };
    let loads: String = fields(llvm)
        .iter()
        .filter_map(|&(field, value, alignment)| {
            let (number, field_type) = entry::field(llvm, field)?;
            let field_type = field_type.name();
            Some(format!(
                "  %~{value}.place = getelementptr inbounds %{entry_type}, ptr %entry1, {zero}, i32 {number}\n  \
                 %{value} = load {field_type}, ptr %~{value}.place, align {alignment}\n"
            ))
        })
        .collect();
    // One section holds the entries of every programming model, or each has its own.
    let (texture_type, narrowed, kind_test) = match llvm.entries {
        EntryFormat::Legacy => ("%textype", "", String::new()),
        EntryFormat::Version1 => (
            "%~data.narrow",
            "  %~data.narrow = trunc i64 %data to i32\n",
            format!(
                "  %~is.ours = icmp eq i16 %kind, {}\n  br i1 %~is.ours, label %if.kind, label %if.end\nif.kind:\n",
                runtime.kind.number(llvm).unwrap_or_default()
            ),
        ),
    };
    let flag = |value: &str, bit: u32| {
        format!(
            "  %~{value}.bit = and i32 %flags, {}\n  %{value} = lshr i32 %~{value}.bit, {bit}\n",
            1 << bit
        )
    };
    let flags = [
        flag("extern", variable::EXTERN_BIT),
        flag("constant", variable::CONSTANT_BIT),
        flag("normalized", variable::NORMALIZED_BIT),
    ]
    .concat();
    let managed = match llvm.entries {
        EntryFormat::Legacy => String::new(),
        EntryFormat::Version1 => format!(
            "  call void @__{name}RegisterManagedVar(ptr %0, ptr %aux_addr, ptr %addr, ptr %name, i64 %size, i32 {texture_type})\n"
        ),
    };
    let (surface, texture) = match runtime.has_surfaces {
        false => (String::new(), String::new()),
        true => (
            format!(
                "  call void @__{name}RegisterSurface(ptr %0, ptr %addr, ptr %name, ptr %name, i32 {texture_type}, i32 %extern)\n"
            ),
            format!(
                "  call void @__{name}RegisterTexture(ptr %0, ptr %addr, ptr %name, ptr %name, i32 {texture_type}, i32 %normalized, i32 %extern)\n"
            ),
        ),
    };
    let (mask, global, managed_kind) = (variable::KIND_MASK, variable::GLOBAL, variable::MANAGED);
    let (surface_kind, texture_kind) = (variable::SURFACE, variable::TEXTURE);
    number_anonymous(&format!(
        r#"define internal void @.{name}.globals_reg(ptr %0) section "{REGISTER_FUNCTION_SECTION}" {{
entry:
  %~any = icmp ne ptr {start}, {stop}
  br i1 %~any, label %while.entry, label %while.end
while.entry:
  %entry1 = phi ptr [ {start}, %entry ], [ %~next, %if.end ]
{loads}{narrowed}  %type = and i32 %flags, {mask}
{flags}{kind_test}  %~is.function = icmp eq i64 %size, 0
  br i1 %~is.function, label %if.then, label %if.else
if.then:
  %~registered = call i32 @__{name}RegisterFunction(ptr %0, ptr %addr, ptr %name, ptr %name, i32 -1, ptr null, ptr null, ptr null, ptr null, ptr null)
  br label %if.end
if.else:
  switch i32 %type, label %if.end [
    i32 {global}, label %sw.global
    i32 {managed_kind}, label %sw.managed
    i32 {surface_kind}, label %sw.surface
    i32 {texture_kind}, label %sw.texture
  ]
sw.global:
  call void @__{name}RegisterVar(ptr %0, ptr %addr, ptr %name, ptr %name, i32 %extern, i64 %size, i32 %constant, i32 0)
  br label %if.end
sw.managed:
{managed}  br label %if.end
sw.surface:
{surface}  br label %if.end
sw.texture:
{texture}  br label %if.end
if.end:
  %~next = getelementptr inbounds %{entry_type}, ptr %entry1, i64 1
  %~is.last = icmp eq ptr %~next, {stop}
  br i1 %~is.last, label %while.end, label %while.entry
while.end:
  ret void
}}
"#
    ))
}

/// Numbers the values written as `%~name` as LLVM numbers values without a name: in the order of their
/// definitions, behind the one parameter.
fn number_anonymous(function: &str) -> String {
    let mut numbers = BTreeMap::new();
    for line in function.lines() {
        if let Some((name, _)) = line
            .trim_start()
            .strip_prefix("%~")
            .and_then(|line| line.split_once(" = "))
        {
            let number = numbers.len() + 1;
            numbers.insert(name, number);
        }
    }
    let mut parts = function.split("%~");
    let mut numbered = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find([' ', ',', ')', '\n']).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        numbered += &format!("%{}{rest}", numbers.get(name).copied().unwrap_or_default());
    }
    numbered
}
