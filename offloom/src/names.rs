//! What people read in the place of mangled names, positions of arguments, and bits.

use std::path::Path;

use cpp_demangle::{DemangleOptions, Symbol};
use offloom_abi::kernel_name::KernelName;
use offloom_abi::kernel_source::{Encoding, KernelSource, SourceValue};
use offloom_descriptor::{Argument, Contents, Descriptor, Scalar, ScalarType};
use offloom_jit_variants::signature::Subject;
use serde_json::{Value, json};

/// How things are named.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Naming {
    /// Name kernels as the device image does.
    #[arg(long)]
    pub(crate) mangled: bool,
    /// Print values in hexadecimal.
    #[arg(long)]
    pub(crate) hex: bool,
}

/// A kernel, as the source has it.
#[derive(Debug)]
pub(crate) struct SourceKernel<'a> {
    /// Its name in the device image.
    mangled: &'a str,
    source: KernelSource,
    naming: Naming,
}

impl<'a> SourceKernel<'a> {
    /// The kernel of this name, of which the source says so much, in the text form of [`KernelSource`].
    pub(crate) fn new(mangled: &'a str, source: &str, naming: Naming) -> Self {
        Self {
            mangled,
            source: KernelSource::parse(source),
            naming,
        }
    }

    /// `smooth_radius() stencil.cpp:22`, as far as it is known.
    pub(crate) fn name(&self) -> String {
        match KernelName::parse(self.mangled) {
            Some(parts) if !self.naming.mangled => self.name_of(&parts),
            _ => self.mangled.to_owned(),
        }
    }

    fn name_of(&self, parts: &KernelName<'_>) -> String {
        let mut name = format!("{}()", demangled(parts.parent));
        let file = Path::new(&self.source.file).file_name();
        match (file, parts.line) {
            // A function that is a kernel by itself: its name is all that there is.
            (None, 0) => {}
            (Some(file), 0) => name += &format!(" {}", file.to_string_lossy()),
            (None, line) => name += &format!(" line {line}"),
            (Some(file), line) => name += &format!(" {}:{line}", file.to_string_lossy()),
        }
        if parts.count > 0 {
            name += &format!(" (region {} of the line)", u64::from(parts.count) + 1);
        }
        name
    }

    /// The argument's name, or its position where it has none.
    pub(crate) fn argument(&self, index: usize) -> String {
        self.argument_name(index)
            .map_or_else(|| index.to_string(), str::to_owned)
    }

    fn argument_name(&self, index: usize) -> Option<&str> {
        let argument = self.source.argument(index)?;
        Some(argument.name.as_str()).filter(|name| !name.is_empty())
    }

    /// The argument in a sentence.
    fn argument_in_text(&self, index: usize) -> String {
        self.argument_name(index)
            .map_or_else(|| format!("argument {index}"), str::to_owned)
    }

    /// Something that keeps changing.
    pub(crate) fn subject(&self, subject: Subject) -> String {
        match subject.argument() {
            Some(index) => format!("{} of {}", subject.what(), self.argument_in_text(index)),
            None => subject.what().to_owned(),
        }
    }

    /// What a descriptor, in its text form, says of launches: `n = 3 (int), data aligned to 64`.
    pub(crate) fn known(&self, descriptor: &str) -> String {
        let Ok(descriptor) = descriptor.parse::<Descriptor>() else {
            return "?".to_owned();
        };
        let mut known = Vec::new();
        for (index, argument) in descriptor.arguments.iter().enumerate() {
            self.add_known(&mut known, index, argument);
        }
        known.extend(descriptor.teams.map(|teams| format!("teams = {teams}")));
        known.extend(descriptor.threads.map(|threads| format!("threads = {threads}")));
        if known.is_empty() {
            // Compiled for the processor at hand, and that with the whole program known.
            return "any launch".to_owned();
        }
        known.join(", ")
    }

