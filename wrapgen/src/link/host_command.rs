//! The host linker's command: which linker, its arguments in order, and what each means to the wrapper.
//!
//! The arguments keep their bytes, their order and how they are split into words.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::steps::{Phase, Step};
use crate::wrap::DEFAULT_HOST_TRIPLE;

/// What the host linker was told, and about it.
#[derive(Debug)]
pub struct HostCommand {
    /// `--linker-path=`: the host linker.
    pub linker: Option<PathBuf>,
    /// `--host-triple=`, or the one that is meant where nobody says.
    pub triple: String,
    /// `--sysroot=`.
    pub sysroot: Option<PathBuf>,
    /// Its arguments, in order.
    pub arguments: Vec<HostArgument>,
}

impl Default for HostCommand {
    fn default() -> Self {
        Self {
            linker: None,
            triple: DEFAULT_HOST_TRIPLE.to_owned(),
            sysroot: None,
            arguments: Vec::new(),
        }
    }
}

/// One argument of the host linker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostArgument {
    /// Its words as given.
    pub words: Vec<OsString>,
    /// What it means to the wrapper.
    pub role: Role,
}

/// What a host linker argument means to the wrapper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// An input file.
    Input(PathBuf),
    /// A library to be searched for: the name behind `-l`.
    Library(OsString),
    /// A folder to search libraries in.
    LibraryPath(OsString),
    /// A run-time search path.
    RunPath(OsString),
    /// `--whole-archive` (true) or `--no-whole-archive`.
    WholeArchive(bool),
    /// `-Bstatic` (true) or `-Bdynamic`.
    Static(bool),
    /// `-static`: as `-Bstatic`, but said of a whole program.
    WholeProgramStatic,
    /// `--as-needed` (true) or `--no-as-needed`.
    AsNeeded(bool),
    /// `--push-state`.
    PushState,
    /// `--pop-state`.
    PopState,
    /// `--start-lib` (true) or `--end-lib`.
    Lib(bool),
    /// `--start-group` (true) or `--end-group`.
    Group(bool),
    /// A symbol that the link must define: `-u`.
    Undefined(OsString),
    /// The symbol that the program starts from: `--entry`.
    Entry(OsString),
    /// Gives symbols other names or asks for them by a pattern.
    ChangesSymbols,
    /// The file to write.
    Output(PathBuf),
    /// The file that make is to read.
    DependencyFile(PathBuf),
    /// Nothing.
    Other,
}

impl HostCommand {
    /// A step of the link that works for the host.
    pub fn step<'s>(&self, phase: Phase) -> Step<'s> {
        Step::new(phase, &self.triple, "")
    }

    /// What its arguments mean, in order.
    pub fn roles(&self) -> impl DoubleEndedIterator<Item = &Role> {
        self.arguments.iter().map(|argument| &argument.role)
    }

    /// The file that it will write.
    pub fn output(&self) -> PathBuf {
        let given = self.roles().rev().find_map(|role| match role {
            Role::Output(path) => Some(path.clone()),
            _ => None,
        });
        given.unwrap_or_else(|| PathBuf::from("a.out"))
    }

    /// The input files that it is given, without those that it searches for.
    pub fn inputs(&self) -> impl Iterator<Item = &PathBuf> {
        self.roles().filter_map(|role| match role {
            Role::Input(path) => Some(path),
            _ => None,
        })
    }

    /// The folders behind `-L`.
    pub fn library_paths(&self) -> impl Iterator<Item = &OsStr> {
        self.roles().filter_map(|role| match role {
            Role::LibraryPath(folder) => Some(folder.as_os_str()),
            _ => None,
        })
    }

    /// The names behind `-l`.
    pub fn libraries(&self) -> impl Iterator<Item = &OsStr> {
        self.roles().filter_map(|role| match role {
            Role::Library(name) => Some(name.as_os_str()),
            _ => None,
        })
    }

    /// The file that it will write for make.
    pub fn dependency_file(&self) -> Option<&Path> {
        self.roles().rev().find_map(|role| match role {
            Role::DependencyFile(path) => Some(path.as_path()),
            _ => None,
        })
    }

    /// Whether GCC's unwinder goes into what is linked (`-static-libgcc`), in the place of the shared
    /// library.
    pub fn has_own_unwinder(&self) -> bool {
        self.libraries().any(|name| name == "gcc_eh")
    }

    /// `--sysroot=`, as one word.
    pub fn sysroot_option(&self) -> Option<OsString> {
        let sysroot = self.sysroot.as_ref()?;
        let mut option = OsString::from("--sysroot=");
        option.push(sysroot);
        Some(option)
    }

    /// Its words, with `inserted` behind the output file or, where none is given, in front.
    pub fn words(&self, inserted: &[PathBuf]) -> Vec<OsString> {
        self.words_with_output(None, inserted)
    }

    /// As [`Self::words`], but to write `output`.
    pub fn words_writing(&self, output: &Path, inserted: &[PathBuf]) -> Vec<OsString> {
        self.words_with_output(Some(output), inserted)
    }

    fn words_with_output(&self, instead: Option<&Path>, inserted: &[PathBuf]) -> Vec<OsString> {
        let output = self
            .arguments
            .iter()
            .rposition(|argument| matches!(argument.role, Role::Output(_)));
        let mut words: Vec<OsString> = Vec::new();
        let other = || instead.into_iter().flat_map(|path| ["-o".into(), path.into()]);
        if output.is_none() {
            words.extend(other());
            words.extend(inserted.iter().map(Into::into));
        }
        for (position, argument) in self.arguments.iter().enumerate() {
            match (&argument.role, instead) {
                (Role::Output(_), Some(_)) if output == Some(position) => words.extend(other()),
                (Role::Output(_), Some(_)) => {}
                _ => words.extend(argument.words.iter().cloned()),
            }
            if output == Some(position) {
                words.extend(inserted.iter().map(Into::into));
            }
        }
        words
    }
}
