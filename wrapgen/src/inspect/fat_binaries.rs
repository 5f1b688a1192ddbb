//! The images in the fat binaries that a linked program of CUDA or HIP holds.

use std::collections::BTreeSet;

use offloom_abi::fat_binary::images::{FatBinaryImage, Processor, images};
use offloom_abi::fat_binary::{CUDA, FatBinaryRuntime, HIP};
use offloom_text_table::Table;
use serde_json::{Value, json};

use super::{Contents, kind_name};
use crate::error::{Error, Result};
use crate::inputs::{InputPart, elf};

/// The images of a file's fat binaries, in order.
#[derive(Debug, Default)]
pub(super) struct FatBinaries(Vec<Image>);

#[derive(Debug)]
struct Image {
    archive_member: Option<String>,
    producer: &'static str,
    kind: String,
    triple: String,
    arch: String,
    size: usize,
    compressed: bool,
    /// `None` where they cannot be told.
    kernels: Option<BTreeSet<String>>,
}

impl FatBinaries {
    /// Adds those of a part of the file.
    pub(super) fn add(&mut self, part: &InputPart<'_>) -> Result<()> {
        if !part.kind.is_elf() {
            return Ok(());
        }
        for runtime in [CUDA, HIP] {
            let sections = elf::sections_named(part.bytes, runtime.image_section);
            for section in sections.map_err(|problem| problem.in_input(&part.origin))? {
                let found = images(&runtime, section.bytes).map_err(|error| Error::FatBinary {
                    input: part.origin.to_string(),
                    section: runtime.image_section,
                    source: error.at_base(section.offset),
                })?;
                for image in found {
                    self.0.push(Image::of(part, &runtime, &image)?);
                }
            }
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a table of them.
    pub(super) fn describe(&self, text: &mut String) {
        if self.0.is_empty() {
            return;
        }
        let archive = self.0.iter().any(|image| image.archive_member.is_some());
        let mut heading = vec![
            "in a fat binary",
            "producer",
            "triple",
            "arch",
            "bytes",
            "kernels",
        ];
        if archive {
            heading.push("archive member");
        }
        let or_unknown = |text: &str| match text {
            "" => "-".to_owned(),
            text => text.escape_debug().to_string(),
        };
        let mut table = Table::new(&heading);
        for image in &self.0 {
            let count = |kernels: &BTreeSet<String>| kernels.len().to_string();
            let mut row = vec![
                format!(
                    "{}{}",
                    if image.compressed { "compressed " } else { "" },
                    image.kind
                ),
                image.producer.to_owned(),
                or_unknown(&image.triple),
                or_unknown(&image.arch),
                image.size.to_string(),
                image.kernels.as_ref().map_or_else(|| "-".to_owned(), count),
            ];
            if archive {
                row.push(or_unknown(image.archive_member.as_deref().unwrap_or_default()));
            }
            table.row(row);
        }
        text.push('\n');
        text.push_str(&table.lines(0));
        for (number, image) in self.0.iter().enumerate() {
            for kernel in image.kernels.iter().flatten() {
                text.push_str(&format!(
                    "fat binary image {number}: kernel {}\n",
                    kernel.escape_debug()
                ));
            }
        }
    }

    pub(super) fn json(&self) -> Value {
        self.0.iter().map(Image::json).collect()
    }
}

impl Image {
    fn of(part: &InputPart<'_>, runtime: &FatBinaryRuntime, image: &FatBinaryImage<'_>) -> Result<Self> {
        let contents = match image.compressed {
            true => None,
            false => Contents::of(image.bytes, &format!("a fat binary of {}", part.origin))?,
        };
        Ok(Self {
            archive_member: part.origin.member_name(),
            producer: runtime.name,
            kind: kind_name(image.kind),
            triple: image.triple.to_owned(),
            arch: match image.processor {
                Processor::Nvidia(number) => format!("sm_{number}"),
                Processor::Named(name) => name.to_owned(),
            },
            size: image.bytes.len(),
            compressed: image.compressed,
            kernels: contents.map(|contents| contents.kernels),
        })
    }

    fn json(&self) -> Value {
        json!({
            "archive_member": self.archive_member,
            "producer": self.producer,
            "kind": self.kind,
            "triple": self.triple,
            "arch": self.arch,
            "bytes": self.size,
            "compressed": self.compressed,
            "kernels": self.kernels,
        })
    }
}
