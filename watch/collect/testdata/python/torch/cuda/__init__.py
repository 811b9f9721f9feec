from . import memory  # noqa: F401

_queued = []
_initialized = False


def _lazy_call(f, **kwargs):
    if _initialized:
        f()
    else:
        _queued.append(f)


def init():
    global _initialized
    if _initialized:
        return
    _initialized = True
    for f in _queued:
        f()


def is_initialized():
    return _initialized
