//! The registration object: images, descriptor, and the constructor that hands them to libomptarget.
//!
//! Symbols, sections and relocations are those of the module that LLVM's linker wrapper makes and compiles
//! (`llvm/Frontend/Offloading/OffloadWrapper.cpp`); the machine code is put together from [`Architecture`].

use object::elf;
use offloom_abi::device_image::{descriptor, image, wrapper_symbol};
use offloom_abi::jit_base_image::{HIDDEN_REGISTER_SYMBOL, HIDDEN_UNREGISTER_SYMBOL};
use offloom_abi::jit_image::HIDDEN_ATTACH_SYMBOL;
use offloom_abi::{LlvmVersion, device_image, entry, jit_bundle, names};

use super::EmbeddedImage;
use super::architecture::{Architecture, Code};
use super::relocatable::{Contents, Place, Relocatable, Relocation, Section, Symbol};
use crate::error::{Error, Result};
use crate::output::OutputFile;

/// Local symbol at the start of the first JIT bundle; those of further ones have a number behind the name.
const JIT_BUNDLE_START: &str = "__offloom_jit_bundle_start";
/// Local symbol at the end of the first JIT bundle.
const JIT_BUNDLE_END: &str = "__offloom_jit_bundle_end";

/// What a registration object holds.
#[derive(Debug)]
pub struct Registration<'a> {
    /// The release whose libomptarget will read it.
    pub llvm: LlvmVersion,
    /// Target triple of the host.
    pub host_triple: &'a str,
    /// The images, in the order that the runtime sees them.
    pub images: Vec<EmbeddedImage<'a>>,
    /// Whether the object will be linked again with `-r`: its images then lie in a section of another name.
    pub relocatable: bool,
    /// JIT bundles to announce first: those of the images.
    pub jit_bundles: Vec<&'a [u8]>,
    /// Whether the images are bitcode that the JIT library makes images of: a hidden piece of the program
    /// registers those.
    pub jit_only: bool,
}

/// Positions of sections that symbols are in.
const TEXT: usize = 0;
const ENTRIES: usize = 1;
const IMAGES: usize = 2;
const DATA: usize = 3;
const JIT_BUNDLE: usize = 7;

/// The name of one of several equally named locals: LLVM makes such names unique in this way.
fn numbered(name: &str, number: usize) -> String {
    match number {
        0 => name.to_owned(),
        _ => format!("{name}.{number}"),
    }
}

impl Registration<'_> {
    /// Writes the object. The images go from their files to the output and nowhere else.
    ///
    /// # Errors
    /// The host's processor is unknown, or the output cannot be written.
    pub fn write_object(&self, output: &mut OutputFile) -> Result<()> {
        self.relocatable()?.write(output, None)
    }

    /// Writes the object around its first image, which lies in the file already, where
    /// [`Registration::image_offset`] says.
    ///
    /// # Errors
    /// As [`Registration::write_object`].
    pub fn write_around_image(&self, output: &mut OutputFile) -> Result<()> {
        let present = self.image_offset()?;
        self.relocatable()?.write(output, Some(present))
    }

    /// Where in the object the first image starts, behind the header of its OffloadBinary. It does not depend
    /// on the image's size.
    ///
    /// # Errors
    /// The host's processor is unknown.
    pub fn image_offset(&self) -> Result<u64> {
        let offsets = self.relocatable()?.section_offsets()?;
        let header = self.images.first().map_or(0, |image| image.image_range().start);
        Ok(offsets.get(IMAGES).copied().unwrap_or_default() + header)
    }

    fn relocatable(&self) -> Result<Relocatable<'_>> {
        let architecture = Architecture::of_triple(self.host_triple).ok_or_else(|| {
            let known: Vec<_> = Architecture::ALL.iter().map(|known| known.name).collect();
            Error::Usage(format!(
                "no registration object can be written for the host '{}', only for {}",
                self.host_triple,
                known.join(", ")
            ))
        })?;
        Ok(Layout::new(self, architecture).finish())
    }
}

/// The object under construction.
struct Layout<'a> {
    registration: &'a Registration<'a>,
    architecture: &'static Architecture,
    symbols: Vec<Symbol>,
}

/// Positions of the symbols that code and data refer to.
struct SymbolNumbers {
    register: usize,
    descriptor: usize,
    unregister: usize,
    bundles: Vec<[usize; 2]>,
    images: Vec<usize>,
    image_table: usize,
    register_lib: usize,
    atexit: usize,
    unregister_lib: usize,
    attach: usize,
    start: usize,
    stop: usize,
}

/// Machine code with its relocations, growing.
#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
    relocations: Vec<Relocation>,
}

