"""Runs PyTorch over pretend devices and sees what is read from them, for peakgate.

The hook that records the allocator's history runs this before torch is imported; its
names are used here, and some are replaced.
"""

import ctypes
import glob
import json
import sysconfig
import threading
import time

_MAX_EVENTS = 1_000_000  # of each device; some 1 GB of host memory when they are written
_MAX_WAITS = 10_000  # reads since one came from a new line: a loop that waits makes them soon
_MAX_LINES = 1000
_DEADLINE = float(os.environ.get("PEAKGATE_DRYRUN_DEADLINE", "inf"))  # seconds since 1970
_EXIT = 70  # of a program that is ended here: EX_SOFTWARE

# Kept open for the life of the process. A library that is loaded already is found by
# its name before any search path.
_LIBRARIES = [ctypes.CDLL(p, ctypes.RTLD_GLOBAL) for p in os.environ.get("PEAKGATE_DRYRUN_LIBRARIES", "").split(os.pathsep) if p]

_STDLIB = tuple({sysconfig.get_path(n) + os.sep for n in ("stdlib", "platstdlib")})


def _users(code):
    """Tells whether code is the user's own: of no package and not of Python itself."""
    name = code.co_filename
    if name in ("<stdin>", "<string>") or "/ipykernel_" in name or name.startswith("<ipython-input-"):
        return True
    if not name.endswith(".py") or name.startswith("<") or "/site-packages/" in name or "/dist-packages/" in name:
        return False
    return not name.startswith(_STDLIB) and os.path.dirname(name) != _HERE


def _place(frame, line=None):
    """The file, line and function of a frame."""
    name = frame.f_code.co_filename
    if not name.startswith("<"):
        name = os.path.abspath(name)
    return (name, line or frame.f_lineno or 0, frame.f_code.co_name)


def _told(place):
    return place and {"file": place[0][-1000:], "line": place[1], "function": place[2][:200]}


