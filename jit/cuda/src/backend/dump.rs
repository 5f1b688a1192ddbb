//! What a dumped launch is to be run with: the device image, and memory of the device.
//!
//! A launch may reach the allocations that its argument words, variables that its image shares with variants,
//! or words in memory that it may reach, point into. They are read when the work before it on its stream is
//! done.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use offloom_abi::jit_bundle::{Parameter, ParameterKind};
use offloom_abi::jit_device_image::DEVICE_ENVIRONMENT_SYMBOL;
use offloom_jit_cache::dump::{
    Device, DumpError, END_OF_GPU_ADDRESSES, Gpu, MOST_BYTES, PAGE, Region, Run, Writer, add_run, words_of,
};
use offloom_jit_policy::dump::{self, Found};
use offloom_jit_policy::gpu_image::Withdrawn;
use offloom_jit_policy::image::ImageCopy as PolicyImage;
use offloom_jit_policy::kernel::Kernel as PolicyKernel;
use offloom_jit_variants::signature::Launch as _;
use offloom_jit_variants::tracker::LaunchKey;

use super::{Cuda, CudaLaunch};
use crate::context::{Current, MALLOC_HEAP_SIZE, STACK_SIZE};
use crate::error::CudaError;
use crate::image_file::{anchor_sizes, asks_for_services};

/// How often the driver is asked which allocation a word points into: each takes up to a microsecond.
const MOST_QUESTIONS: usize = 1 << 24;
/// No memory is below this.
const FIRST_ADDRESS: u64 = 1 << 16;
/// How far a word in memory may be from all allocations that are known to be an address: drivers give
/// addresses close to one another, and numbers of 32 bits side by side are further away.
const NEAR: u64 = 1 << 40;

/// Why a launch is not dumped.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Dump(#[from] DumpError),
    #[error("{what}: {error}")]
    Driver { what: &'static str, error: CudaError },
    #[error("reading {} bytes of the device's memory at {:#x}: {error}", run.length, run.start)]
    Memory { run: Run, error: CudaError },
    #[error("it may reach more than {} MiB of memory", MOST_BYTES >> 20)]
    TooMuch,
    #[error(
        "the memory that it may reach holds more than {MOST_QUESTIONS} different words that may be addresses"
    )]
    TooManyWords,
    #[error("its device image is no ELF file, or was loaded before the JIT took part")]
    NoFile,
    #[error("its device image does not match its bundle")]
    OtherImage,
    #[error("its device image asks the program for services, which a replay does not have")]
    AsksProgram,
    #[error(
        "argument {0} points into no allocation, as that of a part of an array that does not begin at its first element"
    )]
    PointsElsewhere(usize),
    #[error(transparent)]
    Withdrawn(#[from] Withdrawn),
}

/// What the driver did not do.
fn failed(what: &'static str) -> impl FnOnce(CudaError) -> Failure {
    move |error| Failure::Driver { what, error }
}

/// Dumps a launch, if that is asked for.
pub(super) fn dump(
    kernel: &PolicyKernel<Cuda>,
    image: &PolicyImage<Cuda>,
    key: &LaunchKey,
    launch: CudaLaunch<'_>,
) {
    dump::dump(kernel, image, key, launch.arguments(), |writer| {
        let of_bundle = &image.bundle.contents.kernels;
        let of_bundle = of_bundle.iter().find(|other| other.name == kernel.name);
        let parameters = of_bundle.map_or(&[][..], |kernel| &kernel.parameters);
        let of_driver = image.device.image;
        of_driver.with_current(|current| find(writer, image, current, parameters, launch))?
    });
}

