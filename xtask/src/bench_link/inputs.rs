//! Makes the inputs of the link benchmark: few compiles, many copies in which only a name differs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use offloom_abi::LlvmVersion;

use super::Bench;
use crate::command::shown;

/// The ZAXPY routine of Clang's *Offloading Design & Internals*.
const ZAXPY: &str = "#include <complex>\n\
    using complex = std::complex<double>;\n\
    void zaxpy(complex *X, complex *Y, complex D, std::size_t N) {\n\
    #pragma omp target teams distribute parallel for map(to : X[0 : N]) map(tofrom : Y[0 : N])\n\
      for (std::size_t i = 0; i < N; ++i) Y[i] = D * X[i] + Y[i];\n\
    }\n\
    int main() {\n\
      static complex X[1024], Y[1024];\n\
      zaxpy(X, Y, complex(2, 1), 1024);\n\
    }\n";

/// A function with a target region; its name is as long as any that [`numbered`] puts in its place.
const REGION: &str = "int function_00000(int x) {\n\
    #pragma omp target map(tofrom : x)\n\
      x += 1;\n\
      return x;\n\
    }\n";

/// A function of the host alone.
const HOST_ONLY: &str = "int function_00000(int x) { return x + 1; }\n";

const NAME: &str = "function_00000";

fn numbered(number: usize) -> String {
    format!("function_{number:05}")
}

