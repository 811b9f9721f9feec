"""Records the history of PyTorch's CUDA allocator, for peakgate.

Python runs this at its start, before the program. Nothing is done before torch, or
the module that an extension is for, is imported; nothing is printed, and no fault
here reaches the program.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_OUT = os.environ.get("PEAKGATE_CAPTURE_DIR", "")
_MODULE = os.environ.get("PEAKGATE_CAPTURE_MODULE", "torch")
_MAX_EVENTS = 200_000


def _note(text):
    """Leaves a line for peakgate, one file a process that has any."""
    try:
        with open(os.path.join(_OUT, "hook-%d.log" % os.getpid()), "a") as f:
            f.write(text.replace("\n", " ")[:1000] + "\n")
    except Exception:
        pass


def _extend():
    """Runs the file beside this one, if there is one: it may replace what is here."""
    path = os.path.join(_HERE, "extension.py")
    try:
        if os.path.exists(path):
            with open(path) as f:
                exec(compile(f.read(), path, "exec"), globals())
    except Exception as e:
        _note("cannot be extended: %r" % e)


class _Finder:
    """Sees the import of the module, which the other finders do."""

    def find_spec(self, name, path=None, target=None):
        if name != _MODULE:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                self._follow(spec)
                return spec
        return None

    def _follow(self, spec):
        try:
            loader = spec.loader
            run = loader.exec_module

            def exec_module(module):
                try:
                    del loader.exec_module  # the loader is again what it was
                except Exception:
                    pass
                _extend()
                run(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                try:
                    _prepare(module)
                except Exception as e:
                    _note("cannot record the history: %r" % e)

            loader.exec_module = exec_module
        except Exception as e:
            _note("cannot see the import of %s: %r" % (_MODULE, e))


def _prepare(torch):
    """Has the history begin when CUDA is initialised, whoever does that."""
    torch.cuda._lazy_call(lambda: _begin(torch))


def _begin(torch):
    try:
        _Recorder(torch).begin()
    except Exception as e:
        _note("cannot record the history: %r" % e)


class _Recorder:
    def __init__(self, torch):
        self.torch = torch
        self.pid = os.getpid()
        rank = os.environ.get("RANK") or os.environ.get("SLURM_PROCID") or os.environ.get("OMPI_COMM_WORLD_RANK") or ""
        self.name = "pid%d" % self.pid
        if rank.isdigit():
            self.name = "rank%d-%s" % (int(rank), self.name)
        self.oom = False

    def begin(self):
        self.record()
        import atexit

        atexit.register(self.end)
        util = sys.modules.get("multiprocessing.util")
        if util is not None:  # a child of multiprocessing ends without atexit
            util.Finalize(None, self.end, exitpriority=100)
        self.catch_sigterm()

    def record(self):
        record = self.torch.cuda.memory._record_memory_history
        try:
            record(enabled="all", context="all", stacks="python", max_entries=_MAX_EVENTS)
        except TypeError:  # torch 2.0
            record(True, trace_alloc_max_entries=_MAX_EVENTS, trace_alloc_record_context=True)
        try:
            self.torch._C._cuda_attach_out_of_memory_observer(self.out_of_memory)
        except Exception as e:
            _note("cannot see when memory runs out: %r" % e)

    def catch_sigterm(self):
        """SIGTERM ends a program without atexit. One that handles it does not need us."""
        import signal
        import threading

        if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            return

        def handle(number, frame):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            if os.getpid() == self.pid:
                self.end()
            os.kill(os.getpid(), signal.SIGTERM)

        signal.signal(signal.SIGTERM, handle)

    def end(self):
        self.dump(self.name + ".pickle")

    def out_of_memory(self, *args):
        if not self.oom:  # a program may try again and again
            self.oom = True
            self.dump("oom-" + self.name + ".pickle")

    def dump(self, name):
        if os.getpid() != self.pid:
            return  # a fork of the process that has the history
        try:
            path = os.path.join(_OUT, name)
            self.torch.cuda.memory._dump_snapshot(path + ".part")
            os.replace(path + ".part", path)
        except Exception as e:
            _note("cannot write %s: %r" % (name, e))


def _chain():
    """Runs the sitecustomize that this one stands before, as Python would have."""
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != _HERE]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as e:
        if e.name != "sitecustomize":
            raise
    finally:
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


def _mark():
    """Tells peakgate that Python has run this: -I, -E and -S shut it out."""
    path = os.path.join(_OUT, "loaded")
    try:
        if not os.path.exists(path):
            open(path, "a").close()
    except Exception:
        pass


if os.path.isdir(_OUT):
    _mark()
    sys.meta_path.insert(0, _Finder())
_chain()
