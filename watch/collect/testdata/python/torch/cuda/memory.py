import os

events = []


def _record_memory_history(enabled="all", context="all", stacks="all", max_entries=0):
    if os.environ.get("PRETEND_TORCH_RAISES"):
        raise RuntimeError("no history here")
    events.append("record %s %s %s %d" % (enabled, context, stacks, max_entries))


def _dump_snapshot(filename):
    with open(filename, "w") as f:
        f.write("\n".join(events) + "\n")
