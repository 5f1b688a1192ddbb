//! `wrapgen inspect`: shows the device images that a file holds, as a table for people or as JSON.

mod fat_binaries;
mod host_entries;
mod kernels;

use std::collections::BTreeSet;
use std::path::PathBuf;

use offloom_abi::kernel_name::KernelName;
use offloom_abi::offload_binary::ImageKind;
use offloom_abi::{LlvmVersion, entry, jit_bundle};
use offloom_text_table::{Table, counted, printable};
use serde_json::{Value, json};

use self::fat_binaries::FatBinaries;
use self::host_entries::HostEntries;
use crate::LLVM;
use crate::error::{Error, Result};
use crate::inputs::{EmbeddedMember, InputFile, InputKind, bitcode_symbols, elf, is_bitcode};
use crate::output;

/// Show the device images that a file holds.
#[derive(Debug, clap::Args)]
pub struct InspectArgs {
    /// An OffloadBinary, object (ELF, COFF, Mach-O or LLVM bitcode), program, shared library or archive.
    #[arg(value_name = "FILE")]
    pub input: PathBuf,

    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

impl InspectArgs {
    /// Prints what the file holds.
    ///
    /// # Errors
    /// The file cannot be read, or it or an image in it is malformed.
    pub fn run(&self) -> Result<()> {
        output::print(&describe(&InputFile::open(&self.input)?, self.json)?)
    }
}

/// What a file holds, as text for people or as JSON, ending in a line break.
///
/// # Errors
/// The file or an image in it is malformed, or it is of a kind that cannot hold images.
pub fn describe(file: &InputFile, json: bool) -> Result<String> {
    let report = Report::of(file)?;
    Ok(match json {
        true => format!("{:#}\n", report.json()),
        false => printable(&report.text()),
    })
}

/// What a file holds.
#[derive(Debug)]
struct Report {
    input: String,
    kind: InputKind,
    host_entries: HostEntries,
    images: Vec<Image>,
    /// Bytes of images that are in no container, which says what an image is for.
    bare_image_bytes: usize,
    fat_binaries: FatBinaries,
    /// Whether a link with `--jit` has left a bundle for the JIT library.
    has_jit_bundle: bool,
}

/// How many offload entries of one release's layout there are.
#[derive(Debug)]
struct EntryCount {
    version: LlvmVersion,
    count: usize,
}

#[derive(Debug)]
struct Image {
    archive_member: Option<String>,
    kind: ImageKind,
    producer: String,
    strings: Vec<(String, String)>,
    triple: String,
    arch: String,
    member_size: usize,
    image_size: usize,
    contents: Option<Contents>,
}

/// What can be told of an image that is an ELF file or LLVM bitcode.
#[derive(Debug)]
struct Contents {
    kernels: BTreeSet<String>,
    /// `None` for bitcode, where entries are not told from other globals.
    entries: Option<Vec<EntryCount>>,
}

impl Report {
    fn of(file: &InputFile) -> Result<Self> {
        let input = file.path().display().to_string();
        let kind = file.kind();
        if kind == InputKind::Unknown {
            return Err(Error::UnknownInput { input });
        }
        let (mut images, mut host_entries) = (Vec::new(), HostEntries::default());
        let mut fat_binaries = FatBinaries::default();
        let (mut bare_image_bytes, mut has_jit_bundle) = (0, false);
        for part in file.parts()? {
            bare_image_bytes += part.bare_image_bytes()?;
            for member in part.embedded()? {
                images.push(Image::of(&member, images.len())?);
            }
            host_entries.add(&part)?;
            fat_binaries.add(&part)?;
            has_jit_bundle |= part.has_section(jit_bundle::SECTION)?;
        }
        Ok(Self {
            input,
            kind,
            host_entries,
            images,
            bare_image_bytes,
            fat_binaries,
            has_jit_bundle,
        })
    }

