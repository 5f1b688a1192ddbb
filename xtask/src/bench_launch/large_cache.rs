//! A cache on disk with as many images as a busy user may have.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

/// Images in it.
const IMAGES: usize = 10_000;

/// Fills up a cache that has one image with copies of it, under names such as images have; returns where that one is.
pub(super) fn fill(cache: &Path) -> Result<PathBuf> {
    // Of this version of the cache's format.
    let images = cache.join("v1");
    let image = the_image(&images)?;
    for number in 1..IMAGES {
        // Hashes: of the 64 digits the folder's name has two.
        let folder = images.join(format!("{:02x}", number % 256));
        fs::create_dir_all(&folder)?;
        fs::copy(&image, folder.join(format!("{number:062x}")))
            .with_context(|| format!("cannot fill `{}`", cache.display()))?;
    }
    Ok(image)
}

fn the_image(images: &Path) -> Result<PathBuf> {
    let mut found = Vec::new();
    for folder in fs::read_dir(images).with_context(|| format!("no cache in `{}`", images.display()))? {
        for file in fs::read_dir(folder?.path())? {
            found.push(file?.path());
        }
    }
    ensure!(
        found.len() == 1,
        "{} images in `{}`, not 1",
        found.len(),
        images.display()
    );
    found.pop().context("no image")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_names_of_their_own() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("v1/ab");
        fs::create_dir_all(&folder).unwrap();
        assert!(fill(cache.path()).is_err());
        fs::write(folder.join("image"), "").unwrap();
        assert_eq!(fill(cache.path()).unwrap(), folder.join("image"));
        let folders = fs::read_dir(cache.path().join("v1")).unwrap();
        let files = folders.map(|folder| fs::read_dir(folder.unwrap().path()).unwrap().count());
        assert_eq!(files.sum::<usize>(), IMAGES);
        assert!(fill(cache.path()).is_err());
    }
}