fn find(
    writer: &mut Writer,
    image: &PolicyImage<Cuda>,
    current: &Current<'_>,
    parameters: &[Parameter],
    launch: CudaLaunch<'_>,
) -> Result<Found, Failure> {
    let (module, context) = (image.device.image.module(), current.context());
    let file = image.device.image.file().ok_or(Failure::NoFile)?;
    if asks_for_services(file) {
        return Err(Failure::AsksProgram);
    }
    let anchors = &image.device.anchors;
    let sizes = anchor_sizes(file, anchors.len()).ok_or(Failure::OtherImage)?;
    let shared = anchors.iter().zip(sizes);
    let shared = shared.map(|(&start, length)| Run { start, length });
    let environment = current.global(module, DEVICE_ENVIRONMENT_SYMBOL);
    let (start, length) = environment.unwrap_or_default();
    let length = length as u64;
    let variables: Vec<Run> = shared.chain([Run { start, length }]).collect();

    let waited = current.wait_for(launch.stream);
    waited.map_err(failed("waiting for the work before it"))?;
    let mut reach = Reach {
        current,
        variables: &variables,
        found: BTreeMap::new(),
        near: FIRST_ADDRESS..END_OF_GPU_ADDRESSES,
        elsewhere: HashSet::new(),
        bytes: 0,
    };
    let mut of_variables = Vec::new();
    for variable in &variables {
        of_variables.push(reach.read(*variable)?);
    }
    let in_variables = variables.iter().zip(&of_variables);
    let in_variables = in_variables.flat_map(|(run, contents)| words_of(run.start, contents));
    let arguments = launch.arguments().iter().copied();
    reach.follow(arguments, in_variables.map(|(_, word)| word))?;
    for (index, (word, parameter)) in launch.arguments().iter().zip(parameters).enumerate() {
        if parameter.kind == ParameterKind::Pointer && *word != 0 && !reach.holds(*word) {
            return Err(Failure::PointsElsewhere(index));
        }
    }

    let mut regions = Vec::new();
    for (start, contents) in &reach.found {
        let runs = runs_in(*start, contents);
        for run in &runs {
            let begin = (run.start - start) as usize;
            writer.add_memory(&contents[begin..begin + run.length as usize])?;
        }
        let length = contents.len() as u64;
        regions.push(Region {
            extent: Run {
                start: *start,
                length,
            },
            runs,
        });
    }
    for contents in &of_variables {
        writer.add_memory(contents)?;
    }
    let limit = |limit| current.limit(limit).map_err(failed("asking for a limit"));
    Ok(Found {
        device: Device::Gpu(Gpu {
            name: context.device_name().to_owned(),
            capability: context.capability(),
            blocks: launch.words.blocks,
            threads: launch.words.threads,
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
            stack_bytes: limit(STACK_SIZE)?,
            heap_bytes: limit(MALLOC_HEAP_SIZE)?,
        }),
        image: file.to_vec(),
        variables,
        regions,
    })
}

/// The memory that a launch may reach.
struct Reach<'a> {
    current: &'a Current<'a>,
    variables: &'a [Run],
    /// What allocations hold, by address.
    found: BTreeMap<u64, Rc<Vec<u8>>>,
    /// What may be an address.
    near: Range<u64>,
    /// Words that point into none.
    elsewhere: HashSet<u64>,
    /// Read so far.
    bytes: u64,
}