    fn text(&self) -> String {
        let kind = match self.kind {
            InputKind::OffloadBinary => "OffloadBinary",
            InputKind::Object => "ELF object",
            InputKind::Linked => "ELF executable or shared library",
            InputKind::OtherElf => "ELF file",
            InputKind::Archive => "archive",
            InputKind::ThinArchive => "thin archive",
            InputKind::Bitcode => "LLVM bitcode",
            InputKind::Coff => "COFF object or Windows program",
            InputKind::MachO => "Mach-O object or program",
            InputKind::Unknown => "unknown",
        };
        let mut text = format!(
            "{}: {kind}, {}",
            self.input,
            counted(self.images.len() as u64, "device image", "device images")
        );
        if self.bare_image_bytes > 0 {
            text.push_str(&format!(
                ", {} of images without a container",
                counted(self.bare_image_bytes as u64, "byte", "bytes")
            ));
        }
        if self.fat_binaries.len() > 0 {
            text.push_str(&format!(
                ", {} in fat binaries",
                counted(self.fat_binaries.len() as u64, "image", "images")
            ));
        }
        for (version, count) in self.host_entries.counts() {
            let entries = if count == 1 { "entry" } else { "entries" };
            text.push_str(&format!(
                ", {count} host {entries} as of LLVM {}",
                version.major()
            ));
        }
        if self.has_jit_bundle {
            text.push_str(", linked with --jit");
        }
        text.push('\n');
        if !self.images.is_empty() {
            self.images_text(&mut text);
        }
        self.fat_binaries.describe(&mut text);
        self.host_entries.describe(&mut text);
        text
    }

    fn images_text(&self, text: &mut String) {
        let archive = self.images.iter().any(|image| image.archive_member.is_some());
        let mut heading = vec![
            "image",
            "kind",
            "producer",
            "triple",
            "arch",
            "image bytes",
            "bytes",
            "kernels",
            "entries",
        ];
        if archive {
            heading.push("archive member");
        }
        let mut table = Table::new(&heading);
        for (index, image) in self.images.iter().enumerate() {
            table.row(image.row(index, archive));
        }
        text.push('\n');
        text.push_str(&table.lines(0));
        for (index, image) in self.images.iter().enumerate() {
            image.details(index, text);
        }
    }

    fn json(&self) -> Value {
        json!({
            "file": self.input,
            "host_entries": self.host_entries.json(),
            "bare_image_bytes": self.bare_image_bytes,
            "linked_with_jit": self.has_jit_bundle,
            "images": self.images.iter().map(Image::json).collect::<Vec<_>>(),
            "fat_binaries": self.fat_binaries.json(),
        })
    }
}

impl Image {
    fn of(found: &EmbeddedMember<'_>, index: usize) -> Result<Self> {
        let EmbeddedMember { origin, member, .. } = found;
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        Ok(Self {
            archive_member: origin.member_name(),
            kind: member.image_kind(),
            producer: match member.offload_kind() {
                Some(kind) => kind.name().to_owned(),
                None => format!("unknown ({})", member.offload_kind_number()),
            },
            strings: member.strings().map(owned).collect(),
            triple: member.triple().to_owned(),
            arch: member.arch().to_owned(),
            member_size: member.container().len(),
            image_size: member.image().len(),
            contents: Contents::of(member.image(), &format!("image {index} of {origin}"))?,
        })
    }

    fn row(&self, index: usize, archive: bool) -> Vec<String> {
        let unknown = || "-".to_owned();
        let (kernels, entries) = match &self.contents {
            Some(contents) => {
                let count =
                    |entries: &Vec<EntryCount>| entries.iter().map(|entries| entries.count).sum::<usize>();
                let entries = contents
                    .entries
                    .as_ref()
                    .map_or_else(unknown, |entries| count(entries).to_string());
                (contents.kernels.len().to_string(), entries)
            }
            None => (unknown(), unknown()),
        };
        let or_unknown = |text: &str| {
            if text.is_empty() {
                unknown()
            } else {
                text.escape_debug().to_string()
            }
        };
        let mut row = vec![
            index.to_string(),
            kind_name(self.kind),
            self.producer.clone(),
            or_unknown(&self.triple),
            or_unknown(&self.arch),
            self.image_size.to_string(),
            self.member_size.to_string(),
            kernels,
            entries,
        ];
        if archive {
            row.push(or_unknown(self.archive_member.as_deref().unwrap_or_default()));
        }
        row
    }

