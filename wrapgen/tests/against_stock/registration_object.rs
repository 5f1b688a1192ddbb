//! The registration object, written without a code generator, against the one that LLVM generates.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use object::elf::{FileHeader64, SHT_PROGBITS, STT_SECTION};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionFlags, SymbolFlags};
use tempfile::TempDir;

use crate::tools::{image_arguments, images, llvm, stock_wrapper, succeed, wrapgen};

/// What of an object must be equal.
#[derive(Debug, PartialEq, Eq)]
struct Contents {
    sections: BTreeSet<Section>,
    symbols: Vec<Symbol>,
    relocations: BTreeSet<Relocation>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Section {
    name: String,
    flags: u64,
    alignment: u64,
    data: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Symbol {
    name: String,
    section: Option<String>,
    address: u64,
    size: u64,
    info: u8,
    visibility: u8,
}

/// A relocation by what it means: LLVM refers to a section where we refer to the symbol there.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Relocation {
    section: String,
    offset: u64,
    kind: String,
    target: String,
    addend: i64,
}

impl Contents {
    fn of(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let file = ElfFile64::<Endianness>::parse(&*bytes).unwrap();
        assert_eq!(file.architecture(), object::Architecture::X86_64);
        let mut contents = Self {
            sections: BTreeSet::new(),
            symbols: Vec::new(),
            relocations: BTreeSet::new(),
        };
        for section in file.sections() {
            let name = section.name().unwrap().to_owned();
            contents.add_relocations(&file, &section, &name);
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
                panic!("not an ELF section")
            };
            let table =
                name.starts_with(".rela") || [".symtab", ".strtab", ".shstrtab"].contains(&name.as_str());
            // LLVM writes an empty section for code that has no section of its own.
            if !table && name != ".text" {
                contents.sections.insert(Section {
                    flags: sh_flags.0,
                    alignment: section.align(),
                    data: section.data().unwrap().to_vec(),
                    name,
                });
            }
        }
        for symbol in file.symbols() {
            let SymbolFlags::Elf {
                st_info, st_other, ..
            } = symbol.flags()
            else {
                panic!("not an ELF symbol")
            };
            if st_info.st_type() != STT_SECTION {
                contents.symbols.push(Symbol {
                    name: symbol.name().unwrap().to_owned(),
                    section: symbol
                        .section_index()
                        .map(|index| file.section_by_index(index).unwrap().name().unwrap().to_owned()),
                    address: symbol.address(),
                    size: symbol.size(),
                    info: st_info.0,
                    visibility: st_other.0,
                });
            }
        }
        contents
    }

    fn add_relocations(
        &mut self,
        file: &ElfFile64<'_>,
        section: &object::read::elf::ElfSection64<'_, '_>,
        name: &str,
    ) {
        for (offset, relocation) in section.relocations() {
            let RelocationTarget::Symbol(index) = relocation.target() else {
                panic!("a relocation without a symbol")
            };
            let symbol = file.symbol_by_index(index).unwrap();
            let (target, addend) = match symbol.section_index() {
                Some(index) => (
                    file.section_by_index(index).unwrap().name().unwrap().to_owned(),
                    relocation.addend() + symbol.address() as i64,
                ),
                None => (symbol.name().unwrap().to_owned(), relocation.addend()),
            };
            self.relocations.insert(Relocation {
                section: name.to_owned(),
                offset,
                kind: format!("{:?}", relocation.flags()),
                target,
                addend,
            });
        }
    }

    /// Resolves the destructor's address in the constructor: LLVM's assembler does, as both are in one section.
    fn resolve_within_text(&mut self) {
        let inside = |relocation: &Relocation| {
            relocation.section == relocation.target && relocation.section == ".text.startup"
        };
        let found: Vec<_> = self
            .relocations
            .iter()
            .filter(|relocation| inside(relocation))
            .collect();
        let [relocation] = found[..] else {
            panic!("one relocation within the code expected, not {found:?}")
        };
        let place = relocation.offset as usize;
        let distance = (relocation.addend - relocation.offset as i64) as i32;
        self.relocations.retain(|relocation| !inside(relocation));
        let sections = std::mem::take(&mut self.sections);
        self.sections = sections
            .into_iter()
            .map(|mut section| {
                if section.name == ".text.startup" {
                    section.data[place..place + 4].copy_from_slice(&distance.to_le_bytes());
                    // What fills the space between the functions is never run.
                    let padding = 0x1b..0x20;
                    section.data[padding].fill(0);
                }
                section
            })
            .collect();
    }