impl Reach<'_> {
    /// Reads memory of the device.
    fn read(&mut self, run: Run) -> Result<Vec<u8>, Failure> {
        self.bytes = self.bytes.saturating_add(run.length);
        if self.bytes > MOST_BYTES {
            return Err(Failure::TooMuch);
        }
        let mut contents = vec![0; run.length as usize];
        if run.length > 0 {
            let read = self.current.read(run.start, &mut contents);
            read.map_err(|error| Failure::Memory { run, error })?;
        }
        Ok(contents)
    }

    /// Reads all allocations that arguments, and words in variables, lead to, directly or through memory.
    fn follow(
        &mut self,
        arguments: impl Iterator<Item = u64>,
        in_variables: impl Iterator<Item = u64>,
    ) -> Result<(), Failure> {
        let mut waiting = Vec::new();
        self.look_at(arguments, &mut waiting)?;
        self.look_at(in_variables, &mut waiting)?;
        loop {
            // Memory may hold any number of words that are no addresses.
            let near = self.neighbourhood();
            if self.near == near {
                return Ok(());
            }
            self.near = near;
            // What was too far away before may be near now.
            waiting.extend(
                self.found
                    .iter()
                    .map(|(start, contents)| (*start, Rc::clone(contents))),
            );
            self.look_into(&mut waiting)?;
        }
    }

    /// What is not far from the allocations that are known.
    fn neighbourhood(&self) -> Range<u64> {
        let first = self.found.first_key_value().map_or(0, |(first, _)| *first);
        let last = self.found.last_key_value().map_or(0, |(last, _)| *last);
        first.saturating_sub(NEAR).max(FIRST_ADDRESS)..last.saturating_add(NEAR).min(END_OF_GPU_ADDRESSES)
    }

    /// Reads all allocations that words in these lead to, directly or through memory.
    fn look_into(&mut self, waiting: &mut Vec<(u64, Rc<Vec<u8>>)>) -> Result<(), Failure> {
        while let Some((start, contents)) = waiting.pop() {
            let words = words_of(start, &contents);
            self.look_at(words.map(|(_, word)| word), waiting)?;
        }
        Ok(())
    }

    /// Reads the allocations that these words lead to.
    fn look_at(
        &mut self,
        words: impl Iterator<Item = u64>,
        found: &mut Vec<(u64, Rc<Vec<u8>>)>,
    ) -> Result<(), Failure> {
        for word in words {
            if let Some(extent) = self.allocation(word)? {
                let contents = Rc::new(self.read(extent)?);
                self.found.insert(extent.start, Rc::clone(&contents));
                found.push((extent.start, contents));
            }
        }
        Ok(())
    }

    /// Whether a word points into memory that was found.
    fn is_found(&self, word: u64) -> bool {
        let last = self.found.range(..=word).next_back();
        last.is_some_and(|(start, contents)| word - start < contents.len() as u64)
    }

    /// Whether a word points into memory that was found, or into a variable, or is the address of a function.
    fn holds(&self, word: u64) -> bool {
        let is_inside = |run: &Run| word.wrapping_sub(run.start) < run.length.max(1);
        self.is_found(word) || self.variables.iter().any(is_inside)
    }

    /// The allocation that a word points into, if it was not found before.
    fn allocation(&mut self, word: u64) -> Result<Option<Run>, Failure> {
        if !self.near.contains(&word) || self.is_found(word) || self.elsewhere.contains(&word) {
            return Ok(None);
        }
        let extent = self.current.allocation(word).map(|(start, size)| Run {
            start,
            length: size as u64,
        });
        let is_apart = |extent: &Run| {
            let next = self.found.range(extent.start..).next();
            let last = self.found.range(..extent.start).next_back();
            let mut known = next.into_iter().chain(last).map(|(start, contents)| Run {
                start: *start,
                length: contents.len() as u64,
            });
            // Memory of the image is where the image is. Other threads may free memory, and allocate it anew.
            !known.any(|other| other.overlaps(*extent))
                && !self.variables.iter().any(|variable| variable.overlaps(*extent))
        };
        let holds = |extent: &Run| word.wrapping_sub(extent.start) < extent.length;
        let Some(extent) = extent.filter(|extent| holds(extent) && is_apart(extent)) else {
            if self.elsewhere.len() == MOST_QUESTIONS {
                return Err(Failure::TooManyWords);
            }
            self.elsewhere.insert(word);
            return Ok(None);
        };
        Ok(Some(extent))
    }
}

/// What of an allocation is not zero.
fn runs_in(start: u64, contents: &[u8]) -> Vec<Run> {
    let mut runs = Vec::new();
    let starts = (start..).step_by(PAGE as usize);
    for (start, page) in starts.zip(contents.chunks(PAGE as usize)) {
        if page.iter().all(|byte| *byte == 0) {
            continue;
        }
        let length = page.len() as u64;
        add_run(&mut runs, Run { start, length });
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_zeros_are_left_out() {
        let page = PAGE as usize;
        let mut contents = vec![0; 4 * page + 5];
        for place in [1, page, 4 * page + 4] {
            contents[place] = 1;
        }
        let run = |start: u64, length| Run {
            start: 512 + start,
            length,
        };
        assert_eq!(runs_in(512, &contents), [run(0, 2 * PAGE), run(4 * PAGE, 5)]);
        assert!(runs_in(512, &contents[2 * page..4 * page]).is_empty());
    }
}
