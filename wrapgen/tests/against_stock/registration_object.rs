//! The registration object, written without a code generator, against the one that LLVM generates.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use object::elf::{FileHeader64, SHT_PROGBITS, STT_SECTION};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionFlags, SymbolFlags};
use tempfile::TempDir;

use crate::tools::{fat_binary_of, image_arguments, images, llvm, stock_wrapper, succeed, wrapgen};

/// What of an object must be equal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Contents {
    sections: BTreeSet<Section>,
    pub(crate) symbols: Vec<Symbol>,
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
pub(crate) struct Symbol {
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
    pub(crate) fn of(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let file = ElfFile64::<Endianness>::parse(&*bytes).unwrap();
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
            // On AArch64, LLVM marks where data starts in every section; code alone has to be told from data
            // in it.
            if st_info.st_type() != STT_SECTION && !symbol.name().unwrap().starts_with('$') {
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

    /// Resolves the destructor's address in the constructor: LLVM's assembler does, as both are in one
    /// section.
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

const X86_64: &str = "x86_64-pc-linux-gnu";
const AARCH64: &str = "aarch64-unknown-linux-gnu";

fn check(host: &str, count: usize) {
    let folder = TempDir::new().unwrap();
    let images = images(folder.path(), count);
    stock_wrapper(folder.path(), host, "openmp", &images, &[]);
    let ours = folder.path().join("ours.o");
    succeed(
        wrapgen()
            .args(["wrap", "--host-triple", host])
            .args(image_arguments(&images))
            .arg("-o")
            .arg(&ours),
    );

    let mut stock = Contents::of(&folder.path().join("stock.openmp.image.wrapper.o"));
    let mut ours = Contents::of(&ours);
    if host == X86_64 {
        stock.ignore_padding();
        ours.resolve_within_text();
    }
    assert_equal(&ours, &stock);
}

pub(crate) fn assert_equal(ours: &Contents, stock: &Contents) {
    assert_eq!(names(ours), names(stock));
    assert_eq!(ours.symbols, stock.symbols);
    assert_eq!(ours.relocations, stock.relocations);
    assert!(ours == stock, "sections differ in flags, alignment or data");
}

/// Compares the objects that register one fat binary.
fn check_fat_binary(host: &str, kind: &str) {
    let folder = TempDir::new().unwrap();
    let image = images(folder.path(), 1);
    let made = stock_wrapper(folder.path(), host, kind, &image, &["--print-wrapped-module"]);
    let fat_binary = fat_binary_of(&String::from_utf8(made.stderr).unwrap());
    let path = folder.path().join("fat");
    fs::write(&path, &fat_binary).unwrap();
    let ours = folder.path().join("ours.o");
    succeed(
        wrapgen()
            .args(["wrap", "--host-triple", host, "--kind", kind, "-o"])
            .args([&ours, &path]),
    );
    let stock = folder.path().join(format!("stock.{kind}.image.wrapper.o"));
    let (mut ours, mut stock) = (Contents::of(&ours), Contents::of(&stock));
    ours.symbols.sort();
    stock.symbols.sort();
    assert_equal(&ours, &stock);
}

#[test]
fn fat_binaries_of_cuda_are_wrapped_as_stock_wraps_them() {
    check_fat_binary(X86_64, "cuda");
    check_fat_binary(AARCH64, "cuda");
}

#[test]
fn fat_binaries_of_hip_are_wrapped_as_stock_wraps_them() {
    check_fat_binary(X86_64, "hip");
    check_fat_binary(AARCH64, "hip");
}

#[test]
fn images_for_an_aarch64_host_are_wrapped_as_stock_wraps_them() {
    check(AARCH64, 1);
    check(AARCH64, 3);
}

#[test]
fn one_image_is_wrapped_as_stock_wraps_it() {
    check(X86_64, 1);
}

#[test]
fn several_images_are_wrapped_as_stock_wraps_them() {
    check(X86_64, 3);
}

#[test]
fn the_same_content_gives_the_same_bytes_under_other_names() {
    let folder = TempDir::new().unwrap();
    let image = images(folder.path(), 1).remove(0);
    let other = folder.path().join("other/place.img");
    fs::create_dir(folder.path().join("other")).unwrap();
    fs::copy(&image, &other).unwrap();
    for (kind, form) in [("openmp", "o"), ("openmp", "bc"), ("hip", "o"), ("cuda", "ll")] {
        let outputs = [&image, &other].map(|image| {
            let output = image.with_extension(form);
            succeed(
                wrapgen()
                    .current_dir(image.parent().unwrap())
                    .args(["wrap", "--kind", kind, "-o"])
                    .args([&output, image]),
            );
            fs::read(output).unwrap()
        });
        assert!(outputs[0] == outputs[1], "{kind} {form}");
    }
}

#[test]
fn bundles_are_announced_before_the_images() {
    let folder = TempDir::new().unwrap();
    let images = images(folder.path(), 1);
    let bundles = ["not looked into", "nor into this"].map(|text| {
        let bundle = folder.path().join(text);
        fs::write(&bundle, text).unwrap();
        bundle
    });
    let object = folder.path().join("ours.o");
    succeed(
        wrapgen()
            .args(["wrap", "-o"])
            .arg(&object)
            .args(
                bundles
                    .iter()
                    .flat_map(|bundle| ["--jit-bundle".as_ref(), bundle.as_os_str()]),
            )
            .args(image_arguments(&images)),
    );
    let disassembly = succeed(
        llvm("llvm-objdump")
            .args(["-dr", "--no-show-raw-insn"])
            .arg(&object),
    )
    .stdout;
    let disassembly = String::from_utf8(disassembly).unwrap();
    let mut rest = disassembly.as_str();
    for name in [
        "<.omp_offloading.descriptor_reg>",
        "__offloom_jit_bundle_start",
        "__offloom_jit_bundle_end",
        "__offloom_jit_attach",
        "__offloom_jit_bundle_start.1",
        "__offloom_jit_bundle_end.1",
        "__offloom_jit_attach",
        "__tgt_register_lib",
        "atexit",
        "<.omp_offloading.descriptor_unreg>",
    ] {
        let found = rest.split_once(name);
        rest = found
            .unwrap_or_else(|| panic!("no {name} in its place in\n{disassembly}"))
            .1;
    }

    let bytes = fs::read(&object).unwrap();
    let file = object::read::elf::ElfFile::<FileHeader64<Endianness>>::parse(&*bytes).unwrap();
    let section = file.section_by_name(".offloom.jit_bundle").unwrap();
    assert_eq!(section.data().unwrap(), b"not looked into\0nor into this");
    assert_eq!(
        section.elf_section_header().sh_type.get(Endianness::Little),
        SHT_PROGBITS
    );
}

/// The number of bundles decides how long the constructor is. On AArch64 its unwind information says where it
/// ends.
#[test]
fn unwinders_know_where_a_long_constructor_ends() {
    let folder = TempDir::new().unwrap();
    let images = images(folder.path(), 1);
    let bundle = folder.path().join("bundle");
    fs::write(&bundle, "one of many").unwrap();
    let ends = [1, 30].map(|count| {
        let object = folder.path().join(format!("{count}.o"));
        let option = ["--jit-bundle".as_ref(), bundle.as_os_str()];
        succeed(
            wrapgen()
                .args(["wrap", "--host-triple=aarch64-unknown-linux-gnu", "-o"])
                .arg(&object)
                .args(option.iter().cycle().take(2 * count))
                .args(image_arguments(&images)),
        );
        let dump = |tool: &str, option: &str| {
            let output = succeed(llvm(tool).arg(option).arg(&object));
            String::from_utf8(output.stdout).unwrap()
        };
        let unwinding = dump("llvm-dwarfdump", "--eh-frame");
        let advance = unwinding
            .lines()
            .filter(|line| line.contains("DW_CFA_advance_loc"))
            .nth(1)
            .unwrap_or_else(|| panic!("{unwinding}"));
        let end = advance.rsplit_once("to 0x").unwrap().1;
        let end = u64::from_str_radix(end, 16).unwrap();
        let code = dump("llvm-objdump", "-d");
        let place = format!("{end:x}: ");
        let line = code.lines().find(|line| line.trim_start().starts_with(&place));
        line.unwrap_or_else(|| panic!("{place} in {code}"))
            .split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ")
    });
    assert_eq!(ends[0], ends[1]);
}
