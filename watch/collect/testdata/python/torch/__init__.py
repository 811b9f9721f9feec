"""A pretend torch: what the hook touches, and notes of what it was asked."""

import os

__version__ = "0.0"

from . import cuda  # noqa: E402,F401


class _C:
    observers = []

    @staticmethod
    def _cuda_attach_out_of_memory_observer(f):
        _C.observers.append(f)


class OutOfMemoryError(RuntimeError):
    pass


def empty(n):
    """Allocates: CUDA is initialised first, as in torch."""
    cuda.init()
    if n > 100:
        for f in _C.observers:
            f(0, n, 0, 0)
        raise OutOfMemoryError("CUDA out of memory")
    cuda.memory.events.append("alloc %d" % n)


if os.environ.get("PRETEND_TORCH_BROKEN"):
    del cuda._lazy_call