impl Text {
    fn push(&mut self, code: &Code, symbol: usize) {
        let start = self.bytes.len() as u64;
        self.bytes.extend_from_slice(code.bytes);
        self.relocations
            .extend(code.relocations.iter().map(|&(offset, kind, addend)| Relocation {
                offset: start + offset,
                symbol,
                kind,
                addend,
            }));
    }
}

impl<'a> Layout<'a> {
    fn new(registration: &'a Registration<'a>, architecture: &'static Architecture) -> Self {
        Self {
            registration,
            architecture,
            symbols: Vec::new(),
        }
    }

    fn finish(mut self) -> Relocatable<'a> {
        let register_size = self.register_size();
        let unregister_start = (register_size as u64).next_multiple_of(self.architecture.function_alignment);
        let unregister_size = self.function_size(1, 1);
        let numbers = self.add_symbols(register_size, unregister_start, unregister_size);
        let text = self.text(&numbers, unregister_start);
        let data = self.data(&numbers);
        let mut sections = vec![
            self.section(
                device_image::REGISTER_FUNCTION_SECTION,
                elf::SHF_ALLOC | elf::SHF_EXECINSTR,
                self.architecture.function_alignment,
                text.bytes,
            ),
            self.section(
                entry::section(self.registration.llvm),
                elf::SHF_ALLOC,
                8,
                Vec::new(),
            ),
            self.images_section(),
            self.section(".data.rel.ro", elf::SHF_ALLOC | elf::SHF_WRITE, 16, data.bytes),
        ];
        sections[TEXT].relocations = text.relocations;
        sections[DATA].relocations = data.relocations;

