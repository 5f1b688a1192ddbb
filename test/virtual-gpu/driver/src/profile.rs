//! Where kernels spend their instructions: the PTX of a module, and how often warps have executed each line.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::{fs, io, process};

use offloom_ptx::image;

use crate::driver::lock;
use crate::message;

/// The longest part of a kernel's name that a file is named by, in bytes.
const NAME: usize = 200;

/// How often the lines of a module were executed, for each of its kernels.
#[derive(Debug)]
pub(crate) struct Profile {
    text: String,
    kernels: Mutex<BTreeMap<String, BTreeMap<u32, u64>>>,
}

impl Profile {
    /// The profile of an image, in which nothing is counted yet. None where its lines are not of one file.
    pub(crate) fn new(image: &[u8]) -> Option<Self> {
        let text = if image.starts_with(b"\x7fELF") {
            match image::parts(image).ok()?[..] {
                [text] => text,
                _ => {
                    message::line(
                        "OFFLOOM_VIRTUAL_GPU_PROFILE: an image that was linked from several cubins is left out: link with `-foffload-lto`",
                    );
                    return None;
                }
            }
        } else {
            image
        };
        Some(Self {
            text: String::from_utf8_lossy(text).into_owned(),
            kernels: Mutex::default(),
        })
    }

    /// Adds what a launch has executed, and writes the kernel's file anew.
    pub(crate) fn add(
        &self,
        folder: &Path,
        module: u64,
        kernel: &str,
        lines: &BTreeMap<u32, u64>,
    ) -> io::Result<()> {
        let mut kernels = lock(&self.kernels);
        let counted = kernels.entry(kernel.to_owned()).or_default();
        for (&line, executed) in lines {
            *counted.entry(line).or_default() += executed;
        }
        let file = file(folder, module, kernel);
        let partial = file.with_added_extension("partial");
        fs::create_dir_all(folder)?;
        fs::write(&partial, listing(&self.text, counted))?;
        fs::rename(partial, file)
    }
}

/// The file of a kernel: what is loaded under one name may differ, as variants for several launches do.
fn file(folder: &Path, module: u64, kernel: &str) -> PathBuf {
    let mut end = kernel.len().min(NAME);
    while !kernel.is_char_boundary(end) {
        end -= 1;
    }
    folder.join(format!("{}.{}.{module:x}.ptx", &kernel[..end], process::id()))
}

/// The text, with the number of each line that was executed in front of it.
fn listing(text: &str, counted: &BTreeMap<u32, u64>) -> String {
    let mut listing = String::new();
    for (line, number) in text.trim_end_matches('\0').lines().zip(1..) {
        let _ = match counted.get(&number) {
            Some(executed) => writeln!(listing, "{executed:>12} | {line}"),
            None => writeln!(listing, "{:>12} | {line}", ""),
        };
    }
    listing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_over_launches_and_files_are_named_by_kernels() {
        let folder = tempfile::tempdir().unwrap();
        let profile = Profile::new(b"one\ntwo\nthree\n\0").unwrap();
        let launch = BTreeMap::from([(1, 4), (3, 1)]);
        profile.add(folder.path(), 0x1f, "kernel", &launch).unwrap();
        profile.add(folder.path(), 0x1f, "kernel", &launch).unwrap();
        let files: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(
            files,
            [folder.path().join(format!("kernel.{}.1f.ptx", process::id()))]
        );
        assert_eq!(
            fs::read_to_string(&files[0]).unwrap(),
            "           8 | one\n             | two\n           2 | three\n"
        );
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let name = format!("{}é", "n".repeat(199));
        let file = file(Path::new("/folder"), 1, &name);
        assert!(
            file.to_str()
                .unwrap()
                .starts_with(&format!("/folder/{}.", "n".repeat(199)))
        );
    }
}
