"""Measures what offload-internalize lets LLVM's optimiser drop of the packaged device runtime, and checks how the figures relate.

usage: reduction.py LLVM_BIN PLUGIN RUNTIME TRIPLE ARCHITECTURE SOURCE FOLDER

Prints one line for each way to treat a program linked with all of the runtime: definitions, bytes of bitcode and bytes of the code
that LLVM generates of it.
"""

import os
import re
import subprocess
import sys

# What offload-internalize keeps of the runtime although no kernel asks for it.
LOOKED_UP = {"__omp_rtl_device_environment", "__omp_rtl_device_memory_pool", "__omp_rtl_device_memory_pool_tracker"}


class Module:
    """A bitcode file, and what it defines."""

    def __init__(self, tools, path):
        self.path = path
        text = tools.output("llvm-dis", path, "-o", "-")
        self.functions = names(r"^define (.*?)@([\w.$]+|\"[^\"]+\")\(", text)
        self.variables = names(r"^@([\w.$]+|\"[^\"]+\") = (?!.*\bexternal )(?!.*\bappending )(.*)$", text, swapped=True)
        self.bytes = os.path.getsize(path)

    def exported(self):
        everything = {**self.functions, **self.variables}
        return {name for name, how in everything.items() if not re.search(r"^(internal|private)\b|\bhidden\b", how)}


def names(pattern, text, swapped=False):
    found = re.findall(pattern, text, re.MULTILINE)
    return {name: how for name, how in found} if swapped else {name: how for how, name in found}


class Tools:
    def __init__(self, llvm_bin, plugin, folder):
        self.llvm_bin, self.plugin, self.folder = llvm_bin, plugin, folder

    def output(self, tool, *arguments):
        command = [os.path.join(self.llvm_bin, tool), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout

    def path(self, name):
        return os.path.join(self.folder, name)

    def optimised(self, module, passes):
        path = self.path(re.sub(r"\W+", "-", passes)[:60] + ".bc")
        self.output("opt", "-load-pass-plugin", self.plugin, f"-passes={passes},verify", module.path, "-o", path)
        return Module(self, path)

    def code_size(self, module, architecture):
        """Bytes of assembly, `None` where LLVM cannot make any: it has no NVPTX code for some of the runtime's atomics."""
        path = module.path + ".s"
        try:
            self.output("llc", "-O2", f"-mcpu={architecture}", "-filetype=asm", module.path, "-o", path)
        except subprocess.CalledProcessError:
            return None
        return os.path.getsize(path)


def main():
    llvm_bin, plugin, runtime, triple, architecture, source, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    tools = Tools(llvm_bin, plugin, folder)
    program_path, whole_path = tools.path("program.bc"), tools.path("whole.bc")
    # Clang 19 cannot read this header of Debian 13's C library for NVIDIA GPUs.
    without_header = [f"-Xopenmp-target={triple}", "-D_BITS_FLOATN_H"]
    tools.output(
        "clang++", "-O2", "-fopenmp", f"-fopenmp-targets={triple}", f"-Xopenmp-target={triple}", f"-march={architecture}",
        *without_header, "-nogpulib", "--offload-device-only", "-c", "-emit-llvm", source, "-o", program_path,
    )
    tools.output("llvm-link", program_path, runtime, "-o", whole_path)
    program, whole = Module(tools, program_path), Module(tools, whole_path)
    kernels = {name for name in program.exported() & set(program.functions) if name.startswith("__omp_offloading_")}
    # The launch looks for kernels and their environments, the first one for the program's variables.
    wanted = kernels | {f"{kernel}_kernel_environment" for kernel in kernels}
    wanted |= {name for name in program.exported() & set(program.variables) if not name.endswith("_environment")}
    told_names = ";".join(f"preserve-gv={name}" for name in sorted(wanted))
    rows = {
        "as linked": whole,
        "globaldce": tools.optimised(whole, "globaldce"),
        "offload-internalize, globaldce": tools.optimised(whole, "offload-internalize,globaldce"),
        "offload-internalize, -O2": tools.optimised(whole, "offload-internalize,default<O2>"),
        "LLVM's internalize told the names, -O2": tools.optimised(
            whole, f"internalize<{told_names}>,default<O2>"
        ),
        "offload-runtime instead of llvm-link, -O2": tools.optimised(
            program, f"offload-runtime<bitcode={runtime}>,default<O2>"
        ),
    }
    sizes = {label: tools.code_size(module, architecture) for label, module in rows.items()}
    for label, module in rows.items():
        code = "no assembly" if sizes[label] is None else f"{sizes[label]} bytes of assembly"
        print(
            f"{triple} {label}: {len(module.functions)} functions, {len(module.variables)} variables, "
            f"{module.bytes} bytes of bitcode, {code}"
        )
    linked, dropped, smallest = (
        rows[label] for label in ("as linked", "offload-internalize, globaldce", "offload-internalize, -O2")
    )
    told = rows["LLVM's internalize told the names, -O2"]
    check("LLVM alone can drop no function", len(rows["globaldce"].functions) == len(linked.functions))
    check("most functions can be dropped", len(dropped.functions) * 4 < len(linked.functions))
    check("most bytes can be dropped", smallest.bytes * 4 < linked.bytes)
    before, after = sizes["as linked"], sizes["offload-internalize, -O2"]
    check("the result can be compiled", after is not None)
    check("most of the code can be dropped", before is None or after * 4 < before)
    check("the program has kernels and a variable", len(wanted) > 2 * len(kernels) > 0)
    check("the runtime finds them", wanted <= smallest.exported())
    check("the runtime finds what it looks up besides", LOOKED_UP <= smallest.exported())
    check("nothing else is exported", smallest.exported() == told.exported())
    called = {"memcmp", "memcpy", "memmove", "memset"}
    check("no other function is left but what code generation may call", set(smallest.functions) - kernels <= called)


def check(what, holds):
    if not holds:
        sys.exit(f"not so: {what}")


if __name__ == "__main__":
    main()