        let mut constructors = self.section(
            &format!(".init_array.{}", device_image::REGISTER_PRIORITY),
            elf::SHF_ALLOC | elf::SHF_WRITE,
            8,
            vec![0; 8],
        );
        constructors.kind = elf::SHT_INIT_ARRAY;
        constructors.relocations = vec![self.pointer(0, numbers.register)];
        sections.push(constructors);
        sections.push(self.section(".note.GNU-stack", elf::SectionFlags(0), 1, Vec::new()));
        sections.push(self.unwind_section(&[
            (numbers.register, register_size),
            (numbers.unregister, unregister_size),
        ]));
        let bundles = &self.registration.jit_bundles;
        if !bundles.is_empty() {
            let mut section = self.section(
                jit_bundle::SECTION,
                elf::SHF_ALLOC,
                jit_bundle::SECTION_ALIGNMENT as u64,
                Vec::new(),
            );
            let pieces = bundles.iter().map(|&bundle| vec![bundle.into()]);
            section.contents = Contents::Pieces(pieces.collect());
            sections.push(section);
        }
        Relocatable {
            machine: self.architecture.machine,
            sections,
            symbols: self.symbols,
        }
    }

    /// The local symbols, then the global ones.
    fn add_symbols(
        &mut self,
        register_size: usize,
        unregister_start: u64,
        unregister_size: usize,
    ) -> SymbolNumbers {
        let Registration {
            llvm,
            images,
            jit_bundles,
            jit_only,
            ..
        } = self.registration;
        let image_table_size = (images.len() * image::SIZE) as u64;
        self.local(
            device_image::WRAPPER_MODULE_NAME,
            elf::STT_FILE,
            Place::Absolute,
            0,
        );
        let function = |offset| Place::Section(TEXT, offset);
        if let Some(mark) = self.architecture.code_mark {
            self.local(mark, elf::STT_NOTYPE, function(0), 0);
        }
        let register = self.local(
            wrapper_symbol::REGISTER,
            elf::STT_FUNC,
            function(0),
            register_size as u64,
        );
        let place = Place::Section(DATA, image_table_size);
        let descriptor = self.local(
            wrapper_symbol::DESCRIPTOR,
            elf::STT_OBJECT,
            place,
            descriptor::SIZE as u64,
        );
        let place = function(unregister_start);
        let unregister = self.local(
            wrapper_symbol::UNREGISTER,
            elf::STT_FUNC,
            place,
            unregister_size as u64,
        );
        self.local(
            entry::dummy_symbol(*llvm),
            elf::STT_OBJECT,
            Place::Section(ENTRIES, 0),
            0,
        );

        let mut image_symbols = Vec::new();
        let mut offset = 0u64;
        for (number, image) in images.iter().enumerate() {
            let name = numbered(wrapper_symbol::DEVICE_IMAGE, number);
            offset = offset.next_multiple_of(names::OFFLOADING_ALIGNMENT);
            let place = Place::Section(IMAGES, offset);
            image_symbols.push(self.local(&name, elf::STT_OBJECT, place, image.size()));
            offset += image.size();
        }
        let place = Place::Section(DATA, 0);
        let image_table = self.local(
            wrapper_symbol::DEVICE_IMAGES,
            elf::STT_OBJECT,
            place,
            image_table_size,
        );
        let mut bundles = Vec::new();
        let mut offset = 0u64;
        for (number, bundle) in jit_bundles.iter().enumerate() {
            let size = bundle.len() as u64;
            let start = offset.next_multiple_of(jit_bundle::SECTION_ALIGNMENT as u64);
            offset = start + size;
            let place = |offset| Place::Section(JIT_BUNDLE, offset);
            let name = |name| numbered(name, number);
            bundles.push([
                self.local(&name(JIT_BUNDLE_START), elf::STT_OBJECT, place(start), size),
                self.local(&name(JIT_BUNDLE_END), elf::STT_NOTYPE, place(offset), 0),
            ]);
        }

        let (functions, visibility) = match jit_only {
            false => (
                (device_image::REGISTER_LIB, device_image::UNREGISTER_LIB),
                elf::STV_DEFAULT,
            ),
            true => (
                (HIDDEN_REGISTER_SYMBOL, HIDDEN_UNREGISTER_SYMBOL),
                elf::STV_HIDDEN,
            ),
        };
        SymbolNumbers {
            register,
            descriptor,
            unregister,
            bundles,
            images: image_symbols,
            image_table,
            register_lib: self.undefined(functions.0, visibility),
            atexit: self.undefined("atexit", elf::STV_DEFAULT),
            unregister_lib: self.undefined(functions.1, visibility),
            start: self.undefined(entry::start_symbol(*llvm), elf::STV_HIDDEN),
            stop: self.undefined(entry::stop_symbol(*llvm), elf::STV_HIDDEN),
            attach: match jit_bundles.is_empty() {
                false => self.undefined(HIDDEN_ATTACH_SYMBOL, elf::STV_HIDDEN),
                true => 0,
            },
        }
    }

    /// Constructor and destructor.
    fn text(&self, numbers: &SymbolNumbers, unregister_start: u64) -> Text {
        let Architecture {
            prologue,
            load_address: [first, second],
            call,
            epilogue,
            padding,
            ..
        } = self.architecture;
        let mut text = Text::default();
        text.bytes.extend_from_slice(prologue);
        for &[bundle_start, bundle_end] in &numbers.bundles {
            text.push(first, bundle_start);
            text.push(second, bundle_end);
            text.push(call, numbers.attach);
        }
        text.push(first, numbers.descriptor);
        text.push(call, numbers.register_lib);
        text.push(first, numbers.unregister);
        text.push(call, numbers.atexit);
        text.bytes.extend_from_slice(epilogue);
        while (text.bytes.len() as u64) < unregister_start {
            text.bytes.extend_from_slice(padding);
        }
        text.bytes.extend_from_slice(prologue);
        text.push(first, numbers.descriptor);
        text.push(call, numbers.unregister_lib);
        text.bytes.extend_from_slice(epilogue);
        text
    }

    fn register_size(&self) -> usize {
        let bundles = self.registration.jit_bundles.len();
        self.function_size(2 + bundles, 2 + bundles) + bundles * self.architecture.load_address[1].bytes.len()
    }

    /// Bytes of a function that loads `addresses` first arguments and makes `calls` calls.
    fn function_size(&self, addresses: usize, calls: usize) -> usize {
        let Architecture {
            prologue,
            load_address,
            call,
            epilogue,
            ..
        } = self.architecture;
        prologue.len() + addresses * load_address[0].bytes.len() + calls * call.bytes.len() + epilogue.len()
    }

    /// The table of images, then the descriptor.
    fn data(&self, numbers: &SymbolNumbers) -> Text {
        let images = &self.registration.images;
        let table_size = images.len() * image::SIZE;
        let mut data = Text {
            bytes: vec![0; table_size + descriptor::SIZE],
            relocations: Vec::new(),
        };
        for (number, (embedded, &symbol)) in images.iter().zip(&numbers.images).enumerate() {
            let range = embedded.image_range();
            let field = |field: usize| (number * image::SIZE + field) as u64;
            for (offset, symbol, addend) in [
                (image::IMAGE_START, symbol, range.start),
                (image::IMAGE_END, symbol, range.end),
                (image::ENTRIES_BEGIN, numbers.start, 0),
                (image::ENTRIES_END, numbers.stop, 0),
            ] {
                let pointer = self.pointer(field(offset), symbol);
                data.relocations.push(Relocation {
                    addend: addend as i64,
                    ..pointer
                });
            }
        }
        let count = (images.len() as u32).to_le_bytes();
        let count_start = table_size + descriptor::NUM_DEVICE_IMAGES;
        data.bytes[count_start..count_start + count.len()].copy_from_slice(&count);
        for (offset, symbol) in [
            (descriptor::DEVICE_IMAGES, numbers.image_table),
            (descriptor::HOST_ENTRIES_BEGIN, numbers.start),
            (descriptor::HOST_ENTRIES_END, numbers.stop),
        ] {
            data.relocations
                .push(self.pointer((table_size + offset) as u64, symbol));
        }
        data
    }

    fn images_section(&self) -> Section<'a> {
        let name = if self.registration.relocatable {
            names::OFFLOADING_RELOCATABLE_SECTION
        } else {
            names::OFFLOADING_SECTION
        };
        let images = &self.registration.images;
        Section {
            name: name.to_owned(),
            // LLVM gives the type to the section of this exact name only.
            kind: match self.registration.relocatable {
                false => elf::SectionType(names::SHT_LLVM_OFFLOADING),
                true => elf::SHT_PROGBITS,
            },
            flags: elf::SHF_ALLOC,
            alignment: names::OFFLOADING_ALIGNMENT,
            entry_size: 0,
            contents: Contents::Pieces(images.iter().map(|image| image.pieces().to_vec()).collect()),
            relocations: Vec::new(),
        }
    }

    /// Lets unwinders and debuggers step through the two functions.
    fn unwind_section(&self, functions: &[(usize, usize)]) -> Section<'a> {
        let Architecture {
            unwind_common,
            unwind_prologue,
            unwind_return,
            return_size,
            unwind_step,
            prologue,
            distance,
            ..
        } = self.architecture;
        let mut bytes = Vec::new();
        let mut relocations = Vec::new();
        bytes.extend_from_slice(&(unwind_common.len() as u32 + 4).to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(unwind_common);
        for (number, &(symbol, size)) in functions.iter().enumerate() {
            let start = bytes.len();
            bytes.extend_from_slice(&[0; 4]);
            let record = bytes.len();
            bytes.extend_from_slice(&(record as u32).to_le_bytes());
            relocations.push(Relocation {
                offset: bytes.len() as u64,
                symbol,
                kind: *distance,
                addend: 0,
            });
            bytes.extend_from_slice(&[0; 4]);
            bytes.extend_from_slice(&(size as u32).to_le_bytes());
            bytes.push(0);
            bytes.extend_from_slice(unwind_prologue);
            if !unwind_return.is_empty() {
                let body = (size - prologue.len() - return_size) / unwind_step;
                match body {
                    // DW_CFA_advance_loc holds six bits, DW_CFA_advance_loc2 sixteen.
                    0..0x40 => bytes.push(0x40 | body as u8),
                    _ => {
                        bytes.push(0x03);
                        bytes.extend_from_slice(&(body as u16).to_le_bytes());
                    }
                }
                bytes.extend_from_slice(unwind_return);
            }
            // Records end at multiples of their distances' size, the last one of a pointer's.
            let alignment = if number + 1 == functions.len() { 8 } else { 4 };
            bytes.resize(bytes.len().next_multiple_of(alignment), 0);
            let length = (bytes.len() - record) as u32;
            bytes[start..record].copy_from_slice(&length.to_le_bytes());
        }
        let mut section = self.section(".eh_frame", elf::SHF_ALLOC, 8, bytes);
        section.kind = self.architecture.unwind_section;
        section.relocations = relocations;
        section
    }

    fn section(&self, name: &str, flags: elf::SectionFlags, alignment: u64, bytes: Vec<u8>) -> Section<'a> {
        Section {
            name: name.to_owned(),
            kind: elf::SHT_PROGBITS,
            flags,
            alignment,
            entry_size: 0,
            contents: Contents::Bytes(bytes),
            relocations: Vec::new(),
        }
    }

    fn pointer(&self, offset: u64, symbol: usize) -> Relocation {
        Relocation {
            offset,
            symbol,
            kind: self.architecture.pointer,
            addend: 0,
        }
    }

    fn local(&mut self, name: &str, kind: elf::SymbolType, place: Place, size: u64) -> usize {
        self.symbols.push(Symbol {
            name: name.to_owned(),
            place,
            size,
            kind,
            binding: elf::STB_LOCAL,
            visibility: elf::STV_DEFAULT,
        });
        self.symbols.len() - 1
    }

    fn undefined(&mut self, name: &str, visibility: elf::SymbolVisibility) -> usize {
        self.symbols.push(Symbol {
            name: name.to_owned(),
            place: Place::Undefined,
            size: 0,
            kind: elf::STT_NOTYPE,
            binding: elf::STB_GLOBAL,
            visibility,
        });
        self.symbols.len() - 1
    }
}
