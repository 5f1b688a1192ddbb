"""Runs the commands of a page of the documentation and compares what they print with what the page says.

A fenced block `console` is a session: each line that begins with `$ ` is a command, the lines after it are what it prints; `...` stands for
anything, on its own for any lines. A block with `file=NAME` behind its language is a file. A block `console`, `sh` or `bash` that is not run
says why in a comment right before it: `<!-- not run: REASON -->`, or `<!-- run by: TEST -->`.

Each command runs in a shell of its own, in the folder given. The page writes of LLVM 19, of /usr/lib/llvm-19, of /usr/lib/offloom-19 and of
dist/llvm-19: these become the LLVM under test and the installation under test (dist/llvm-19 not where the folder given holds it). Otherwise
each command runs as it stands there, but for one thing: where Clang finds no libomp.so of its own, as LLVM 22's beside libomp-19-dev, and a
command has `-B` in the place of our configuration file, it gets the -L that getting-started.md names for that. With `--gpu`, commands see the
LD_LIBRARY_PATH that this program has, which may lead to the virtual GPU.
"""

import os
import pathlib
import re
import subprocess
import sys

FENCE = re.compile(r"^```(\w*) ?(.*)$")
COMMENT = re.compile(r"^<!-- (not run|run by): (.+) -->$")
SHELLS = ("console", "sh", "bash", "shell")


def blocks(text):
    """(language, words behind it, lines, comment before it) of each fenced block."""
    found, lines, before = [], None, ""
    for line in text.splitlines():
        fence = FENCE.match(line)
        if lines is None and fence:
            language, words, lines = fence.group(1), fence.group(2), []
        elif lines is not None and line == "```":
            found.append((language, words, lines, before))
            lines, before = None, ""
        elif lines is not None:
            lines.append(line)
        elif line:
            before = line
    return found


def check_all(root, test):
    """Every block with commands is a session of a page that `test` runs, or says why it is not run."""
    pages = sorted([root / "README.md", *(root / "docs").rglob("*.md")])
    wrong = []
    for page in pages:
        text, name = page.read_text(encoding="utf-8"), page.relative_to(root)
        for language, _, lines, before in blocks(text):
            if language not in SHELLS or COMMENT.match(before):
                continue
            if language != "console":
                wrong.append(f"{name}: `{lines[0]}` is neither run nor says why")
            elif f"/{name} " not in test:
                wrong.append(f"{name}: has sessions, and no test runs the page")
        # A block without a fence has no language: nobody would know that it holds commands.
        if "docs/user" in str(name) and re.search(r"\n\n    \S", re.sub(r"(?ms)^```.*?^```$", "", text)):
            wrong.append(f"{name}: a block without a fence")
    sys.exit("\n".join(wrong) if wrong else 0)


def steps(lines):
    """(command, printed lines) of a session."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
        else:
            sys.exit(f"a session begins with a command, not with `{line}`")
    return found


def pattern(expected):
    """What the printed lines have to match as a whole."""
    parts = []
    for line in expected:
        if line == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(re.escape(line).replace(r"\.\.\.", r"[^\n]*") + r" *\n")
    return "".join(parts)


def main():
    if sys.argv[1] == "--all-pages":
        check_all(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]).read_text(encoding="utf-8"))
    on_gpu = sys.argv[1] == "--gpu"
    dist, llvm_bin, folder, page = sys.argv[2:] if on_gpu else sys.argv[1:]
    llvm = pathlib.Path(llvm_bin).parent
    major = re.search(r"llvm-(\d+)", llvm_bin).group(1)
    folder = pathlib.Path(folder)

    def here(text):
        text = re.sub(r"(?<=-)19\b", major, text)
        text = re.sub(rf"/usr/lib/llvm-{major}\b", lambda _: str(llvm), text)
        own = (folder / f"dist/llvm-{major}").exists()
        return re.sub(rf"/usr/lib/offloom-{major}" + ("" if own else rf"|dist/llvm-{major}"), lambda _: dist, text)

    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    programs = {f"{name}-{major}": f"{llvm_bin}/{name}" for name in ("clang", "clang++", "opt")}
    programs |= {f"{name}-{major}": f"{dist}/bin/{name}" for name in ("offloom", "wrapgen")}
    for name, target in programs.items():
        if not (tools / name).is_symlink():
            (tools / name).symlink_to(target)
    environment = {
        **os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(folder), "LC_ALL": "C",
        "OMP_TARGET_OFFLOAD": "mandatory", "OFFLOOM_JIT_CACHE_MODE": "rw",
        # Open MPI asks an administrator whether this is meant, and has fewer processors than processes where tests run.
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }
    for name in [name for name in environment if name.startswith("XDG_") or (name == "LD_LIBRARY_PATH" and not on_gpu)]:
        del environment[name]
    without_configuration = environment
    if not (llvm / "lib/libomp.so").exists():
        without_configuration = {
            **environment, "CCC_OVERRIDE_OPTIONS": f"# +-L{dist}/lib/openmp +-Wno-unused-command-line-argument"}

    count = 0
    for language, words, lines, before in blocks(pathlib.Path(page).read_text(encoding="utf-8")):
        if words.startswith("file="):
            file = folder / words.removeprefix("file=")
            file.parent.mkdir(exist_ok=True)
            file.write_text(here("\n".join(lines)) + "\n", encoding="utf-8")
        if language != "console" or COMMENT.match(before):
            continue
        for command, expected in steps(lines):
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", here(command)], cwd=folder,
                env=without_configuration if " -B " in command else environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=500, check=False)
            if done.returncode or not re.fullmatch(here(pattern(expected)), done.stdout):
                sys.exit(f"{page}: `{command}` ended with {done.returncode} and printed\n{done.stdout}{done.stderr}\n"
                         f"instead of\n" + "\n".join(expected))
            count += 1
    print(f"{count} commands of {page} did what it says")


if __name__ == "__main__":
    main()
