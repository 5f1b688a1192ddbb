//! The choice of programs and measurements by parts of their names, as tasks take it on the command line.

/// Whether `name` contains one of `parts`, or nothing was chosen.
pub(crate) fn is_wanted(name: &str, parts: &[String]) -> bool {
    parts.is_empty() || parts.iter().any(|part| name.contains(part.as_str()))
}

/// The function of a kernel's name, as `__omp_offloading_D_F_NAME_lN` has it, with the line; other names as
/// they are.
pub(crate) fn short_kernel(name: &str) -> String {
    let rest = name.strip_prefix("__omp_offloading_").and_then(|rest| {
        let mut parts = rest.splitn(3, '_');
        parts.nth(2)
    });
    rest.unwrap_or(name).to_owned()
}
