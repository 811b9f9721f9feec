"""Stands in for TensorFlow: what the profile of an allocator is asked of."""

__version__ = "2.0"


class errors:
    class ResourceExhaustedError(Exception):
        pass
