//! The linker wrapper's options: one table of spellings, shapes, owners and meanings.
//!
//! To add an option, add a row to [`TABLE`] and, if it has an effect, a variant to [`Meaning`], an arm in
//! `command_line.rs` and what it changes of the plan in `plan.rs`. What is not in the table belongs to the
//! host linker and is handed on as it is.

use clap::{Arg, ArgAction, Command, ValueHint};

use crate::LLVM;

/// How an option takes its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// No value.
    Flag,
    /// The rest of the word.
    Joined,
    /// The next word.
    Separate,
    /// The rest of the word or, where that is empty, the next word.
    JoinedOrSeparate,
}

/// Who gets an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The wrapper alone: it is not handed to the host linker.
    Wrapper,
    /// The host linker, and the wrapper looks at it too.
    Both,
    /// The host linker alone. Rows exist only so that a separate value is not taken for an input file.
    HostLinker,
}

/// What an option says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    LinkerPath,
    HostTriple,
    CudaPath,
    DeviceLinker,
    DeviceCompiler,
    DryRun,
    Verbose,
    PrintPhases,
    Time,
    TimeTrace,
    SaveTemps,
    PrintWrappedModule,
    EmbedBitcode,
    EmitFatbinOnly,
    Jobs,
    BitcodeLibrary,
    BuiltinBitcode,
    Compress,
    CompressionLevel,
    OverrideImage,
    OptLevel,
    DeviceDebug,
    Llvm,
    OffloadOpt,
    PtxasArgument,
    PassRemarks,
    PassRemarksMissed,
    PassRemarksAnalysis,
    ShouldExtract,
    Jit,
    JitOnly,
    Help,
    Version,
    /// As `Version`, of the releases whose wrapper has it.
    ShortVersion,
    Sysroot,
    Output,
    LibraryPath,
    Library,
    RunPath,
    WholeArchive,
    NoWholeArchive,
    Static,
    WholeProgramStatic,
    Dynamic,
    AsNeeded,
    NoAsNeeded,
    PushState,
    PopState,
    StartLib,
    EndLib,
    StartGroup,
    EndGroup,
    Undefined,
    Entry,
    ChangesSymbols,
    Relocatable,
    DependencyFile,
    /// Accepted and without effect here; the help text says why.
    Ignored,
    /// For the host linker only.
    Host,
}

/// One spelling of an option.
#[derive(Debug)]
pub(super) struct Row {
    /// As written, with its dashes and, where the value is joined by it, its `=`.
    pub(super) spelling: &'static str,
    pub(super) shape: Shape,
    pub(super) owner: Owner,
    pub(super) meaning: Meaning,
    /// Empty: not listed by `--help`.
    pub(super) help: &'static str,
}

const fn row(
    spelling: &'static str,
    shape: Shape,
    owner: Owner,
    meaning: Meaning,
    help: &'static str,
) -> Row {
    Row {
        spelling,
        shape,
        owner,
        meaning,
        help,
    }
}

/// A row for a host linker option whose value is the next word.
const fn host(spelling: &'static str) -> Row {
    row(spelling, Shape::Separate, Owner::HostLinker, Meaning::Host, "")
}