    fn add_known(&self, known: &mut Vec<String>, index: usize, argument: &Argument) {
        let name = || self.argument_in_text(index);
        match argument {
            Argument::Any => {}
            Argument::Value(scalar) => known.push(format!("{} = {}", name(), self.scalar(index, *scalar))),
            Argument::Bytes(bytes) => known.push(format!("{} = bytes {}", name(), hexadecimal(bytes))),
            Argument::Pointer(pointer) => {
                if let Some(alignment) = pointer.alignment() {
                    known.push(format!("{} aligned to {}", name(), alignment.bytes()));
                }
                if let Some(contents) = pointer.contents() {
                    self.add_contents(known, index, contents);
                }
            }
        }
    }

    fn scalar(&self, index: usize, scalar: Scalar) -> String {
        let argument = self.source.argument(index);
        let value = argument.and_then(|argument| argument.values.iter().find(|value| value.offset == 0));
        let size = scalar.scalar_type().bits().div_ceil(8) as u8;
        match (value, scalar.scalar_type()) {
            // A kernel may look at fewer bytes than the type has.
            (Some(value), ScalarType::Integer(_)) if value.size >= size => {
                let encoding = match value.encoding {
                    Encoding::Float if value.size != size => Encoding::Unsigned,
                    encoding => encoding,
                };
                let shown = self.shown(encoding, size, scalar.bits());
                format!("{shown} ({})", value.type_name)
            }
            (_, scalar_type) => {
                let encoding = match scalar_type {
                    ScalarType::Integer(_) => Encoding::Signed,
                    ScalarType::Float | ScalarType::Double => Encoding::Float,
                    ScalarType::Half | ScalarType::BFloat => Encoding::Pointer,
                };
                format!("{} ({scalar_type})", self.shown(encoding, size, scalar.bits()))
            }
        }
    }

    /// Values of the source's types where all of their bytes are known, and the other bytes that are.
    fn add_contents(&self, known: &mut Vec<String>, index: usize, contents: &Contents) {
        let mut bytes = contents.bytes().to_vec();
        let values = self.source.argument(index).into_iter();
        for value in values.flat_map(|argument| &argument.values) {
            known.extend(self.taken(value, &mut bytes));
        }
        let mut at = 0;
        while at < bytes.len() {
            let run: Vec<u8> = bytes[at..].iter().map_while(|byte| *byte).collect();
            if !run.is_empty() {
                let name = self.argument_in_text(index);
                known.push(format!("{name} at byte {at}: {}", hexadecimal(&run)));
            }
            at += run.len().max(1);
        }
    }

    /// The value, if all of its bytes are known, which are taken out of those that are to be told.
    fn taken(&self, value: &SourceValue, bytes: &mut [Option<u8>]) -> Option<String> {
        let start = value.offset as usize;
        let place = bytes.get_mut(start..start.checked_add(usize::from(value.size))?)?;
        let known: Option<Vec<u8>> = place.iter().copied().collect();
        let bits = known?
            .iter()
            .rev()
            .fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        place.fill(None);
        let shown = self.shown(value.encoding, value.size, bits);
        Some(format!("{} = {shown} ({})", value.name, value.type_name))
    }

    /// A value of so many bytes.
    fn shown(&self, encoding: Encoding, size: u8, bits: u64) -> String {
        let digits = 2 * usize::from(size);
        let unused = 64 - 8 * u32::from(size.clamp(1, 8));
        match encoding {
            Encoding::Pointer => format!("0x{bits:x}"),
            _ if self.naming.hex => format!("0x{bits:0digits$x}"),
            Encoding::Signed => (bits.cast_signed() << unused >> unused).to_string(),
            Encoding::Unsigned => bits.to_string(),
            Encoding::Boolean if bits < 2 => (bits == 1).to_string(),
            Encoding::Boolean => bits.to_string(),
            // The shortest text that is this value and no other.
            Encoding::Float if size == 4 => format!("{:?}", f32::from_bits(bits as u32)),
            Encoding::Float if size == 8 => format!("{:?}", f64::from_bits(bits)),
            Encoding::Float => format!("0x{bits:0digits$x}"),
        }
    }

