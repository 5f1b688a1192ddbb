//! `--override-image=`: images that are wrapped as they are, in the place of linked ones.

use std::path::{Path, PathBuf};

use object::elf::{EM_AARCH64, EM_AMDGPU, EM_CUDA, EM_X86_64, FileHeader64};
use object::read::elf::FileHeader as _;
use object::{Endianness, elf};
use offloom_abi::offload_binary::ImageKind;
use offloom_abi::{OffloadKind, gpu_processor};

use super::group::LINKED_KINDS;
use super::wrap_images::LinkedImage;
use crate::error::{Error, Result};
use crate::inputs::InputFile;

/// The images that options name, by programming model and file, with the target that LLVM reads from their
/// ELF headers.
///
/// # Errors
/// A programming model has no images, or a file is no image of one for a device that is known.
pub(super) fn images(given: &[(String, PathBuf)]) -> Result<Vec<LinkedImage>> {
    given.iter().map(|(kind, path)| image(kind, path)).collect()
}

fn image(kind: &str, path: &Path) -> Result<LinkedImage> {
    let known = LINKED_KINDS.into_iter().find(|known| known.name() == kind);
    let kind = known.ok_or_else(|| {
        let names = LINKED_KINDS.map(OffloadKind::name).join(", ");
        Error::Usage(format!(
            "--override-image={kind}={}: images of the kinds {names} can be wrapped",
            path.display()
        ))
    })?;
    let unusable = |problem: String| Error::DeviceObject {
        input: path.display().to_string(),
        problem,
    };
    let file = InputFile::open(path)?;
    let header =
        FileHeader64::<Endianness>::parse(file.bytes()).map_err(|error| unusable(error.to_string()))?;
    let endian = header.endian().map_err(|error| unusable(error.to_string()))?;
    let flags = header.e_flags(endian).0;
    let (triple, arch) = match (kind, header.e_machine(endian)) {
        (OffloadKind::OpenMp, EM_X86_64) => ("x86_64--", None),
        (OffloadKind::OpenMp, EM_AARCH64) => ("aarch64--", None),
        (OffloadKind::OpenMp | OffloadKind::Hip, EM_AMDGPU) => {
            ("amdgcn-amd-amdhsa", gpu_processor::amd(flags).map(str::to_owned))
        }
        (OffloadKind::OpenMp | OffloadKind::Cuda, EM_CUDA) => {
            let abi_version = header.e_ident().abi_version;
            (
                "nvptx64-nvidia-cuda",
                Some(gpu_processor::nvidia(abi_version, flags)),
            )
        }
        (_, elf::Machine(number)) => {
            return Err(unusable(format!(
                "it is an ELF file for machine {number}, and no image of {} is",
                kind.name()
            )));
        }
    };
    Ok(LinkedImage {
        triple: triple.to_owned(),
        arch,
        path: path.to_owned(),
        kind: ImageKind::OBJECT,
        kinds: vec![kind],
    })
}