impl Bench<'_> {
    /// The object of the ZAXPY program.
    pub(super) fn zaxpy(&self) -> Result<PathBuf> {
        self.compile("zaxpy", ZAXPY, true)
    }

    /// An object whose device code holds `bytes` bytes of data.
    pub(super) fn large_image(&self, bytes: usize) -> Result<PathBuf> {
        let small = self.zaxpy()?;
        let [extracted, assembly, data, device, packed, object] = [
            "small.o",
            "data.s",
            "data.o",
            "device.o",
            "device.pack",
            "large.o",
        ]
        .map(|name| self.folder.join(name));
        let triple = crate::openmp::DEVICE_TRIPLE;
        self.run(
            Command::new(self.wrapgen())
                .arg("extract")
                .arg(&small)
                .arg(format!("--image=file={},triple={triple}", extracted.display())),
        )?;
        write(
            &assembly,
            &format!(".data\n.globl filler\nfiller: .fill {bytes}, 1, 90\n"),
        )?;
        self.run(self.clang().arg("-c").arg(&assembly).arg("-o").arg(&data))?;
        self.run(
            self.llvm_tool("ld.lld")
                .arg("-r")
                .args([&extracted, &data])
                .arg("-o")
                .arg(&device),
        )?;
        self.run(
            Command::new(self.wrapgen())
                .arg("pack")
                .arg("-o")
                .arg(&packed)
                .arg(format!(
                    "--image=file={},triple={triple},arch={},kind=openmp",
                    device.display(),
                    if LlvmVersion::of_major(self.staged.llvm.major)
                        .is_some_and(|llvm| llvm.generic_arch_is_empty)
                    {
                        "generic"
                    } else {
                        ""
                    }
                )),
        )?;
        self.run(
            self.llvm_tool("llvm-objcopy")
                .arg(format!("--update-section=.llvm.offloading={}", packed.display()))
                .args([&small, &object]),
        )?;
        Ok(object)
    }

    /// One object with so many kernels, each with a loop of its own and what a constant is good for.
    pub(super) fn kernels(&self, count: usize, options: &[&str]) -> Result<PathBuf> {
        let kernels: String = (0..count)
            .map(|number| {
                format!(
                    "void kernel{number}(double *a, int m, double f) {{\n\
                     #pragma omp target teams distribute parallel for map(tofrom : a[:m])\n\
                     for (int i = 0; i < m; i++) {{\n\
                     double sum = 0;\n\
                     for (int j = 0; j < {}; j++) sum += a[i] * f + j * {number}.5;\n\
                     if (i % m) a[i] = sum;\n\
                     }}\n}}\n",
                    3 + number % 5
                )
            })
            .collect();
        let form = if options.is_empty() { "native" } else { "bitcode" };
        let file = self.folder.join(format!("kernels-{form}.cpp"));
        write(&file, &(kernels + "int main() {}\n"))?;
        let object = file.with_extension("o");
        let mut clang = self.clang();
        clang.args(["-O2", "-c"]).arg(&file).arg("-o").arg(&object);
        self.run(clang.args(self.openmp.compile_options()).args(options))?;
        Ok(object)
    }

    /// As many objects, each with a target region or each without device code, and one with `main`.
    pub(super) fn objects(&self, count: usize, device_code: bool) -> Result<Vec<PathBuf>> {
        let (name, source) = match device_code {
            true => ("region", REGION),
            false => ("host", HOST_ONLY),
        };
        let template = self.compile(name, source, device_code)?;
        let folder = self.folder.join(format!("{name}-objects"));
        fs::create_dir_all(&folder)?;
        let mut objects = vec![self.compile("main", "int main() { return 0; }\n", false)?];
        for number in 0..count {
            let object = folder.join(format!("{number:05}.o"));
            self.copy_numbered(&template, number, &object)?;
            objects.push(object);
        }
        Ok(objects)
    }

    /// A program of `needed` functions with target regions, and the archive that holds these among `members`.
    pub(super) fn archive(&self, members: usize, needed: usize) -> Result<Vec<PathBuf>> {
        let region = self.compile("region", REGION, true)?;
        let host = self.compile("host", HOST_ONLY, false)?;
        let folder = self.folder.join("archive-members");
        fs::create_dir_all(&folder)?;
        let distance = members / needed;
        let mut list = Vec::new();
        let (mut declarations, mut calls) = (String::new(), String::new());
        for number in 0..members {
            let member = folder.join(format!("{number:05}.o"));
            let wanted = number % distance == 0;
            self.copy_numbered(if wanted { &region } else { &host }, number, &member)?;
            if wanted {
                declarations += &format!("int {}(int);\n", mangled(number));
                calls += &format!(" + {}(1)", mangled(number));
            }
            list.push(member);
        }
        // Names as in the objects, which are C++. With device code of its own, if only an empty image:
        // members of an archive alone make no image.
        let main = self.compile(
            "archive-main",
            &format!("extern \"C\" {{\n{declarations}}}\nint main() {{ return 0{calls}; }}\n"),
            true,
        )?;
        let archive = self.folder.join("libmembers.a");
        if archive.exists() {
            fs::remove_file(&archive)?;
        }
        self.run(self.llvm_tool("llvm-ar").arg("rcs").arg(&archive).args(&list))?;
        Ok(vec![main, archive])
    }

    /// Compiles C++. Clang puts device code, if only an empty image, into every object that is compiled for a
    /// device.
    fn compile(&self, name: &str, source: &str, device_code: bool) -> Result<PathBuf> {
        let file = self.folder.join(format!("{name}.cpp"));
        write(&file, source)?;
        let object = file.with_extension("o");
        let mut clang = self.clang();
        clang.args(["-O2", "-c"]).arg(&file).arg("-o").arg(&object);
        if device_code {
            clang.args(self.openmp.compile_options());
        }
        self.run(&mut clang)?;
        Ok(object)
    }

    /// Copies an object whose symbols, those of the host and of the device inside, get another name of the
    /// same length.
    fn copy_numbered(&self, template: &Path, number: usize, object: &Path) -> Result<()> {
        let mut bytes = fs::read(template)?;
        let new = numbered(number);
        let mut position = 0;
        while let Some(bytes_there) = bytes.get(position..position + NAME.len()) {
            if bytes_there == NAME.as_bytes() {
                bytes[position..position + NAME.len()].copy_from_slice(new.as_bytes());
            }
            position += 1;
        }
        fs::write(object, bytes).with_context(|| format!("cannot write `{}`", object.display()))
    }

    pub(super) fn run(&self, command: &mut Command) -> Result<()> {
        let output = command
            .output()
            .with_context(|| format!("cannot run `{}`", shown(command)))?;
        ensure!(
            output.status.success(),
            "`{}` failed: {}",
            shown(command),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }
}

fn mangled(number: usize) -> String {
    let name = numbered(number);
    format!("_Z{}{name}i", name.len())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}