    /// What is known of the source, for programs.
    pub(crate) fn json(&self) -> Value {
        let parts = KernelName::parse(self.mangled);
        let arguments = self.source.arguments.iter().map(|argument| {
            let values = argument.values.iter().map(|value| {
                json!({ "offset": value.offset, "size": value.size, "name": value.name, "type": value.type_name })
            });
            json!({ "index": argument.index, "name": argument.name, "values": values.collect::<Vec<_>>() })
        });
        json!({
            "function": parts.map(|parts| demangled(parts.parent)),
            "file": Some(&self.source.file).filter(|file| !file.is_empty()),
            "line": parts.map(|parts| parts.line).filter(|line| *line != 0),
            "arguments": arguments.collect::<Vec<_>>(),
        })
    }
}

/// The function's name without its parameters.
fn demangled(name: &str) -> String {
    // A name in C may be what a mangled type is: `f` is `float`.
    if !name.starts_with("_R") && !name.starts_with("_Z") {
        return name.to_owned();
    }
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let cpp = Symbol::new(name)
        .ok()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok());
    cpp.unwrap_or_else(|| name.to_owned())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "__omp_offloading_fe00_98e2fb__Z13smooth_radiusIdEvPT_i_l22";
    const SOURCE: &str = "/a/stencil.cpp\n1\tn\n\t0\t4\ts\tn\tint\n2\tbox\n\t0\t4\ts\tbox->radius\tint\n\t8\t8\tf\tbox->weight\tdouble\n3\tdata";

    fn kernel(naming: Naming) -> SourceKernel<'static> {
        SourceKernel::new(NAME, SOURCE, naming)
    }

    #[test]
    fn a_kernel_is_named_as_its_source_names_it() {
        let named = |name, source| SourceKernel::new(name, source, Naming::default()).name();
        assert_eq!(named(NAME, SOURCE), "smooth_radius<double>() stencil.cpp:22");
        assert_eq!(named(NAME, ""), "smooth_radius<double>() line 22");
        assert_eq!(
            named("__omp_offloading_1_2_main_l3_1", "a.c"),
            "main() a.c:3 (region 2 of the line)"
        );
        assert_eq!(named("__omp_offloading_0_0_f_l0", ""), "f()");
        assert_eq!(named("other", "a.c"), "other");
        let mangled = Naming {
            mangled: true,
            hex: false,
        };
        assert_eq!(kernel(mangled).name(), NAME);
    }

    #[test]
    fn arguments_have_their_names_and_values_their_types() {
        let known = |text: &str| kernel(Naming::default()).known(&format!("kernel=k;arch=x86-64;{text}"));
        assert_eq!(
            known("1=i32:0xfffffffd;3=align:64"),
            "n = -3 (int), data aligned to 64"
        );
        // Of the object's bytes, those that no value of the source's has.
        assert_eq!(
            known("2=align:8+contents:03000000aa??????000000000000f83f"),
            "box aligned to 8, box->radius = 3 (int), box->weight = 1.5 (double), box at byte 4: aa"
        );
        assert_eq!(known("2=contents:0300"), "box at byte 0: 0300");
        assert_eq!(
            known("4=i16:7;teams=1;threads=2"),
            "argument 4 = 7 (i16), teams = 1, threads = 2"
        );
        assert_eq!(known("4=double:0x3ff8000000000000"), "argument 4 = 1.5 (double)");
        assert_eq!(known(""), "any launch");
        let hex = Naming {
            mangled: false,
            hex: true,
        };
        assert_eq!(
            kernel(hex).known("kernel=k;arch=x86-64;1=i32:3"),
            "n = 0x00000003 (int)"
        );
        assert_eq!(kernel(hex).known("no descriptor"), "?");
        assert_eq!(kernel(hex).argument(1), "n");
        assert_eq!(kernel(hex).argument(7), "7");
        assert_eq!(kernel(hex).subject(Subject::Value(1)), "value of n");
        assert_eq!(kernel(hex).subject(Subject::Value(9)), "value of argument 9");
    }
}
