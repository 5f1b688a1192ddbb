//! Writes device images as a static library in GNU format, the same bytes for the same images.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use object::{Object, ObjectSymbol};

use crate::error::{Error, Result};
use crate::inputs::{EmbeddedMember, InputKind, bitcode_symbols};
use crate::output::OutputFile;

/// What a member's name in its header may hold, the closing slash not counted.
const MAX_SHORT_NAME: usize = 15;

const HEADER_SIZE: usize = 60;

/// Writes `images` as the members of a static library, each named as the file it was found in.
pub(crate) fn write(images: &[&EmbeddedMember<'_>], output: &mut OutputFile) -> Result<()> {
    let mut long_names = Vec::new();
    let mut names = Vec::new();
    let mut symbols: Vec<(usize, Vec<u8>)> = Vec::new();
    for (index, image) in images.iter().enumerate() {
        names.push(header_name(
            image.origin.path.file_name().unwrap_or_default(),
            &mut long_names,
        ));
        symbols.extend(defined_symbols(image)?.into_iter().map(|symbol| (index, symbol)));
    }
    let symbol_names: usize = symbols.iter().map(|(_, name)| name.len() + 1).sum();

    // Offsets of 32 bits do while the last member starts below 4 GiB.
    let sizes = || {
        images
            .iter()
            .map(|image| HEADER_SIZE + even(image.member.image().len()))
    };
    let layout = |width: usize| {
        let symbol_table = match symbols.len() {
            0 => 0,
            count => HEADER_SIZE + even(width * (count + 1) + symbol_names),
        };
        let name_table = match long_names.len() {
            0 => 0,
            length => HEADER_SIZE + even(length),
        };
        let first = MAGIC.len() + symbol_table + name_table;
        let starts: Vec<u64> = sizes()
            .scan(first, |next, size| {
                let start = *next;
                *next += size;
                Some(start as u64)
            })
            .collect();
        starts
    };
    let (wide, starts) = match layout(4) {
        starts if starts.last().is_none_or(|&last| last <= u32::MAX.into()) => (false, starts),
        _ => (true, layout(8)),
    };

    output.write(MAGIC)?;
    if !symbols.is_empty() {
        let mut table = Vec::new();
        // Narrow numbers are the low half of the wide ones.
        let unused = if wide { 0 } else { 4 };
        let mut number = |value: u64| table.extend_from_slice(&value.to_be_bytes()[unused..]);
        number(symbols.len() as u64);
        for (index, _) in &symbols {
            number(starts[*index]);
        }
        for (_, name) in &symbols {
            table.extend_from_slice(name);
            table.push(0);
        }
        table.resize(even(table.len()), 0);
        output.write(&header(if wide { "/SYM64/" } else { "/" }, "0", table.len()))?;
        output.write(&table)?;
    }
    if !long_names.is_empty() {
        long_names.resize(even(long_names.len()), b'\n');
        output.write(&header("//", "", long_names.len()))?;
        output.write(&long_names)?;
    }
    for (image, name) in images.iter().zip(&names) {
        let bytes = image.member.image();
        output.write(&header(name, "644", bytes.len()))?;
        output.write(bytes)?;
        if bytes.len() % 2 == 1 {
            output.write(b"\n")?;
        }
    }
    Ok(())
}

const MAGIC: &[u8] = b"!<arch>\n";

const fn even(length: usize) -> usize {
    length.next_multiple_of(2)
}

/// What stands in a header for `name`: the name itself, or where it stands among the long names.
fn header_name(name: &OsStr, long_names: &mut Vec<u8>) -> String {
    if let Some(name) = name.to_str().filter(|name| name.len() <= MAX_SHORT_NAME) {
        return format!("{name}/");
    }
    let line = [name.as_bytes(), b"/\n"].concat();
    // A file name holds no slash, so it is found as a whole line or as the tail of one; both will do.
    let known = long_names.windows(line.len()).position(|window| window == line);
    let offset = known.unwrap_or_else(|| {
        long_names.extend_from_slice(&line);
        long_names.len() - line.len()
    });
    format!("/{offset}")
}

fn header(name: &str, mode: &str, size: usize) -> Vec<u8> {
    // The table of long names has neither times nor owners.
    let zero = if mode.is_empty() { "" } else { "0" };
    let mut header = name.as_bytes().to_vec();
    // Names of other characters than ASCII have fewer characters than bytes.
    header.resize(16, b' ');
    header.extend_from_slice(format!("{zero:<12}{zero:<6}{zero:<6}{mode:<8}{size:<10}`\n").as_bytes());
    header
}

/// The symbols that a linker looks a member up by; none in an image that is neither object nor bitcode.
fn defined_symbols(image: &EmbeddedMember<'_>) -> Result<Vec<Vec<u8>>> {
    let bytes = image.member.image();
    let input = format!(
        "the image at offset {:#x} of {}",
        image.member.offset(),
        image.origin
    );
    match InputKind::of(bytes) {
        InputKind::Object => {}
        InputKind::Bitcode => {
            let symbols = bitcode_symbols(&input, bytes)?.into_iter();
            return Ok(symbols
                .filter(|symbol| !symbol.undefined)
                .map(|symbol| symbol.name)
                .collect());
        }
        _ => return Ok(Vec::new()),
    }
    let malformed = |error: object::Error| Error::Elf {
        input: input.clone(),
        offset: 0,
        problem: error.to_string(),
    };
    let file = object::File::parse(bytes).map_err(malformed)?;
    file.symbols()
        .filter(|symbol| symbol.is_global() && !symbol.is_undefined())
        .map(|symbol| symbol.name_bytes().map(<[u8]>::to_vec).map_err(malformed))
        .collect()
}