/// Every option that the wrapper of LLVM 19 or of LLVM 22 knows, and those of host linkers that take a
/// separate value.
pub(super) const TABLE: &[Row] = &{
    use Meaning::*;
    use Owner::{Both, Wrapper};
    use Shape::*;
    [
        row(
            "--linker-path=",
            Joined,
            Wrapper,
            LinkerPath,
            "The host linker to run",
        ),
        row(
            "--host-triple=",
            Joined,
            Wrapper,
            HostTriple,
            "Target triple of the host",
        ),
        row(
            "--device-linker=",
            Joined,
            Wrapper,
            DeviceLinker,
            "[<triple>=]<arg>: an argument for the device linker",
        ),
        row(
            "--device-compiler=",
            Joined,
            Wrapper,
            DeviceCompiler,
            "[<triple>=]<arg>: an argument for the device compiler",
        ),
        row(
            "--jit",
            Flag,
            Wrapper,
            Jit,
            "Prepare kernels of bitcode inputs for the JIT",
        ),
        row(
            "--jit=only",
            Flag,
            Wrapper,
            JitOnly,
            "The same with bitcode in the place of an image, which the JIT library makes when the program starts",
        ),
        row(
            "--dry-run",
            Flag,
            Wrapper,
            DryRun,
            "Print the commands and run none",
        ),
        row(
            "--wrapper-verbose",
            Flag,
            Wrapper,
            Verbose,
            "Print the steps, and the commands that are run",
        ),
        row(
            "--print-phases",
            Flag,
            Wrapper,
            PrintPhases,
            "Print the steps with the files they read and make, and do none",
        ),
        row("--time", Flag, Wrapper, Time, "Print how long each step took"),
        row(
            "--wrapper-time-trace=",
            Joined,
            Wrapper,
            TimeTrace,
            "Write what took how long as a trace for Chrome or Perfetto",
        ),
        row(
            "--save-temps",
            Flag,
            Wrapper,
            SaveTemps,
            "Keep intermediate files in the current folder",
        ),
        row(
            "--print-wrapped-module",
            Flag,
            Wrapper,
            PrintWrappedModule,
            "Print the registration module as LLVM IR",
        ),
        row(
            "--override-image=",
            Joined,
            Wrapper,
            OverrideImage,
            "<kind>=<file>: wrap this file instead of linking device code",
        ),
        row(
            "--embed-bitcode",
            Flag,
            Wrapper,
            EmbedBitcode,
            "Make the merged and optimised device bitcode the image, for a runtime that compiles it",
        ),
        row(
            "--opt-level=",
            Joined,
            Wrapper,
            OptLevel,
            "O0 to O3: optimisation of device bitcode",
        ),
        row(
            "--device-debug",
            Flag,
            Wrapper,
            DeviceDebug,
            "Keep debug information of device code",
        ),
        row("--cuda-path=", Joined, Wrapper, CudaPath, "The CUDA installation"),
        row(
            "--should-extract=",
            Joined,
            Wrapper,
            ShouldExtract,
            "An arch whose archive members are linked even if nothing else is for it",
        ),
        row(
            "-mllvm",
            Separate,
            Wrapper,
            Llvm,
            "An argument for LLVM's code generator",
        ),
        row(
            "--offload-opt=",
            Joined,
            Wrapper,
            OffloadOpt,
            "An argument for LLVM's code generator, not for Clang",
        ),
        row("-offload-opt=", Joined, Wrapper, OffloadOpt, ""),
        row(
            "--ptxas-arg=",
            Joined,
            Wrapper,
            PtxasArgument,
            "An argument for ptxas",
        ),
        row(
            "--pass-remarks=",
            Joined,
            Wrapper,
            PassRemarks,
            "Report what passes with a name that matches did to device bitcode",
        ),
        row(
            "--pass-remarks-missed=",
            Joined,
            Wrapper,
            PassRemarksMissed,
            "As --pass-remarks=, for what they could not do",
        ),
        row(
            "--pass-remarks-analysis=",
            Joined,
            Wrapper,
            PassRemarksAnalysis,
            "As --pass-remarks=, for what they found out",
        ),
        row("--help", Flag, Wrapper, Help, "Show this text"),
        row("--help-hidden", Flag, Wrapper, Help, ""),
        row("--version", Flag, Wrapper, Version, "Show the version"),
        row("-version", Flag, Wrapper, Version, ""),
        row("--v", Flag, Wrapper, ShortVersion, ""),
        row("-v", Flag, Wrapper, ShortVersion, ""),
        // Accepted for compatibility.
        row(
            "--wrapper-jobs=",
            Joined,
            Wrapper,
            Jobs,
            "How many device targets to link at once (default: one per processor), or, with LLVM 22, 'jobserver': as make has to give",
        ),
        row("--wrapper-time-trace-granularity=", Joined, Wrapper, Ignored, ""),
        row(
            "--compress",
            Flag,
            Wrapper,
            Compress,
            "Compress the fat binary of HIP; images of OpenMP and CUDA are as their linkers made them",
        ),
        row(
            "--compression-level=",
            Joined,
            Wrapper,
            CompressionLevel,
            "How hard --compress tries, a number",
        ),
        row("--clang-backend", Flag, Wrapper, Ignored, ""),
        row("--no-canonical-prefixes", Flag, Wrapper, Ignored, ""),
        row(
            "--bitcode-library=",
            Joined,
            Wrapper,
            BitcodeLibrary,
            "<kind>-<triple>-<arch>=<file>: more device bitcode to link",
        ),
        row(
            "--builtin-bitcode=",
            Joined,
            Wrapper,
            BuiltinBitcode,
            "<triple>=<file>: a library of device bitcode for every image of this triple",
        ),
        row("--arch=", Joined, Wrapper, Ignored, ""),
        row("--triple=", Joined, Wrapper, Ignored, ""),
        row("--linker-arg=", Joined, Wrapper, DeviceLinker, ""),
        row("--compiler-arg=", Joined, Wrapper, DeviceCompiler, ""),
        row("--whole-program", Flag, Wrapper, Ignored, ""),
        row(
            "--emit-fatbin-only",
            Flag,
            Wrapper,
            EmitFatbinOnly,
            "Write the linked device images to the output file and run no host linker",
        ),
        // Host linker options that decide about device code, too.
        row(
            "--sysroot=",
            Joined,
            Both,
            Sysroot,
            "The folder that `=` in a library folder stands for",
        ),
        row("-o", JoinedOrSeparate, Both, Output, "The file to write"),
        row("--sysroot", Separate, Both, Sysroot, ""),
        row("-sysroot", Separate, Both, Sysroot, ""),
        row("--output=", Joined, Both, Output, ""),
        row("--output", Separate, Both, Output, ""),
        row(
            "-L",
            JoinedOrSeparate,
            Both,
            LibraryPath,
            "A folder to find libraries in",
        ),
        row("--library-path=", Joined, Both, LibraryPath, ""),
        row("-library-path=", Joined, Both, LibraryPath, ""),
        row("--library-path", Separate, Both, LibraryPath, ""),
        row("-library-path", Separate, Both, LibraryPath, ""),
        row("-l", JoinedOrSeparate, Both, Library, "A library"),
        row("--library=", Joined, Both, Library, ""),
        row("-library=", Joined, Both, Library, ""),
        row("--library", Separate, Both, Library, ""),
        row("-library", Separate, Both, Library, ""),
        row(
            "--rpath=",
            Joined,
            Both,
            RunPath,
            "A folder to find shared libraries in at run time",
        ),
        row("-rpath=", Joined, Both, RunPath, ""),
        row("--rpath", Separate, Both, RunPath, ""),
        row("-rpath", Separate, Both, RunPath, ""),
        row(
            "--whole-archive",
            Flag,
            Both,
            WholeArchive,
            "Link every member of the archives that follow",
        ),
        row("-whole-archive", Flag, Both, WholeArchive, ""),
        row(
            "--no-whole-archive",
            Flag,
            Both,
            NoWholeArchive,
            "End --whole-archive",
        ),
        row("-no-whole-archive", Flag, Both, NoWholeArchive, ""),
        row(
            "-r",
            Flag,
            Both,
            Relocatable,
            "Write an object to be linked again",
        ),
        row("-relocatable", Flag, Both, Relocatable, ""),
        row("--relocatable", Flag, Both, Relocatable, ""),
        row(
            "-Bstatic",
            Flag,
            Both,
            Static,
            "Take archives for the libraries that follow",
        ),
        row("--Bstatic", Flag, Both, Static, ""),
        row("-static", Flag, Both, WholeProgramStatic, ""),
        row("--static", Flag, Both, WholeProgramStatic, ""),
        row("-dn", Flag, Both, Static, ""),
        row("-non_shared", Flag, Both, Static, ""),
        row("-Bdynamic", Flag, Both, Dynamic, "End -Bstatic"),
        row("--Bdynamic", Flag, Both, Dynamic, ""),
        row("-dy", Flag, Both, Dynamic, ""),
        row("-call_shared", Flag, Both, Dynamic, ""),
        row("--as-needed", Flag, Both, AsNeeded, ""),
        row("-as-needed", Flag, Both, AsNeeded, ""),
        row("--no-as-needed", Flag, Both, NoAsNeeded, ""),
        row("-no-as-needed", Flag, Both, NoAsNeeded, ""),
        row(
            "--push-state",
            Flag,
            Both,
            PushState,
            "Remember -Bstatic, --whole-archive and --as-needed",
        ),
        row("-push-state", Flag, Both, PushState, ""),
        row(
            "--pop-state",
            Flag,
            Both,
            PopState,
            "Return to what --push-state remembered",
        ),
        row("-pop-state", Flag, Both, PopState, ""),
        row(
            "--start-lib",
            Flag,
            Both,
            StartLib,
            "Link objects that follow only if something needs them",
        ),
        row("-start-lib", Flag, Both, StartLib, ""),
        row("--end-lib", Flag, Both, EndLib, "End --start-lib"),
        row("-end-lib", Flag, Both, EndLib, ""),
        row("--start-group", Flag, Both, StartGroup, ""),
        row("-start-group", Flag, Both, StartGroup, ""),
        row("-(", Flag, Both, StartGroup, ""),
        row("--end-group", Flag, Both, EndGroup, ""),
        row("-end-group", Flag, Both, EndGroup, ""),
        row("-)", Flag, Both, EndGroup, ""),
        // Symbols that the link starts from, and what makes it impossible to tell which archive members it
        // takes.
        row("-u", JoinedOrSeparate, Both, Undefined, ""),
        row("--undefined=", Joined, Both, Undefined, ""),
        row("-undefined=", Joined, Both, Undefined, ""),
        row("--undefined", Separate, Both, Undefined, ""),
        row("-undefined", Separate, Both, Undefined, ""),
        row("--require-defined=", Joined, Both, Undefined, ""),
        row("-require-defined=", Joined, Both, Undefined, ""),
        row("--require-defined", Separate, Both, Undefined, ""),
        row("-require-defined", Separate, Both, Undefined, ""),
        row("-e", JoinedOrSeparate, Both, Entry, ""),
        row("--entry=", Joined, Both, Entry, ""),
        row("-entry=", Joined, Both, Entry, ""),
        row("--entry", Separate, Both, Entry, ""),
        row("-entry", Separate, Both, Entry, ""),
        row("-T", JoinedOrSeparate, Both, ChangesSymbols, ""),
        row("--script=", Joined, Both, ChangesSymbols, ""),
        row("-script=", Joined, Both, ChangesSymbols, ""),
        row("--script", Separate, Both, ChangesSymbols, ""),
        row("-script", Separate, Both, ChangesSymbols, ""),
        row("--defsym=", Joined, Both, ChangesSymbols, ""),
        row("-defsym=", Joined, Both, ChangesSymbols, ""),
        row("--defsym", Separate, Both, ChangesSymbols, ""),
        row("-defsym", Separate, Both, ChangesSymbols, ""),
        row("--wrap=", Joined, Both, ChangesSymbols, ""),
        row("-wrap=", Joined, Both, ChangesSymbols, ""),
        row("--wrap", Separate, Both, ChangesSymbols, ""),
        row("-wrap", Separate, Both, ChangesSymbols, ""),
        row("--undefined-glob=", Joined, Both, ChangesSymbols, ""),
        row("-undefined-glob=", Joined, Both, ChangesSymbols, ""),
        row("--undefined-glob", Separate, Both, ChangesSymbols, ""),
        row("--dependency-file=", Joined, Both, DependencyFile, ""),
        row("-dependency-file=", Joined, Both, DependencyFile, ""),
        row("--dependency-file", Separate, Both, DependencyFile, ""),
        row("-dependency-file", Separate, Both, DependencyFile, ""),
        // One that starts like one of the above.
        row("-lto_library", Separate, Owner::HostLinker, Host, ""),
        host("-dynamic-linker"),
        host("--dynamic-linker"),
        host("-m"),
        host("-z"),
        host("-h"),
        host("-soname"),
        host("--soname"),
        host("-dT"),
        host("-Map"),
        host("--Map"),
        host("-version-script"),
        host("--version-script"),
        host("--dynamic-list"),
        host("-rpath-link"),
        host("--rpath-link"),
        host("-plugin"),
        host("--plugin"),
        host("-plugin-opt"),
        host("--plugin-opt"),
        host("-init"),
        host("--init"),
        host("-fini"),
        host("--fini"),
        host("-R"),
        host("--just-symbols"),
        host("-b"),
        host("--format"),
        host("-A"),
        host("--architecture"),
        host("-a"),
        host("-c"),
        host("-F"),
        host("-f"),
        host("-G"),
        host("-I"),
        host("-P"),
        host("-y"),
        host("-Y"),
        host("--section-start"),
        host("-Ttext"),
        host("-Ttext-segment"),
        host("-Trodata-segment"),
        host("-Tldata-segment"),
        host("-Tdata"),
        host("-Tbss"),
        // Addresses, and no script as with `-T`.
        row("-Ttext=", Joined, Owner::HostLinker, Host, ""),
        row("-Ttext-segment=", Joined, Owner::HostLinker, Host, ""),
        row("-Trodata-segment=", Joined, Owner::HostLinker, Host, ""),
        row("-Tldata-segment=", Joined, Owner::HostLinker, Host, ""),
        row("-Tdata=", Joined, Owner::HostLinker, Host, ""),
        row("-Tbss=", Joined, Owner::HostLinker, Host, ""),
        host("--exclude-libs"),
        host("--retain-symbols-file"),
        host("--export-dynamic-symbol"),
        host("--export-dynamic-symbol-list"),
        host("--thinlto-cache-dir"),
        host("--mllvm"),
        host("--audit"),
        host("--call-graph-ordering-file"),
        host("--depaudit"),
        host("--error-handling-script"),
        host("--hash-size"),
        host("--ignore-unresolved-symbol"),
        host("--image-base"),
        host("--irpgo-profile"),
        host("--keep-unique"),
        host("--load-pass-plugin"),
        host("--lto-known-safe-vtables"),
        host("--opt-remarks-filename"),
        host("--opt-remarks-format"),
        host("--opt-remarks-passes"),
        host("--out-implib"),
        host("--print-symbol-order"),
        host("--reproduce"),
        host("--spare-dynamic-tags"),
        host("--symbol-ordering-file"),
        host("--task-link"),
        host("--thinlto-distributor-arg"),
        host("--thinlto-remote-compiler-arg"),
        host("--thinlto-remote-compiler-prepend-arg"),
        host("--trace-symbol"),
        host("--version-exports-section"),
        host("--warn-backrefs-exclude"),
        host("--why-live"),
        host("-O"),
        host("-audit"),
        host("-call-graph-ordering-file"),
        host("-depaudit"),
        host("-exclude-libs"),
        host("-ignore-unresolved-symbol"),
        host("-just-symbols"),
        host("-keep-unique"),
        host("-print-symbol-order"),
        host("-retain-symbols-file"),
        host("-spare-dynamic-tags"),
        host("-task-link"),
        host("-trace-symbol"),
        host("-version-exports-section"),
    ]
};

