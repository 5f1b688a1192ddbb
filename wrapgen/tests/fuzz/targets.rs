//! What each target does with an input: everything that a command would do with such bytes.

use std::path::Path;

use offloom_abi::entry;
use offloom_abi::fat_binary::images::images;
use offloom_abi::fat_binary::{CUDA, HIP};
use offloom_abi::jit_bundle::{self, Bundle};
use offloom_abi::kernel_name::KernelName;
use offloom_abi::{LlvmVersion, offload_binary};
use wrapgen::image_argument::ImageArgument;
use wrapgen::inputs::{InputFile, bitcode_symbols};
use wrapgen::inspect::describe;
use wrapgen::link::linker_script::{NamedInput, Script, ScriptInput};
use wrapgen::response_file;

pub(crate) fn offload_binary(input: &[u8]) {
    for member in offload_binary::members(input).flatten() {
        // What is reported must lie in the input.
        assert!(member.image().len() <= member.container().len() && member.container().len() <= input.len());
        for (key, _) in member.strings() {
            assert!(member.string(key).is_some());
        }
    }
}

pub(crate) fn entry_table(input: &[u8]) {
    for version in LlvmVersion::ALL {
        if let Ok(entries) = entry::parse_table(version, input) {
            assert_eq!(entries.count(), input.len() / entry::size(version));
        }
    }
}

pub(crate) fn fat_binary(input: &[u8]) {
    for runtime in [CUDA, HIP] {
        for image in images(&runtime, input).unwrap_or_default() {
            assert!(image.bytes.len() <= input.len());
        }
    }
}

pub(crate) fn kernel_name(input: &[u8]) {
    if let Some(name) = KernelName::parse(&String::from_utf8_lossy(input)) {
        assert!(KernelName::parse(&name.to_string()).is_some());
    }
}

pub(crate) fn jit_bundle(input: &[u8]) {
    // Past the check of magic and version, which would stop most inputs and, in another version, all of the
    // corpus.
    let mut bytes = input.to_vec();
    let header = [&jit_bundle::MAGIC[..], &jit_bundle::VERSION.to_le_bytes()].concat();
    let length = header.len().min(bytes.len());
    bytes[..length].copy_from_slice(&header[..length]);
    assert!(Bundle::parse(&bytes).is_ok() || Bundle::verify(&bytes).is_err());
}

pub(crate) fn image_argument(input: &[u8]) {
    let argument = ImageArgument::from(&*String::from_utf8_lossy(input));
    let _ = argument.kind();
    assert!(argument.files().count() <= input.len() + 1 && argument.strings().len() <= input.len() + 1);
}

pub(crate) fn response_file(input: &[u8]) {
    let arguments = response_file::split(input);
    assert!(arguments.iter().map(|argument| argument.len()).sum::<usize>() <= input.len());
}

pub(crate) fn linker_script(input: &[u8]) {
    let length = |named: &NamedInput| match &named.input {
        ScriptInput::File(name) | ScriptInput::Library(name) => name.len(),
    };
    assert!(Script::parse(input).inputs.iter().map(length).sum::<usize>() <= input.len());
}

/// A file of any kind on a command line.
pub(crate) fn input(input: &[u8]) {
    let _ = bitcode_symbols(&"input", input);
    if let Ok(file) = InputFile::from_bytes(Path::new("input"), input.to_vec()) {
        let _ = describe(&file, false);
        let _ = describe(&file, true);
        for part in file.parts().unwrap_or_default() {
            let _ = part.offload_entries();
        }
    }
}
