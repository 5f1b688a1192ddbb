//! Images in fat binaries, well formed and not.

use offloom_abi::fat_binary::images::{FatBinaryImage, Processor, images};
use offloom_abi::fat_binary::{CUDA, HIP};
use offloom_abi::offload_binary::ImageKind;
use proptest::prelude::*;

/// A fat binary of CUDA's with a cubin for sm_75.
fn cuda(image: &[u8]) -> Vec<u8> {
    let mut bytes = [0xba55_ed50_u32.to_le_bytes(), [1, 0, 16, 0]].concat();
    bytes.extend((64 + image.len() as u64).to_le_bytes());
    let mut header = [0; 64];
    header[..2].copy_from_slice(&2_u16.to_le_bytes());
    header[4..8].copy_from_slice(&64_u32.to_le_bytes());
    header[8..16].copy_from_slice(&(image.len() as u64).to_le_bytes());
    header[28..32].copy_from_slice(&75_u32.to_le_bytes());
    bytes.extend(header);
    bytes.extend(image);
    bytes
}

/// A bundle of HIP's: an entry for the host, and one image.
fn bundle(image: &[u8]) -> Vec<u8> {
    let names = [
        "host-x86_64-unknown-linux",
        "hip-amdgcn-amd-amdhsa--gfx90a:xnack+",
    ];
    let mut bytes = [b"__CLANG_OFFLOAD_BUNDLE__".to_vec(), 2_u64.to_le_bytes().to_vec()].concat();
    for (name, size) in names.iter().zip([0, image.len()]) {
        for field in [256, size, name.len()] {
            bytes.extend((field as u64).to_le_bytes());
        }
        bytes.extend(name.bytes());
    }
    bytes.resize(256, 0);
    bytes.extend(image);
    bytes
}

#[test]
fn images_of_cuda_are_found_behind_each_other() {
    let section = [cuda(b"first..."), vec![0; 8], cuda(b"second..")].concat();
    let expected = |bytes| FatBinaryImage {
        kind: ImageKind::CUBIN,
        triple: "nvptx64-nvidia-cuda",
        processor: Processor::Nvidia(75),
        bytes,
        compressed: false,
    };
    assert_eq!(
        images(&CUDA, &section).unwrap(),
        [expected(b"first..."), expected(b"second..")]
    );
}

#[test]
fn images_of_hip_have_their_targets() {
    let section = [bundle(b"image"), vec![0; 11], bundle(b"other")].concat();
    let found = images(&HIP, &section).unwrap();
    let bytes: Vec<_> = found.iter().map(|image| image.bytes).collect();
    assert_eq!(bytes, [b"image", b"other"]);
    assert_eq!(found[0].triple, "amdgcn-amd-amdhsa");
    assert_eq!(found[0].processor, Processor::Named("gfx90a:xnack+"));
    let compressed = images(&HIP, b"CCOB and so on").unwrap();
    assert!(compressed[0].compressed);
}

#[test]
fn what_is_cut_off_is_an_error() {
    for (runtime, whole) in [(&CUDA, cuda(b"image")), (&HIP, bundle(b"image"))] {
        assert_eq!(images(runtime, &[]).unwrap(), []);
        for length in 1..whole.len() {
            assert!(images(runtime, &whole[..length]).is_err(), "{length} bytes");
        }
    }
    let mut wrong = cuda(b"image");
    wrong[20] = 8;
    let error = images(&CUDA, &wrong).unwrap_err();
    assert!(error.to_string().contains("must be at least 64"), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(
        position in 0_usize..300,
        noise in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        for (runtime, mut bytes) in [(&CUDA, cuda(b"some image")), (&HIP, bundle(b"some image"))] {
            let start = position.min(bytes.len() - 1);
            let end = (start + noise.len()).min(bytes.len());
            bytes[start..end].copy_from_slice(&noise[..end - start]);
            let _ = images(runtime, &bytes);
            let _ = images(runtime, &noise);
        }
    }
}
