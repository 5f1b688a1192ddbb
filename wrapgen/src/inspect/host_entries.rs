//! The offload entries of host code: what a program asks its device images for.

use offloom_abi::entry::{self, Entry, EntryKind};
use offloom_abi::fat_binary::variable;
use offloom_abi::kernel_name::KernelName;
use offloom_abi::{LlvmVersion, OffloadKind};
use offloom_text_table::Table;
use serde_json::{Value, json};

use super::entry_layouts;
use crate::LLVM;
use crate::error::Result;
use crate::inputs::{InputKind, InputPart, bitcode_symbols};

/// The entries of a file, in order.
#[derive(Debug, Default)]
pub(super) struct HostEntries(Vec<HostEntry>);

#[derive(Debug)]
struct HostEntry {
    archive_member: Option<String>,
    version: LlvmVersion,
    /// `None` for an entry in bitcode that does not tell.
    producer: Option<OffloadKind>,
    kind: &'static str,
    /// `None` for an entry in bitcode.
    size: Option<u64>,
    name: String,
}

impl HostEntries {
    /// Adds those of a part of the file; in each layout, as each has its own section for them.
    pub(super) fn add(&mut self, part: &InputPart<'_>) -> Result<()> {
        if part.kind == InputKind::Bitcode {
            return self.add_bitcode(part);
        }
        for version in entry_layouts() {
            for (name, record) in part.named_entries(version)? {
                self.0.push(HostEntry {
                    archive_member: part.origin.member_name(),
                    version,
                    producer: Some(record.kind),
                    kind: kind_name(&record),
                    size: Some(record.size),
                    name: name.to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Adds those of bitcode: there, the name of an entry's global alone says what it is.
    fn add_bitcode(&mut self, part: &InputPart<'_>) -> Result<()> {
        for symbol in bitcode_symbols(&part.origin, part.bytes)? {
            let name = String::from_utf8_lossy(&symbol.name);
            let Some(name) = name
                .strip_prefix(entry::GLOBAL_PREFIX)
                .filter(|_| !symbol.undefined)
            else {
                continue;
            };
            let is_region = KernelName::parse(name).is_some();
            self.0.push(HostEntry {
                archive_member: part.origin.member_name(),
                version: LLVM,
                producer: is_region.then_some(OffloadKind::OpenMp),
                kind: if is_region { "target region" } else { "unknown" },
                size: None,
                name: name.to_owned(),
            });
        }
        Ok(())
    }

    /// How many there are of each release that there are any of.
    pub(super) fn counts(&self) -> Vec<(LlvmVersion, usize)> {
        let count = |version| self.0.iter().filter(|entry| entry.version == version).count();
        let counts = entry_layouts()
            .into_iter()
            .map(|version| (version, count(version)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// Adds a table of them.
    pub(super) fn describe(&self, text: &mut String) {
        if self.0.is_empty() {
            return;
        }
        let archive = self.0.iter().any(|entry| entry.archive_member.is_some());
        let mut heading = vec!["host entry", "producer", "bytes", "name"];
        if archive {
            heading.push("archive member");
        }
        let mut table = Table::new(&heading);
        for entry in &self.0 {
            let mut row = vec![
                entry.kind.to_owned(),
                entry
                    .producer
                    .map_or_else(|| "-".to_owned(), |kind| kind.name().to_owned()),
                entry.size.map_or_else(|| "-".to_owned(), |size| size.to_string()),
                entry.name.escape_debug().to_string(),
            ];
            if archive {
                let member = entry.archive_member.as_deref().unwrap_or("-");
                row.push(member.escape_debug().to_string());
            }
            table.row(row);
        }
        text.push('\n');
        text.push_str(&table.lines(0));
    }

    pub(super) fn json(&self) -> Value {
        let releases = self.counts().into_iter().map(|(version, count)| {
            let entries = self.0.iter().filter(|entry| entry.version == version);
            json!({
                "llvm": version.major(),
                "count": count,
                "entries": entries.map(HostEntry::json).collect::<Vec<_>>(),
            })
        });
        releases.collect()
    }
}

impl HostEntry {
    fn json(&self) -> Value {
        json!({
            "archive_member": self.archive_member,
            "producer": self.producer.map(OffloadKind::name),
            "kind": self.kind,
            "bytes": self.size,
            "name": self.name,
        })
    }
}

/// What an entry stands for, in the words of its programming model.
fn kind_name(entry: &Entry) -> &'static str {
    if matches!(entry.kind, OffloadKind::Cuda | OffloadKind::Hip) {
        return match entry.flags.0 & variable::KIND_MASK {
            _ if entry.size == 0 => "kernel",
            variable::GLOBAL => "variable",
            variable::MANAGED => "managed variable",
            variable::SURFACE => "surface",
            variable::TEXTURE => "texture",
            _ => "unknown",
        };
    }
    match entry.entry_kind() {
        EntryKind::Kernel => "target region",
        EntryKind::Constructor => "constructor",
        EntryKind::Destructor => "destructor",
        EntryKind::Variable => "variable",
        EntryKind::Link => "link variable",
        EntryKind::Indirect => "indirect function",
        EntryKind::Requires => "requires",
        EntryKind::IndirectVtable => "indirect vtable",
        EntryKind::Unknown => "unknown",
    }
}