    /// What has no column: further strings, and the names of kernels.
    fn details(&self, index: usize, text: &mut String) {
        let further: Vec<_> = self
            .strings
            .iter()
            .filter(|(key, _)| key != "triple" && key != "arch")
            .collect();
        let kernels = self.contents.iter().flat_map(|contents| &contents.kernels);
        let mut lines: Vec<String> = further
            .into_iter()
            .map(|(key, value)| format!("  {}={}\n", key.escape_debug(), value.escape_debug()))
            .collect();
        lines.extend(kernels.map(|kernel| format!("  kernel {}\n", kernel.escape_debug())));
        if !lines.is_empty() {
            text.push_str(&format!("\nimage {index}:\n{}", lines.concat()));
        }
    }

    fn json(&self) -> Value {
        let contents = self.contents.as_ref();
        json!({
            "archive_member": self.archive_member,
            "kind": kind_name(self.kind),
            "producer": self.producer,
            "triple": self.triple,
            "arch": self.arch,
            "strings": self.strings.iter().map(|(key, value)| json!([key, value])).collect::<Vec<_>>(),
            "image_bytes": self.image_size,
            "bytes": self.member_size,
            "kernels": contents.map(|contents| &contents.kernels),
            "entries": contents.and_then(|contents| contents.entries.as_deref().map(entries_json)),
        })
    }
}

impl Contents {
    /// Of the image of some bytes, called `name` in errors.
    fn of(image: &[u8], name: &String) -> Result<Option<Self>> {
        if is_bitcode(image) {
            let symbols = bitcode_symbols(name, image)?.into_iter();
            let defined = symbols.filter(|symbol| !symbol.undefined);
            let names = defined.filter_map(|symbol| String::from_utf8(symbol.name).ok());
            return Ok(Some(Self {
                kernels: names.filter(|name| KernelName::parse(name).is_some()).collect(),
                entries: None,
            }));
        }
        if !InputKind::of(image).is_elf() {
            return Ok(None);
        }
        let malformed = |problem: elf::Malformed| problem.in_input(name);
        let entries = entry_counts(image).map_err(malformed)?;
        let file =
            object::File::parse(image).map_err(|problem| malformed(elf::Malformed { offset: 0, problem }))?;
        Ok(Some(Self {
            kernels: kernels::kernels(&file, image),
            entries: Some(entries),
        }))
    }
}

fn kind_name(kind: ImageKind) -> String {
    match kind {
        ImageKind::NONE => "none".to_owned(),
        ImageKind::OBJECT => "object".to_owned(),
        ImageKind::BITCODE => "bitcode".to_owned(),
        ImageKind::CUBIN => "cubin".to_owned(),
        ImageKind::FATBINARY => "fatbinary".to_owned(),
        ImageKind::PTX => "ptx".to_owned(),
        ImageKind::SPIRV => "spirv".to_owned(),
        ImageKind(number) => format!("unknown ({number})"),
    }
}

/// A release for each layout of entries, oldest first: this build's, and one with the other layout.
fn entry_layouts() -> Vec<LlvmVersion> {
    let mut releases: Vec<_> = [Some(LLVM), LLVM.with_other_entries()]
        .into_iter()
        .flatten()
        .collect();
    releases.sort();
    releases
}

/// How many entries an ELF file for a device has; each layout has its own section for them.
fn entry_counts(bytes: &[u8]) -> Result<Vec<EntryCount>, elf::Malformed> {
    let mut counts = Vec::new();
    for version in entry_layouts() {
        let sections = elf::sections_named(bytes, entry::section(version))?;
        let size: usize = sections.iter().map(|section| section.bytes.len()).sum();
        if size > 0 {
            counts.push(EntryCount {
                version,
                count: size / entry::size(version),
            });
        }
    }
    Ok(counts)
}

fn entries_json(entries: &[EntryCount]) -> Value {
    entries
        .iter()
        .map(|EntryCount { version, count }| json!({ "llvm": version.major(), "count": count }))
        .collect()
}
