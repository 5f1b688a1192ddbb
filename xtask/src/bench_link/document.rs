//! What `docs/results/link.md` says besides figures.

use crate::figures_document::FiguresDocument;

/// What is measured, in the order of the document.
pub(super) const TITLES: [&str; 7] = [
    "ZAXPY",
    "device image of 200 MB",
    "1500 objects without device code",
    "300 objects with device code",
    "archive of 5000 members, 10 of them needed and with device code",
    "600 kernels for the JIT",
    "`wrapgen wrap` of a 1 GB image beside `cp`",
];

/// The page.
pub(super) const DOCUMENT: FiguresDocument = FiguresDocument {
    name: "link",
    introduction: "# Links with device code, measured\n\n\
        Written by `cargo xtask bench-link`. `host` is the host link alone, with the registration object already made; `stock` is \
        LLVM's `clang-linker-wrapper`; the host linker is `ld.lld`. In turn within each repetition. Times in milliseconds, memory in \
        megabytes; private memory is that of the wrapper's own process, without mapped files. Of kernels for the JIT, `native` is Clang's stock link of \
        an object whose device code is machine code, `bitcode` the stock link of one with device bitcode (`-foffload-lto=thin`), and `--jit` ours of that.\n",
    titles: &TITLES,
    // What profiles say about where the time goes that is beyond the host link's and `cp`'s.
    end: "\n## What bounds these figures\n\n\
        * Objects without device code: each is opened, read and closed, and the kernel's part of that is most of what is left. Files of \
        less than 16 KiB are read; to map one, touch its page and unmap it took nearly as long as all the rest.\n\
        * `wrapgen wrap`: the kernel copies the image from file to file, as it does for `cp`. A file that replaces another has its space \
        set aside first: ext4 would otherwise do so, and start to write, while one is renamed onto the other, which took longer.\n",
};
