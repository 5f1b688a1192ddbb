//! What people are told of kernels in the place of mangled names and positions: files, names of arguments,
//! types.
//!
//! Debug info says all of it. Without, the name of the kernel has the function, the line, and the number of
//! the file, which is that of the file that was compiled unless the directive is in one that it includes.

use offloom_abi::kernel_name::KernelName;
use offloom_abi::kernel_source::{Encoding, KernelSource, SourceArgument, SourceValue};
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::FunctionValue;
use offloom_ir::kernel_source;
use offloom_ir::symbol::{Symbol, symbols};

use crate::survey::is_kernel;

/// The attribute of a kernel that says which file its directive is in.
const FILE_ATTRIBUTE: &str = "offloom-source-file";

/// What tells a file from all others of the machine, as names of kernels have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    /// The low bits of its device's number.
    pub device: u32,
    /// The low bits of its own.
    pub file: u32,
}

/// Notes of the kernels of a module, before it is merged with others, that they are in the file that was
/// compiled, if they are. `identify` says which file a name leads to.
pub fn note_source_files(module: &Module<'_>, identify: impl Fn(&str) -> Option<FileIdentity>) {
    let file = module.get_source_file_name().to_string_lossy().into_owned();
    let Some(compiled) = identify(&file) else { return };
    for kernel in symbols(module).into_iter().filter(|&global| is_kernel(global)) {
        let name = kernel.name();
        let is_in_it = KernelName::parse(&name).is_some_and(|name| {
            let FileIdentity { device, file } = compiled;
            (name.device_id, name.file_id) == (device, file)
        });
        if is_in_it && let Some(symbol) = symbol(kernel) {
            symbol.set_string_attribute(FILE_ATTRIBUTE, &file);
        }
    }
}

/// What is known of a kernel's source. `implicit`: which of its parameters is the launch environment's.
/// `floating`: for each parameter, how many bytes of it are a floating-point number, if they are.
pub(crate) fn kernel_source(
    kernel: FunctionValue<'_>,
    implicit: u32,
    floating: &[Option<u8>],
) -> KernelSource {
    let mut source = kernel_source::kernel_source(kernel, implicit);
    if source.file.is_empty() {
        let noted = Symbol::from(kernel).string_attribute(FILE_ATTRIBUTE);
        source.file = noted.unwrap_or_default();
    }
    for (index, size) in (0..).zip(floating) {
        let type_name = match size {
            Some(4) => "float",
            Some(8) => "double",
            _ => continue,
        };
        let known = source
            .arguments
            .iter()
            .position(|argument| argument.index == index);
        let place = known.unwrap_or_else(|| {
            source.arguments.push(SourceArgument {
                index,
                ..SourceArgument::default()
            });
            source.arguments.len() - 1
        });
        let argument = &mut source.arguments[place];
        if argument.values.is_empty() {
            argument.values.push(SourceValue {
                offset: 0,
                size: size.unwrap_or(8),
                encoding: Encoding::Float,
                name: argument.name.clone(),
                type_name: type_name.to_owned(),
            });
        }
    }
    source
}

fn symbol(global: Symbol<'_>) -> Option<Symbol<'_>> {
    global.as_function().map(Symbol::from)
}
