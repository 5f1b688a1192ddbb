//! A module's text in a form in which two modules that mean the same have the same lines.
//!
//! Evened out, because it says nothing or cannot be known after the entries were taken away:
//! * the numbers behind the names of entry-name strings (a string is called by what it holds);
//! * the numbers of metadata nodes (in order of use) and of attribute groups (written out);
//! * the order of the operands of `omp_offload.info` and `llvm.offloading.symbols`, and the order numbers in
//!   the former;
//! * `local_unnamed_addr` on entries, which the optimiser adds;
//! * the marker for functions whose source asks for default visibility, which the strip pass leaves;
//! * operands of `omp_offload.info` for variables that the module does not have (any more).
//!
//! Everything else counts, also the order of all other lines.

use std::collections::{BTreeMap, HashMap, HashSet};

/// How the names of entry globals start.
const ENTRY: &str = ".offloading.entry.";
/// How entry-name strings start.
const ENTRY_NAME: &str = "@.offloading.entry_name";
/// What the strip pass leaves on functions whose source asks for default visibility, between other
/// attributes.
const MARKER: &str = "\"offload-visibility\"=\"default\" ";
/// Lists whose order says nothing.
const UNORDERED: [&str; 2] = ["!omp_offload.info", "!llvm.offloading.symbols"];

/// The canonical lines of a module.
#[derive(Debug)]
pub(crate) struct Canonical {
    lines: Vec<String>,
    /// Entries with their names, in the order of their text.
    entries: Vec<String>,
    /// Operands of `omp_offload.info`.
    operands: Vec<String>,
    /// Operands of `llvm.offloading.symbols`.
    symbols: Vec<String>,
    /// Names of all symbols.
    names: HashSet<String>,
}

impl Canonical {
    /// Reads what `opt -S` prints.
    pub(crate) fn read(text: &str) -> Self {
        let parts = Parts::read(text);
        let mut numbering = Numbering::default();
        let mut canonical = Self {
            lines: Vec::new(),
            entries: Vec::new(),
            operands: Vec::new(),
            symbols: Vec::new(),
            names: HashSet::new(),
        };
        for line in &parts.lines {
            let line = rename_strings(line, &parts.strings);
            let is_entry = defined_name(&line).is_some_and(is_entry);
            if let Some(name) = defined_name(&line) {
                canonical.names.insert(name.to_owned());
            }
            let line = numbering.rewrite(&line, &parts).replace(MARKER, "");
            if is_entry || line.starts_with(ENTRY_NAME) {
                let line = line.replacen("weak local_unnamed_addr constant", "weak constant", 1);
                canonical.entries.push(line);
            } else {
                canonical.lines.push(line);
            }
        }
        canonical.lines.extend(numbering.definitions(&parts));
        for (list, operands) in UNORDERED
            .iter()
            .zip([&mut canonical.operands, &mut canonical.symbols])
        {
            *operands = parts.unordered(list);
            operands.sort();
        }
        canonical.entries.sort();
        canonical
    }

    /// How many entries there are.
    pub(crate) fn entries(&self) -> usize {
        let names = self.entries.iter().filter_map(|line| defined_name(line));
        names.filter(|name| is_entry(name)).count()
    }

    /// How many operands `omp_offload.info` has.
    pub(crate) fn operands(&self) -> usize {
        self.operands.len()
    }

    /// What `self`, Clang's module, and `other`, ours, do not share; and how many operands of Clang's were
    /// left out because the module does not have their variable.
    pub(crate) fn differences(&self, other: &Self) -> (Vec<String>, usize) {
        let (operands, dropped): (Vec<String>, Vec<String>) = self
            .operands
            .iter()
            .cloned()
            .partition(|operand| self.can_be_known(operand));
        (self.compare(&operands, other), dropped.len())
    }

    /// What a pass that has nothing to do in `self` changed by making `other` of it.
    pub(crate) fn changes(&self, other: &Self) -> Vec<String> {
        self.compare(&self.operands, other)
    }

    fn compare(&self, operands: &[String], other: &Self) -> Vec<String> {
        let mut found = different_lines(&self.lines, &other.lines);
        found.extend(different_lines(&self.entries, &other.entries));
        found.extend(different_lines(operands, &other.operands));
        found.extend(different_lines(&self.symbols, &other.symbols));
        found
    }

    /// Whether the module still has what an operand of `omp_offload.info` is about.
    fn can_be_known(&self, operand: &str) -> bool {
        let global = operand.strip_prefix("!{i32 1, !\"");
        global
            .and_then(|rest| rest.split_once('"'))
            .is_none_or(|(name, flags)| {
                // The names in operands of `indirect` functions and tables are no symbols of the host module.
                flags.starts_with(", i32 8,") || flags.starts_with(", i32 32,") || self.names.contains(name)
            })
    }
}

