"""Answers requests for SOAK_MINUTES (10), with a cache that is bounded: the
workload of the nightly soak. It needs nothing but Python."""

import collections
import hashlib
import os
import time

CACHED, BODY, PER_STEP = 4_000, 2_048, 400


class Cache:
    """The newest answers; the oldest go."""

    def __init__(self, size):
        self.size, self.answers = size, collections.OrderedDict()

    def get(self, key):
        if key in self.answers:
            self.answers.move_to_end(key)
        return self.answers.get(key)

    def put(self, key, answer):
        self.answers[key] = answer
        if len(self.answers) > self.size:
            self.answers.popitem(last=False)


def answer(key):
    return hashlib.shake_128(str(key).encode()).digest(BODY)


def main():
    end = time.monotonic() + 60 * float(os.environ.get("SOAK_MINUTES", "10"))
    cache, step, request = Cache(CACHED), 0, 0
    while time.monotonic() < end:
        for _ in range(PER_STEP):
            key = request * 7919 % 10_007 if request % 3 else request
            if cache.get(key) is None:
                cache.put(key, answer(key))
            request += 1
        print(f"step {step}", flush=True)
        step += 1
        time.sleep(0.5)  # a load that the runner does not notice


if __name__ == "__main__":
    main()
