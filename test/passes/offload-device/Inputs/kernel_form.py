"""Prints what makes a function a kernel, in the form that Clang and our passes share.

Usage: kernel_form.py MODULE.ll: for each kernel of the module, in order, under a name by its place: linkage, visibility, calling
convention, parameters, attributes, metadata, and the constants that the runtime looks up for it.
"""

import re
import sys

KERNEL = r"@__omp_offloading_[0-9a-z]+_[0-9a-z]+_\w+_l[0-9]+"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    definitions = re.findall(rf"^(define [^@\n]*)({KERNEL})(\(.*\)) (.*)\{{$", text, re.MULTILINE)
    attributes = dict(re.findall(r"^attributes (#[0-9]+) = \{ (.*) \}$", text, re.MULTILINE))
    for place, (before, name, parameters, after) in enumerate(definitions):
        # Clang's release builds drop the names of parameters.
        parameters = re.sub(r"%[\w.]+", "%", parameters)
        print(f"{before}@kernel{place}{parameters}")
        group = re.search(r"#[0-9]+", after).group()
        for attribute in sorted(re.findall(r'"[^"]+"(?:="[^"]*")?|\S+', attributes[group])):
            print("  attribute", attribute)
        for key, value in re.findall(rf"^!\d+ = !\{{ptr {name}, (!\"\w+\"), (i32 \d+)\}}$", text, re.MULTILINE):
            print("  metadata", key, value)
        for suffix in ("_kernel_environment", "_dynamic_environment"):
            for constant in re.findall(rf"^{name}{suffix} = (.*)$", text, re.MULTILINE):
                # The location's private name.
                constant = re.sub(r"@[0-9]+", "@location", constant)
                print(f"  {suffix}", constant.replace(name, f"@kernel{place}"))
    if not definitions:
        sys.exit("no kernel")


main()
