//! The offload entries of host code: what a program asks its device images for.

use offloom_abi::LlvmVersion;
use offloom_abi::entry::EntryKind;
use serde_json::{Value, json};

use crate::error::Result;
use crate::inputs::InputPart;
use crate::table::Table;

/// The entries of a file, in order.
#[derive(Debug, Default)]
pub(super) struct HostEntries(Vec<HostEntry>);

#[derive(Debug)]
struct HostEntry {
    archive_member: Option<String>,
    version: LlvmVersion,
    producer: &'static str,
    kind: EntryKind,
    size: u64,
    name: String,
}

impl HostEntries {
    /// Adds those of a part of the file; of each release, as each has its own section for them.
    pub(super) fn add(&mut self, part: &InputPart<'_>) -> Result<()> {
        for version in LlvmVersion::ALL {
            for (name, record) in part.named_entries(version)? {
                self.0.push(HostEntry {
                    archive_member: part.origin.member.map(str::to_owned),
                    version,
                    producer: record.kind.name(),
                    kind: record.entry_kind(),
                    size: record.size,
                    name: name.to_owned(),
                });
            }
        }
        Ok(())
    }

    /// How many there are of each release that there are any of.
    pub(super) fn counts(&self) -> Vec<(LlvmVersion, usize)> {
        let count = |version| self.0.iter().filter(|entry| entry.version == version).count();
        let counts = LlvmVersion::ALL
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
                entry.kind_name().to_owned(),
                entry.producer.to_owned(),
                entry.size.to_string(),
                entry.name.escape_debug().to_string(),
            ];
            if archive {
                let member = entry.archive_member.as_deref().unwrap_or("-");
                row.push(member.escape_debug().to_string());
            }
            table.row(row);
        }
        text.push('\n');
        text.push_str(&table.to_string());
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
    fn kind_name(&self) -> &'static str {
        match self.kind {
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

    fn json(&self) -> Value {
        json!({
            "archive_member": self.archive_member,
            "producer": self.producer,
            "kind": self.kind_name(),
            "bytes": self.size,
            "name": self.name,
        })
    }
}