/// The row that a word is an option of: that of the longest spelling.
pub(super) fn find(word: &[u8]) -> Option<&'static Row> {
    if !word.starts_with(b"-") || word == b"-" {
        return None;
    }
    TABLE
        .iter()
        .filter(|row| row.meaning != Meaning::ShortVersion || LLVM.short_version_option)
        .filter(|row| match row.shape {
            Shape::Flag | Shape::Separate => word == row.spelling.as_bytes(),
            Shape::Joined => word.starts_with(row.spelling.as_bytes()),
            Shape::JoinedOrSeparate => word.starts_with(row.spelling.as_bytes()),
        })
        .max_by_key(|row| row.spelling.len())
}

/// What `--help` prints.
pub(super) fn help() -> String {
    let mut text = String::from(
        "Links the device code in the inputs, wraps it for registration, and runs the host linker with it.\n\n\
         USAGE: wrapgen link [options] <the host linker's arguments>\n       \
         clang-linker-wrapper [options] <the host linker's arguments>\n",
    );
    for topic in Topic::ALL {
        text += &format!("\n{}:\n", topic.heading());
        for row in documented().filter(|row| row.topic() == topic) {
            let value = match row.shape {
                Shape::Flag => "",
                Shape::Joined => "<value>",
                Shape::Separate | Shape::JoinedOrSeparate => " <value>",
            };
            text += &format!("  {:<28} {}\n", format!("{}{value}", row.spelling), row.help);
        }
    }
    text + "\nEvery other argument goes to the host linker as it is.\n"
}

