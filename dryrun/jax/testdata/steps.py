"""Functions for a dry run, right and wrong."""

import functools
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

F32 = jnp.float32


def double(x):
    return 2 * x


def plan():
    """On the first device: 4 KiB in, 4 KiB out."""
    return jax.jit(double), (jax.ShapeDtypeStruct((1024,), F32),)


def arrays():
    """The same, of real arrays of the host."""
    return jax.jit(double), [jnp.zeros(1024)]


def committed():
    """Of arrays that were put on a device of the host's."""
    return jax.jit(double), (jax.device_put(jnp.zeros(1024), jax.devices()[0]),)


def calls_back():
    def step(x):
        jax.debug.print("{}", x.sum())
        return 2 * x

    return jax.jit(step), (jax.ShapeDtypeStruct((1024,), F32),)


def numpys():
    return jax.jit(lambda x, *, y: x * y), (np.zeros(1024, np.float32),), {"y": 2.0}


def in_shardings(devices):
    """Sharded by the function, over all devices: 4 KiB of each."""
    by = NamedSharding(Mesh(np.array(devices), ("x",)), PartitionSpec("x"))
    return jax.jit(double, in_shardings=by, out_shardings=by), (jax.ShapeDtypeStruct((1024 * len(devices),), F32),)


def mesh(devices):
    """Weights sharded both ways, activations over data; their gradient takes their place."""
    side = int(len(devices) ** 0.5)
    grid = Mesh(np.array(devices).reshape(side, side), ("data", "model"))

    def on(shape, *names):
        return jax.ShapeDtypeStruct(shape, F32, sharding=NamedSharding(grid, PartitionSpec(*names)))

    def loss(w, x):
        return jnp.mean(jnp.tanh(x @ w["in"]) @ w["out"])

    weights = {"in": on((1024, 4096), "data", "model"), "out": on((4096, 1024), "model", "data")}
    like = jax.tree.map(lambda w: w.sharding, weights)
    return jax.jit(jax.grad(loss), donate_argnums=0, out_shardings=like), (weights, on((512, 1024), "data"))


class Step:
    """Not a function of jax.jit, but it can be lowered."""

    def __init__(self):
        self.lower = jax.jit(double).lower

    @staticmethod
    def plan():
        return Step(), (jax.ShapeDtypeStruct((1024,), F32),)


def too_large():
    """120 GiB of arguments in pieces, 120 GiB come out."""
    return jax.jit(lambda xs: [2 * x for x in xs]), ([jax.ShapeDtypeStruct((1 << 28,), F32)] * 120,)


def chatty():
    """What is printed and run on the host is no part of the plan."""
    print(jax.jit(lambda x: x @ x)(jnp.ones((512, 512))).sum())
    return plan()


def flags():
    os.environ["XLA_FLAGS"] = "--xla_gpu_enable_triton_gemm=false"
    return plan()


def plain():
    return double, (jax.ShapeDtypeStruct((1024,), F32),)


def nothing():
    pass


def partial():
    return functools.partial(jax.jit(double)), ()


def elsewhere():
    by = NamedSharding(Mesh(np.array(jax.devices()), ("x",)), PartitionSpec("x"))
    return jax.jit(double), (jax.ShapeDtypeStruct((1024,), F32, sharding=by),)


def raises():
    raise ValueError("no data\nhere")


def untraceable():
    def step(x):
        return x if x.sum() > 0 else -x

    return jax.jit(step), (jax.ShapeDtypeStruct((1024,), F32),)


def ends():
    os._exit(7)


number = 7
