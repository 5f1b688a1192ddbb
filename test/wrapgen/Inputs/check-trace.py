"""Checks a Chrome trace: its steps in order, none overlapping, and for each `step=program` that this program ran within that step.

Usage: check-trace.py <trace> <step>,<step>... [<step>=<program>]...
"""

import json
import sys

trace, steps, *programs = sys.argv[1:]
with open(trace, encoding="utf-8") as file:
    events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]


def end(event):
    return event["ts"] + event["dur"]


found = sorted((event for event in events if event["cat"] == "step"), key=lambda event: (event["ts"], end(event)))
names = [event["name"] for event in found]
assert names == steps.split(","), names
for before, after in zip(found, found[1:]):
    assert end(before) <= after["ts"] + 1, (before, after)
for pair in programs:
    step, program = pair.split("=")
    outer = next(event for event in found if event["name"] == step)
    inner = [event for event in events if event["cat"] == "program" and event["name"] == program]
    assert inner, f"{program} did not run"
    for event in inner:
        assert outer["ts"] <= event["ts"] and end(event) <= end(outer) + 1, (outer, event)
        assert program in event["args"]["detail"], event