    fn ignore_padding(&mut self) {
        let sections = std::mem::take(&mut self.sections);
        self.sections = sections
            .into_iter()
            .map(|mut section| {
                if section.name == ".text.startup" {
                    section.data[0x1b..0x20].fill(0);
                }
                section
            })
            .collect();
    }
}

fn names(contents: &Contents) -> Vec<&str> {
    contents
        .sections
        .iter()
        .map(|section| section.name.as_str())
        .collect()
}

fn check(count: usize) {
    let folder = TempDir::new().unwrap();
    let images = images(folder.path(), count);
    stock_wrapper(folder.path(), &images, &[]);
    let ours = folder.path().join("ours.o");
    succeed(
        wrapgen()
            .arg("wrap")
            .args(image_arguments(&images))
            .arg("-o")
            .arg(&ours),
    );

    let mut stock = Contents::of(&folder.path().join("stock.openmp.image.wrapper.o"));
    stock.ignore_padding();
    let mut ours = Contents::of(&ours);
    ours.resolve_within_text();
    assert_eq!(names(&ours), names(&stock));
    assert_eq!(ours.symbols, stock.symbols);
    assert_eq!(ours.relocations, stock.relocations);
    assert!(ours == stock, "sections differ in flags, alignment or data");
}

#[test]
fn one_image_is_wrapped_as_stock_wraps_it() {
    check(1);
}

#[test]
fn several_images_are_wrapped_as_stock_wraps_them() {
    check(3);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let folder = TempDir::new().unwrap();
    let images = images(folder.path(), 2);
    let objects = ["first.o", "second.o"].map(|name| {
        let object = folder.path().join(name);
        succeed(
            wrapgen()
                .arg("wrap")
                .args(image_arguments(&images))
                .arg("-o")
                .arg(&object),
        );
        fs::read(object).unwrap()
    });
    assert!(objects[0] == objects[1]);
}

#[test]
fn a_bundle_is_announced_before_the_images() {
    let folder = TempDir::new().unwrap();
    let images = images(folder.path(), 1);
    let bundle = folder.path().join("bundle");
    fs::write(&bundle, "not looked into").unwrap();
    let object = folder.path().join("ours.o");
    succeed(
        wrapgen()
            .args(["wrap", "-o"])
            .arg(&object)
            .arg("--jit-bundle")
            .arg(&bundle)
            .args(image_arguments(&images)),
    );
    let disassembly = succeed(
        llvm("llvm-objdump")
            .args(["-dr", "--no-show-raw-insn"])
            .arg(&object),
    )
    .stdout;
    let disassembly = String::from_utf8(disassembly).unwrap();
    let places = [
        "<.omp_offloading.descriptor_reg>",
        "__offloom_jit_bundle_start",
        "__offloom_jit_bundle_end",
        "__offloom_jit_attach",
        "__tgt_register_lib",
        "atexit",
        "<.omp_offloading.descriptor_unreg>",
    ]
    .map(|name| {
        disassembly
            .find(name)
            .unwrap_or_else(|| panic!("no {name} in\n{disassembly}"))
    });
    assert!(places.is_sorted(), "{disassembly}");

    let bytes = fs::read(&object).unwrap();
    let file = object::read::elf::ElfFile::<FileHeader64<Endianness>>::parse(&*bytes).unwrap();
    let section = file.section_by_name(".offloom.jit_bundle").unwrap();
    assert_eq!(section.data().unwrap(), b"not looked into");
    assert_eq!(
        section.elf_section_header().sh_type.get(Endianness::Little),
        SHT_PROGBITS
    );
}
