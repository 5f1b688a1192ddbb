"""Compares two modules in textual form: fails with a diff unless they are the same but for their names and numbering.

usage: same_module.py EXPECTED ACTUAL [FEATURE...]

Attribute groups stand in the text by number, and LLVM numbers them as they come; here each reference is replaced by its group's
contents. The target features named behind the files, or `all`, are left out of both modules.
"""

import difflib
import re
import sys

GROUP = re.compile(r"^attributes (#\d+) = \{ (.*) \}$")


def canonical(path, ignored):
    """The module's lines, without those that name the file and without attribute groups."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    groups = {}
    for line in lines:
        match = GROUP.match(line)
        if match:
            groups[match[1]] = "{ " + without_features(match[2], ignored) + " }"
    kept = []
    for line in lines:
        if line.startswith(("; ModuleID", "source_filename", "; Function Attrs:")) or GROUP.match(line):
            continue
        kept.append(re.sub(r"#\d+\b", lambda reference: groups.get(reference[0], reference[0]), line))
    return kept


def without_features(attributes, ignored):
    if ignored == ["all"]:
        return re.sub(r' "target-features"="[^"]*"', "", attributes)

    def filtered(match):
        features = [feature for feature in match[1].split(",") if feature not in ignored]
        return f'"target-features"="{",".join(features)}"'

    return re.sub(r'"target-features"="([^"]*)"', filtered, attributes)


def main():
    expected_path, actual_path, *ignored = sys.argv[1:]
    expected, actual = canonical(expected_path, ignored), canonical(actual_path, ignored)
    difference = list(difflib.unified_diff(expected, actual, expected_path, actual_path, n=0, lineterm=""))
    if difference:
        sys.exit("\n".join(difference))
    functions = sum(line.startswith("define internal ") for line in expected)
    print(f"same, with {functions} internal functions")


if __name__ == "__main__":
    main()
