"""Compiles one function of JAX for a device that is not there, up to its memory plan.

peakgate starts it with the path of a request, a JSON object. XLA writes the plan into
the request's folder "dump"; the answer, a JSON object too, is written before each
stage that may end the process, and for the last time with what came of it.
"""

import inspect
import json
import os
import sys
import threading
import time
import traceback

WANTED = "want (jitted function, arguments) or (jitted function, arguments, keyword arguments)"


class Refused(Exception):
    """What the user has to change: the message is shown as it is."""


class Answer:
    def __init__(self, path):
        self.path, self.fields, self.ending = path, {}, threading.Lock()

    def write(self, **fields):
        self.fields.update(fields)
        with open(self.path + ".part", "w") as f:
            json.dump(self.fields, f)
        os.replace(self.path + ".part", self.path)

    def end(self, **fields):
        """Ends the process: what is still being compiled is not waited for."""
        self.ending.acquire()  # for good: the first to come ends it
        self.write(ended=True, **fields)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def versions(packages):
    from importlib import metadata

    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return found


def wanted():
    """Gives the libtpu that jax itself asks for."""
    from importlib import metadata

    for line in metadata.requires("jax") or []:
        package, _, extra = line.partition(";")
        if package.startswith("libtpu") and "tpu" in extra:
            return package.strip()
    return ""


def set_flags(flags):
    """Puts ours after the user's, of whom the program may be one: the last one counts."""
    given = os.environ.get("XLA_FLAGS", "")
    if given and not given.lstrip().startswith("-"):
        try:
            with open(given) as f:
                given = f.read()
        except OSError as e:
            raise Refused("XLA_FLAGS names a file that cannot be read: %s" % e)
    if not given.endswith(flags):
        os.environ["XLA_FLAGS"] = (given.strip() + " " + flags).strip()


def load(name):
    """Gives what module:function or FILE.py:function names."""
    import importlib
    import importlib.util

    module, _, function = name.rpartition(":")
    if module.endswith(".py"):
        path = os.path.abspath(module)
        if not os.path.isfile(path):
            raise Refused("there is no file %s" % module)
        sys.path.insert(0, os.path.dirname(path))
        module = os.path.basename(path)[:-3]
        spec = importlib.util.spec_from_file_location(module, path)
        loaded = sys.modules[module] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
    else:
        loaded = importlib.import_module(module)
    for part in function.split("."):
        if not hasattr(loaded, part):
            raise Refused("%s has no %s" % (module, function))
        loaded = getattr(loaded, part)
    if not callable(loaded):
        raise Refused("%s is no function; %s of one" % (function, WANTED))
    return loaded


def devices_of(request):
    import jax

    if request["platform"] == "cpu":
        return jax.devices("cpu")
    from jax.experimental import topologies

    return topologies.get_topology_desc(request["topology"], request["platform"], **request["options"]).devices


def know_gpus():
    """Has callbacks to the host lowered for a GPU: JAX asks which of its GPUs are meant."""
    from jax._src import xla_bridge

    real = xla_bridge.canonicalize_platform

    def canonicalize_platform(platform):
        return "cuda" if platform == "gpu" else real(platform)

    xla_bridge.canonicalize_platform = canonicalize_platform


def forget_callbacks(lowered):
    """Has them compiled as calls of no function: nothing runs, and only a client with devices takes functions."""
    arguments = getattr(getattr(lowered, "_lowering", None), "compile_args", {})
    if "host_callbacks" in arguments:
        arguments["host_callbacks"] = []


def call(function, devices):
    """Gives the jitted function and its arguments, in shapes."""
    given = function(devices) if inspect.signature(function).parameters else function()
    if not isinstance(given, tuple) or len(given) not in (2, 3) or not isinstance(given[1], (tuple, list)):
        told = [type(v).__name__ for v in given] if isinstance(given, tuple) else type(given).__name__
        raise Refused("it returns %s; %s" % (told, WANTED))
    jitted, args, kwargs = given if len(given) == 3 else given + ({},)
    if not isinstance(kwargs, dict):
        raise Refused("its keyword arguments are %s; want a dict" % type(kwargs).__name__)
    if not hasattr(jitted, "lower"):
        raise Refused("it returns a %s that is not jitted; wrap it in jax.jit" % type(jitted).__name__)
    return jitted, shapes(tuple(args), devices), shapes(kwargs, devices)


