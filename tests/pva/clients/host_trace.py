"""A walk over a host trace: time by label."""

import pva


def walk(event: pva.Event, found):
    found[event.label] = found.get(event.label, 0) + event.duration
    for child in event.children():
        walk(child, found)


def main(trace):
    opened, found = pva.openTrace(trace), {}
    for process in opened.processes:
        for thread in opened.process(process.pid).threads:
            for event in process.thread(thread.tid).events:
                walk(event, found)
    return found
