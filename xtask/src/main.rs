//! Every chore of this project.
fn main() {}
