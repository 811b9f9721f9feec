"""Trains a stack of layers for a few steps. It writes no capture of its own."""

import argparse

import jax
import jax.numpy as jnp

LAYERS, BATCH, WIDTH = 12, 256, 256


def layer(x, w):
    h = jnp.sin(x @ w["up"])
    h = jnp.cos(h @ w["across"])
    return x + h @ w["down"], None


@jax.jit
def train_step(params, batch):
    def loss(params):
        out, _ = jax.lax.scan(jax.checkpoint(layer), batch, params)
        return jnp.mean(out**2)

    value, grads = jax.value_and_grad(loss)(params)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3)
    steps = parser.parse_args().steps
    keys = jax.random.split(jax.random.key(0), 4)
    names = ("up", "across", "down")
    params = {name: 0.05 * jax.random.normal(key, (LAYERS, WIDTH, WIDTH)) for name, key in zip(names, keys)}
    batch = jax.random.normal(keys[3], (BATCH, WIDTH))
    for step in range(steps):
        value, params = train_step(params, batch)
        print(f"step {step}: loss {value:.4f}")


if __name__ == "__main__":
    main()
