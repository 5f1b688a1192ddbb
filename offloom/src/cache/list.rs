//! `offloom cache list`: a line for each file of the cache.

use std::time::SystemTime;

use offloom_descriptor::Descriptor;
use offloom_jit_cache::store::{Failure, Record, Store, Stored, stored_field};
use offloom_text_table::{Table, counted};
use serde_json::{Value, json};

use super::text_of;
use crate::error::Result;
use crate::names::{Naming, SourceKernel};
use crate::units::{launch_milliseconds, size};

/// The list, for people and for programs.
///
/// # Errors
/// A folder of the cache cannot be read.
pub(super) fn list(store: &Store, naming: Naming) -> Result<(String, Value)> {
    let mut stored = store.list()?;
    stored.sort_by_key(|stored| std::cmp::Reverse(stored.last_use));
    let mut table = Table::new(&["kernel", "specialised to", "layer", "size", "used", "for"]);
    let mut values = Vec::new();
    for stored in &stored {
        // Damaged, or evicted while we looked: `verify` tells.
        let Some((key, record)) = store.read(stored) else {
            continue;
        };
        let field = |name: &str| stored_field(&key, name);
        let descriptor = field("descriptor");
        let kernel = descriptor
            .parse::<Descriptor>()
            .map_or_else(|_| descriptor.clone(), |descriptor| descriptor.kernel);
        let of_source = SourceKernel::new(&kernel, &field("source"), naming);
        let specialized = of_source.known(&descriptor);
        let layer = if stored.private { "private" } else { "shared" };
        let (mut failure, mut times, mut megamorphic) = (None, None, None);
        let specialized = match &record {
            Record::Image(_) => specialized,
            Record::Timed(timed, _) => {
                let of_launches = timed.times;
                times = Some(of_launches);
                let [variant, ahead_of_time] =
                    [of_launches.variant, of_launches.ahead_of_time].map(launch_milliseconds);
                format!("{specialized} ({variant} ms, ahead of time {ahead_of_time} ms)")
            }
            Record::Failure(Failure { reason, .. }) => {
                failure = Some(reason);
                format!("{specialized} (failed: {reason})")
            }
            Record::Megamorphic(subjects) => {
                let shown: Vec<_> = subjects
                    .iter()
                    .map(|subject| of_source.subject(*subject))
                    .collect();
                let text = format!("(kept changing: {})", shown.join(", "));
                megamorphic = Some(subjects.iter().map(ToString::to_string).collect::<Vec<_>>());
                text
            }
        };
        table.row([
            of_source.name(),
            specialized,
            layer.to_owned(),
            size(stored.size),
            age(stored),
            format!("LLVM {}", field("llvm")),
        ]);
        values.push(json!({
            "kernel": kernel, "source": of_source.json(), "specialized_to": of_source.known(&descriptor), "descriptor": descriptor, "bytes": stored.size, "seconds_since_use": seconds_since_use(stored),
            "llvm": field("llvm"), "offloom": field("offloom"), "bundle": field("bundle"), "options": field("options"),
            "failure": failure, "variant_ns": times.map(|times| times.variant),
            "ahead_of_time_ns": times.map(|times| times.ahead_of_time), "megamorphic": megamorphic, "layer": layer, "path": text_of(&stored.path),
        }));
    }
    Ok((table.lines(0), Value::Array(values)))
}

fn seconds_since_use(stored: &Stored) -> u64 {
    let age = SystemTime::now().duration_since(stored.last_use);
    age.unwrap_or_default().as_secs()
}

fn age(stored: &Stored) -> String {
    match seconds_since_use(stored) {
        seconds if seconds < 2 * 3600 => "just now".to_owned(),
        seconds if seconds < 48 * 3600 => format!("{} ago", counted(seconds / 3600, "hour", "hours")),
        seconds => format!("{} ago", counted(seconds / 86400, "day", "days")),
    }
}