class _DryRun(_Recorder):
    """What the history does not tell: reads, and why a program ended."""

    def __init__(self, torch):
        super().__init__(torch)
        self.report = {"torch": str(torch.__version__), "root": os.path.dirname(torch.__file__)}
        self.lines = {}  # by the user's line and the innermost one
        self.waits = 0
        self.streams = {}  # by the user's line, how often a block is used by another stream
        self.users = {}  # by code: whether it is the user's
        self.ended = threading.Event()
        import atexit

        atexit.register(self.write)

    def begin(self):
        super().begin()
        open(os.path.join(_OUT, self.name + ".began"), "w").close()
        self.cuda = ctypes.CDLL("libcuda.so.1")
        for name in ("pretend_reads", "pretend_launches"):
            getattr(self.cuda, name).restype = ctypes.c_long
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long)
        self.callback = kind(self.read)
        self.cuda.pretend_on_read(self.callback)
        self.keep_history()
        self.see_streams()
        self.catch_exit()
        self.report["watched"] = True
        if _DEADLINE != float("inf"):
            threading.Thread(target=self.wait, name="peakgate", daemon=True).start()
        try:  # torch.compile has no business in here
            from torch._C._dynamo.eval_frame import skip_code

            for f in (self.read, self.user, _users, _place):
                skip_code(f.__code__)
        except Exception:
            pass

    def keep_history(self):
        """A program that records a history of its own finds ours in its dumps."""
        memory = self.torch.cuda.memory
        ours = memory._record_memory_history

        def _record_memory_history(*args, **kwargs):
            pass

        memory._record_memory_history = _record_memory_history
        if getattr(self.torch.cuda, "_record_memory_history", None) is ours:
            self.torch.cuda._record_memory_history = _record_memory_history

    def see_streams(self):
        """A block that another stream uses is free once that stream is done with it."""
        plain = self.torch.Tensor.record_stream

        def record_stream(tensor, stream):
            frame = self.user(sys._getframe().f_back)
            place = frame and _place(frame)
            if place in self.streams or len(self.streams) < _MAX_LINES:
                self.streams[place] = self.streams.get(place, 0) + 1
            return plain(tensor, stream)

        self.torch.Tensor.record_stream = record_stream

    def catch_exit(self):
        """os._exit ends a process without atexit."""
        self.exit = os._exit

        def _exit(status):
            self.end()
            self.exit(status)

        os._exit = _exit

    def user(self, frame):
        """The innermost frame of the user's own."""
        users = self.users
        while frame is not None:
            code = frame.f_code
            mine = users.get(code)
            if mine is None:
                mine = users[code] = _users(code)
            if mine:
                return frame
            frame = frame.f_back
        return None

    def read(self, source, size, ordinal):
        """Called by the library at each read. Nothing may be raised from here."""
        try:
            inner = sys._getframe().f_back
            if inner is None:  # a thread of autograd's: it works for the one that waits
                inner = sys._current_frames().get(threading.main_thread().ident)
            frame = self.user(inner)
            line = frame and (frame.f_code, frame.f_lineno)
            key = (line, inner and (inner.f_code, inner.f_lineno))
            known = self.lines.get(key)
            self.waits += 1
            if known is None and len(self.lines) < _MAX_LINES:
                known = self.lines[key] = [0, 0, frame and _place(frame)]
                self.waits = 0
            if known is not None:
                known[0] += 1
                known[1] = max(known[1], size)
            if self.waits == _MAX_WAITS and os.getpid() == self.pid:
                self.stop("waits", frame and _place(frame))
        except Exception as e:
            _note("cannot tell who read: %r" % e)

    def wait(self):
        if self.ended.wait(max(0.0, _DEADLINE - time.time())) or os.getpid() != self.pid:
            return
        frame = self.user(sys._current_frames().get(threading.main_thread().ident))
        self.stop("time", frame and _place(frame))

    def stop(self, why, place):
        """Ends a program that does not end."""
        self.report.update(stopped=why, at=_told(place))
        self.write()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        self.exit(_EXIT)

    def end(self):
        if not self.ended.is_set():
            super().end()
            self.write()

    def write(self):
        """Writes the report, once: also of a process that uses no device."""
        if os.getpid() != self.pid or self.ended.is_set():
            return
        self.ended.set()
        try:
            self.tell()
            path = os.path.join(_OUT, self.name + ".json")
            with open(path + ".part", "w") as f:
                json.dump(self.report, f)
            os.replace(path + ".part", path)
        except Exception as e:
            _note("cannot write the report: %r" % e)

    def tell(self):
        error = getattr(sys, "last_value", None)
        if error is not None:  # it ended the program
            text = str(error).strip().splitlines() or [""]
            self.report["error"] = ("%s: %s" % (type(error).__name__, text[0])).strip(": ")[:500]
            place, trace = None, getattr(sys, "last_traceback", None)
            while trace is not None:
                if _users(trace.tb_frame.f_code):
                    place = _place(trace.tb_frame, trace.tb_lineno)
                trace = trace.tb_next
            self.report["error_at"] = _told(place)
        if not hasattr(self, "cuda"):
            return
        self.report.update(reads=self.cuda.pretend_reads(), kernels=self.cuda.pretend_launches())
        # The cache is empty where the program begins; generated code is a file of it.
        self.report["compiled"] = bool(glob.glob(os.path.join(os.environ.get("TORCHINDUCTOR_CACHE_DIR", ""), "*", "*.py")))
        sums = {}
        for count, size, place in list(self.lines.values()):
            line = sums.setdefault(place, {"at": _told(place), "count": 0, "bytes": 0})
            line["count"] += count
            line["bytes"] = max(line["bytes"], size)
        self.report["lines"] = list(sums.values())
        self.report["streams"] = [{"at": _told(p), "count": n} for p, n in list(self.streams.items())]


def _prepare(torch):
    """Has the history begin when CUDA is initialised, whoever does that."""
    recorder = _DryRun(torch)

    def begin():
        try:  # in a fork of the process that imported torch, it is another's
            (recorder if recorder.pid == os.getpid() else _DryRun(torch)).begin()
        except Exception as e:
            _note("cannot record the history: %r" % e)

    torch.cuda._lazy_call(begin)