/// A module's text, sorted by what it is.
struct Parts<'a> {
    /// Everything but metadata and attribute groups.
    lines: Vec<&'a str>,
    /// Metadata nodes by number.
    nodes: HashMap<usize, &'a str>,
    /// Attribute groups by number.
    attributes: HashMap<usize, &'a str>,
    /// Lists whose order says nothing, by name.
    lists: BTreeMap<&'a str, &'a str>,
    /// What the entry-name strings hold, by their symbol.
    strings: HashMap<&'a str, &'a str>,
}

impl<'a> Parts<'a> {
    fn read(text: &'a str) -> Self {
        let mut parts = Self {
            lines: Vec::new(),
            nodes: HashMap::new(),
            attributes: HashMap::new(),
            lists: BTreeMap::new(),
            strings: HashMap::new(),
        };
        for line in text.lines() {
            // Comments say which attributes a function has and who the predecessors of a block are.
            if line.is_empty() || line.starts_with(';') || line.starts_with("source_filename") {
                continue;
            }
            let Some((name, value)) = line.split_once(" = ") else {
                parts.lines.push(line);
                continue;
            };
            if let Some(number) = name.strip_prefix('!').and_then(|number| number.parse().ok()) {
                parts.nodes.insert(number, value);
            } else if let Some(number) = name
                .strip_prefix("attributes #")
                .and_then(|number| number.parse().ok())
            {
                parts.attributes.insert(number, value);
            } else if UNORDERED.contains(&name) {
                parts.lists.insert(name, value);
            } else {
                if name.starts_with(ENTRY_NAME)
                    && let Some((_, held)) = value.split_once(" c\"")
                {
                    parts
                        .strings
                        .insert(name, held.split('"').next().unwrap_or_default());
                }
                parts.lines.push(line);
            }
        }
        parts
    }

    /// The operands of a list, written out.
    fn unordered(&self, list: &str) -> Vec<String> {
        let Some(value) = self.lists.get(list) else {
            return Vec::new();
        };
        let inner = value.trim_start_matches("!{").trim_end_matches('}');
        let numbers = inner
            .split(", ")
            .filter_map(|operand| operand.strip_prefix('!')?.parse::<usize>().ok());
        let nodes = numbers.filter_map(|number| self.nodes.get(&number));
        nodes
            .map(|node| {
                let node = rename_strings(node, &self.strings);
                match (list, node.rsplit_once(", ")) {
                    // The last value of a node of `omp_offload.info` is its order number.
                    ("!omp_offload.info", Some((rest, _))) => format!("{rest}, order}}"),
                    _ => node,
                }
            })
            .collect()
    }
}

/// Metadata nodes in order of use.
#[derive(Default)]
struct Numbering {
    /// New numbers by old ones.
    numbers: HashMap<usize, usize>,
    /// Old numbers, in the order of the new ones.
    order: Vec<usize>,
}

impl Numbering {
    fn number(&mut self, old: usize) -> usize {
        let next = self.order.len();
        let new = *self.numbers.entry(old).or_insert(next);
        if new == next {
            self.order.push(old);
        }
        new
    }

    /// The line with new numbers, and with attribute groups written out.
    fn rewrite(&mut self, line: &str, parts: &Parts<'_>) -> String {
        let mut result = String::with_capacity(line.len());
        let mut rest = line;
        let mut in_string = false;
        while let Some(position) = rest.find(['"', '!', '#']) {
            let (before, from) = rest.split_at(position);
            result.push_str(before);
            let mark = &from[..1];
            rest = &from[1..];
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let number = rest[..digits].parse().ok();
            match (mark, number) {
                ("\"", _) => in_string = !in_string,
                ("!", Some(number)) if !in_string => {
                    let new = self.number(number);
                    result.push_str(&format!("!{new}"));
                    rest = &rest[digits..];
                    continue;
                }
                ("#", Some(number)) if !in_string => {
                    result.push_str(parts.attributes.get(&number).copied().unwrap_or("#?"));
                    rest = &rest[digits..];
                    continue;
                }
                _ => {}
            }
            result.push_str(mark);
        }
        result.push_str(rest);
        result
    }

    /// The definitions of all nodes that were used, and of those that they use.
    fn definitions(mut self, parts: &Parts<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        let mut next = 0;
        while let Some(&old) = self.order.get(next) {
            let value = parts.nodes.get(&old).copied().unwrap_or("missing");
            let value = self.rewrite(value, parts);
            lines.push(format!("!{next} = {value}"));
            next += 1;
        }
        lines
    }
}

