//! A cache on disk with as many images as a busy user may have.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

/// Images in it.
const IMAGES: usize = 10_000;

/// What names of copies begin with, and no hash does.
const COPY: &str = "00000000";

/// Fills up a cache that has one image with copies of it, under names such as images have.
pub(super) fn fill(cache: &Path) -> Result<()> {
    // Of this version of the cache's format.
    let images = cache.join("v2");
    let image = the_image(&images)?;
    for number in 1..IMAGES {
        // Hashes: of the 64 digits the folder's name has two.
        let folder = images.join(format!("{:02x}", number % 256));
        fs::create_dir_all(&folder)?;
        fs::copy(&image, folder.join(format!("{number:062x}")))
            .with_context(|| format!("cannot fill `{}`", cache.display()))?;
    }
    Ok(())
}

/// Removes every image but the copies. There may be several: objects may lie otherwise aligned in each run.
pub(super) fn remove_all_but_copies(cache: &Path) -> Result<()> {
    for image in images(&cache.join("v2"))? {
        let is_copy = image
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(COPY));
        if !is_copy {
            fs::remove_file(&image).with_context(|| format!("cannot remove `{}`", image.display()))?;
        }
    }
    Ok(())
}

fn the_image(folder: &Path) -> Result<PathBuf> {
    let mut found = images(folder)?;
    ensure!(
        found.len() == 1,
        "{} images in `{}`, not 1",
        found.len(),
        folder.display()
    );
    found.pop().context("no image")
}

/// The files in the folders of this one.
fn images(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in fs::read_dir(folder).with_context(|| format!("no cache in `{}`", folder.display()))? {
        let folder = folder?.path();
        // Beside them lies the record of hits and misses.
        if folder.is_dir() {
            for file in fs::read_dir(folder)? {
                found.push(file?.path());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_names_of_their_own() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("v2/ab");
        fs::create_dir_all(&folder).unwrap();
        assert!(fill(cache.path()).is_err());
        fs::write(folder.join("image"), "").unwrap();
        fill(cache.path()).unwrap();
        let folders = fs::read_dir(cache.path().join("v2")).unwrap();
        let files = folders.map(|folder| fs::read_dir(folder.unwrap().path()).unwrap().count());
        assert_eq!(files.sum::<usize>(), IMAGES);
        assert!(fill(cache.path()).is_err());
        remove_all_but_copies(cache.path()).unwrap();
        assert!(!folder.join("image").exists());
        assert_eq!(images(&cache.path().join("v2")).unwrap().len(), IMAGES - 1);
    }
}