/// The same as a command of clap's, for the man page and for completions. Spellings that clap cannot express,
/// such as `-mllvm`, are in its closing text.
pub(super) fn documentation() -> Command {
    let mut further = String::new();
    let mut command = Command::new("link")
        .about("Link device code, wrap it, and run the host linker: clang-linker-wrapper's options and command line")
        .disable_help_flag(true)
        .arg(Arg::new("arguments").num_args(0..).value_hint(ValueHint::FilePath).help(
            "The host linker's arguments, which it gets as they are",
        ));
    for row in documented() {
        let name = row.spelling.trim_end_matches('=');
        let argument = Arg::new(name)
            .help(row.help)
            .help_heading(row.topic().heading())
            .action(match row.shape {
                Shape::Flag => ArgAction::SetTrue,
                _ => ArgAction::Append,
            });
        let argument = match row.shape {
            Shape::Flag => argument,
            _ => argument.value_name("VALUE"),
        };
        let argument = argument
            .require_equals(row.shape == Shape::Joined)
            .value_hint(ValueHint::AnyPath);
        let argument = match (name.strip_prefix("--"), name.strip_prefix('-').map(str::as_bytes)) {
            (Some(long), _) => argument.long(long),
            (None, Some(&[short])) => argument.short(char::from(short)),
            _ => {
                further += &format!("{name}: {}.\n", row.help);
                continue;
            }
        };
        command = command.arg(argument);
    }
    command.after_help(further)
}