def shapes(tree, devices):
    """Puts shapes in the place of arrays that lie on devices of the host. Others stay:
    nothing is computed with them."""
    import jax

    def shape(leaf):
        sharding = getattr(leaf, "sharding", None)
        if not isinstance(sharding, jax.sharding.Sharding) or sharding.device_set <= set(devices):
            return leaf
        if isinstance(leaf, jax.ShapeDtypeStruct) or len(sharding.device_set) > 1:
            raise Refused("an argument lies on %s; make its sharding of the devices that the function is given" % sorted(map(str, sharding.device_set))[0])
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if leaf.committed else leaf

    return jax.tree_util.tree_map(shape, tree)


class Dump:
    """The plans that XLA writes from now on."""

    def __init__(self, request):
        self.folder, self.platform = request["dump"], request["platform"]
        self.before = self.files()

    def files(self):
        return set(os.listdir(self.folder))

    def plan(self):
        """Gives the name of the plan, if it is written to its end."""
        names = sorted(n for n in self.files() - self.before if n.endswith("after_optimizations.hlo.pb"))
        # What the host compiles for itself meanwhile is none of it.
        names = [n for n in names if n.endswith("cpu_after_optimizations.hlo.pb") == (self.platform == "cpu")]
        return next((n for n in names if whole(os.path.join(self.folder, n))), "")

    def settled(self, name):
        """Tells that nothing that is known of memory follows: libtpu compares the plan
        with the device's memory before it writes the next file."""
        return self.platform != "tpu" or name[: -len(".hlo.pb")] + "_after_buffer_assignment.hlo.pb" in self.files()

    def watch(self, answer):
        """Ends the process once the plan is there: code is generated for minutes more."""
        while True:
            name = self.plan()
            if name and self.settled(name):
                answer.end(plan=name)
            time.sleep(0.02)


def whole(path):
    """Tells whether an HloProto ends where its last field does, the assignment (3)."""
    with open(path, "rb") as f:
        data = f.read()
    at = field = 0
    while at < len(data):
        tag, at = varint(data, at)
        size, at = varint(data, at)
        if tag & 7 != 2:
            return False
        at, field = at + size, tag >> 3
    return at == len(data) and field == 3


def varint(data, at):
    value = shift = 0
    while at < len(data):
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            break
    return value, at


def place(error):
    """Gives the innermost line of the user's own."""
    here, found = os.getcwd() + os.sep, None
    for frame in traceback.extract_tb(error.__traceback__):
        path = os.path.abspath(frame.filename)
        if path.startswith(here) and "site-packages" not in path and os.path.isfile(path):
            found = {"file": path[len(here) :], "line": frame.lineno}
    if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(here):
        found = {"file": error.filename[len(here) :], "line": error.lineno or 1}
    return found


def main():
    with open(sys.argv[1]) as f:
        request = json.load(f)
    answer = Answer(request["answer"])
    sys.argv[:] = [request["function"]]
    if sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
        del sys.path[0]  # this folder is none of the program's
    sys.path.insert(0, os.getcwd())
    sys.dont_write_bytecode = True
    dump = None
    try:
        answer.write(stage="jax")
        import jax

        answer.write(versions=versions(request["packages"]), wanted=wanted())

        set_flags(request["flags"])
        answer.write(stage="import")
        function = load(request["function"])
        set_flags(request["flags"])
        jax.config.update("jax_platforms", "cpu")  # what the program computes, it computes here
        answer.write(stage="device")
        devices = list(devices_of(request))
        answer.write(stage="function", devices=len(devices))
        jitted, args, kwargs = call(function, devices)
        set_flags(request["flags"])
        answer.write(stage="lower")
        jax.clear_caches()
        know_gpus()
        with jax.default_device(devices[0]):
            lowered = jitted.lower(*args, **kwargs)
        forget_callbacks(lowered)
        answer.write(stage="compile")
        dump = Dump(request)
        threading.Thread(target=dump.watch, args=(answer,), daemon=True).start()
        lowered.compile()
        answer.end(plan=dump.plan())
    except BaseException as e:
        text = str(e)
        if not isinstance(e, Refused):
            traceback.print_exc()
            text = "%s: %s" % (type(e).__name__, text)
        answer.end(error=text[:4000], refused=isinstance(e, Refused), place=place(e), plan=dump.plan() if dump else "")


main()