/// Calls each entry-name string by what it holds.
fn rename_strings(line: &str, strings: &HashMap<&str, &str>) -> String {
    let mut result = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(position) = rest.find(ENTRY_NAME) {
        let (before, from) = rest.split_at(position);
        result.push_str(before);
        let end = ENTRY_NAME.len()
            + from[ENTRY_NAME.len()..]
                .find([' ', ',', '}', ')'])
                .unwrap_or(from.len() - ENTRY_NAME.len());
        let name = &from[..end];
        match strings.get(name) {
            Some(held) => result.push_str(&format!("{ENTRY_NAME}<{held}>")),
            None => result.push_str(name),
        }
        rest = &from[end..];
    }
    result.push_str(rest);
    result
}

fn is_entry(name: &str) -> bool {
    name.starts_with(ENTRY)
}

/// The name of the variable that a line defines.
fn defined_name(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix('@')?.split_once(" = ")?;
    Some(name.trim_matches('"'))
}

/// Lines that occur more often on one side, with `-` for Clang's and `+` for ours; lines that both have but
/// in another order.
fn different_lines(clang: &[String], ours: &[String]) -> Vec<String> {
    let mut surplus: BTreeMap<&str, isize> = BTreeMap::new();
    for line in clang {
        *surplus.entry(line).or_default() += 1;
    }
    for line in ours {
        *surplus.entry(line).or_default() -= 1;
    }
    let differences = surplus.into_iter().filter(|(_, count)| *count != 0);
    let mut found: Vec<_> = differences
        .map(|(line, count)| {
            if count > 0 {
                format!("- {line}")
            } else {
                format!("+ {line}")
            }
        })
        .collect();
    if found.is_empty()
        && let Some((first, second)) = clang.iter().zip(ours).find(|(first, second)| first != second)
    {
        found.push(format!("- {first}"));
        found.push(format!("+ {second}"));
        found.push("(both modules have the same lines, in another order)".to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLANG: &str = r#"
@g = global i32 0
@.offloading.entry_name = internal constant [2 x i8] c"g\00"
@.offloading.entry.g = weak local_unnamed_addr constant %e { ptr @g, ptr @.offloading.entry_name, i64 4 }
@.offloading.entry_name.1 = internal constant [2 x i8] c"k\00"
@.offloading.entry.k = weak constant %e { ptr @k, ptr @.offloading.entry_name.1, i64 0 }
declare !callback !5 void @f() #1
attributes #1 = { nounwind }
!omp_offload.info = !{!0, !1, !2}
!0 = !{i32 0, i32 1, i32 2, !"f", i32 3, i32 0, i32 1}
!1 = !{i32 1, !"g", i32 0, i32 0}
!2 = !{i32 1, !"gone", i32 0, i32 2}
!5 = !{i64 2}
"#;

    const OURS: &str = r#"
@g = global i32 0
@.offloading.entry_name = internal constant [2 x i8] c"k\00"
@.offloading.entry.k = weak constant %e { ptr @k, ptr @.offloading.entry_name, i64 0 }
@.offloading.entry_name.7 = internal constant [2 x i8] c"g\00"
@.offloading.entry.g = weak constant %e { ptr @g, ptr @.offloading.entry_name.7, i64 4 }
declare !callback !0 void @f() #0
attributes #0 = { nounwind }
!omp_offload.info = !{!7, !8}
!0 = !{i64 2}
!7 = !{i32 1, !"g", i32 0, i32 5}
!8 = !{i32 0, i32 1, i32 2, !"f", i32 3, i32 0, i32 6}
"#;

    #[test]
    fn numbers_and_orders_are_evened_out() {
        let (clang, ours) = (Canonical::read(CLANG), Canonical::read(OURS));
        assert_eq!(clang.differences(&ours), (vec![], 1));
        assert_eq!((clang.entries(), clang.operands()), (2, 3));
    }

    #[test]
    fn what_counts_is_found() {
        let clang = Canonical::read(CLANG);
        for (from, to) in [
            ("i64 4 }", "i64 8 }"),
            ("weak constant %e { ptr @k", "constant %e { ptr @k"),
            ("c\"g\\00\"", "c\"h\\00\""),
            ("i32 3, i32 0, i32 6}", "i32 4, i32 0, i32 6}"),
            ("nounwind", "readnone"),
            ("!{i64 2}", "!{i64 3}"),
            ("@g = global i32 0", "@g = global i32 1"),
        ] {
            let changed = OURS.replacen(from, to, 1);
            assert_ne!(changed, OURS, "{from}");
            let (differences, _) = clang.differences(&Canonical::read(&changed));
            assert!(!differences.is_empty(), "{from} -> {to}");
        }
    }

    #[test]
    fn the_order_of_other_lines_counts() {
        let first = Canonical::read("@a = global i32 0\n@b = global i32 0\n");
        let second = Canonical::read("@b = global i32 0\n@a = global i32 0\n");
        assert_eq!(first.differences(&second).0.len(), 3);
    }
}
