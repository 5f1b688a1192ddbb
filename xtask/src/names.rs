//! The choice of programs and measurements by parts of their names, as chores take it on the command line.

/// Whether `name` contains one of `parts`, or nothing was chosen.
pub(crate) fn is_wanted(name: &str, parts: &[String]) -> bool {
    parts.is_empty() || parts.iter().any(|part| name.contains(part.as_str()))
}