/// The rows that are for people.
fn documented() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(|row| !row.help.is_empty())
}

/// What a part of the help is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Topic {
    DeviceCode,
    Tools,
    Show,
    HostLinker,
    Compatibility,
}

impl Topic {
    const ALL: [Self; 5] = [
        Self::DeviceCode,
        Self::Tools,
        Self::Show,
        Self::HostLinker,
        Self::Compatibility,
    ];

    fn heading(self) -> &'static str {
        match self {
            Self::DeviceCode => "Device code",
            Self::Tools => "Tools and targets",
            Self::Show => "What to show and keep",
            Self::HostLinker => "Options of the host linker that count for device code, too",
            Self::Compatibility => "Accepted because LLVM's tool has them",
        }
    }
}

impl Row {
    fn topic(&self) -> Topic {
        match self.meaning {
            Meaning::LinkerPath | Meaning::HostTriple | Meaning::CudaPath => Topic::Tools,
            Meaning::DryRun
            | Meaning::Verbose
            | Meaning::PrintPhases
            | Meaning::Time
            | Meaning::TimeTrace
            | Meaning::SaveTemps
            | Meaning::PrintWrappedModule
            | Meaning::Help
            | Meaning::Version
            | Meaning::ShortVersion => Topic::Show,
            Meaning::Ignored => Topic::Compatibility,
            _ if self.owner == Owner::Wrapper => Topic::DeviceCode,
            _ => Topic::HostLinker,
        }
    }
}
