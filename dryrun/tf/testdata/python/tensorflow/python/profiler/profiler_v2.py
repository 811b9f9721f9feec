import os


class ProfilerOptions:
    def __init__(self, **levels):
        self.levels = levels


def start(folder, options):
    if os.environ.get("PRETEND_PROFILER_RAISES"):
        raise RuntimeError("no profiler")
    start.folder, start.levels = folder, options.levels


def stop():
    folder = os.path.join(start.folder, "plugins", "profile", "today")
    os.makedirs(folder)
    with open(os.path.join(folder, "host.xplane.pb"), "w") as f:
        f.write("%s" % sorted(start.levels.items()))
