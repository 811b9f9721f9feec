"""Has TensorFlow write a profile of its allocator, for peakgate.

The hook runs this when tensorflow is imported; its names are used here, and some are
replaced.
"""

import json
import traceback


def _prepare(tf):
    _Profile(tf).begin()


class _Profile(_Recorder):
    """The profile of a process, from the import of tensorflow to its end."""

    def __init__(self, tf):
        super().__init__(tf)
        self.tf = tf
        self.folder = os.path.join(_OUT, self.name)
        self.ended = False
        self.report = {"tensorflow": tf.__version__}

    def record(self):
        from tensorflow.python.profiler import profiler_v2

        self.profiler = profiler_v2
        # 2 is the level of the allocator's events.
        options = profiler_v2.ProfilerOptions(host_tracer_level=2, python_tracer_level=0, device_tracer_level=0)
        profiler_v2.start(self.folder, options)
        self.write()
        hook = sys.excepthook

        def failed(kind, error, trace):
            self.failed(error, trace)
            hook(kind, error, trace)

        sys.excepthook = failed

    def failed(self, error, trace):
        """What ended the program, and where in the user's own code."""
        try:
            here, place = os.getcwd() + os.sep, None
            for frame in traceback.extract_tb(trace):
                path = os.path.abspath(frame.filename)
                if path.startswith(here) and "site-packages" not in path and os.path.isfile(path):
                    place = {"file": path[len(here) :], "line": frame.lineno}
            text = "%s: %s" % (type(error).__name__, str(error).split("\n")[0])
            exhausted = isinstance(error, self.tf.errors.ResourceExhaustedError)
            self.report.update(error=text[:1000], exhausted=exhausted, place=place)
            self.write()
        except Exception as e:
            _note("cannot tell what ended the program: %r" % e)

    def write(self):
        path = os.path.join(_OUT, self.name + ".json")
        with open(path + ".part", "w") as f:
            json.dump(self.report, f)
        os.replace(path + ".part", path)

    def end(self):
        if os.getpid() != self.pid or self.ended:
            return  # a fork of the process that has the profile, or the second of its ends
        self.ended = True
        try:
            self.profiler.stop()
            for folder, _, names in os.walk(self.folder):
                for name in names:
                    if name.endswith(".xplane.pb"):
                        os.replace(os.path.join(folder, name), os.path.join(_OUT, self.name + ".xplane.pb"))
        except Exception as e:
            _note("cannot write the profile: %r" % e)
