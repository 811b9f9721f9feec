"""A training step of a transformer: two functions that know no device, and one for peakgate."""

import jax
import jax.numpy as jnp

LAYERS, WIDTH, HEADS, WORDS, BATCH, TOKENS = 12, 1536, 12, 32_000, 8, 1024


def init(key):
    def normal(*shape):
        return 0.02 * jax.random.normal(key, shape)

    layers = {
        "attend": normal(LAYERS, WIDTH, 3 * WIDTH),
        "project": normal(LAYERS, WIDTH, WIDTH),
        "grow": normal(LAYERS, WIDTH, 4 * WIDTH),
        "shrink": normal(LAYERS, 4 * WIDTH, WIDTH),
    }
    params = {"words": normal(WORDS, WIDTH), "layers": layers}
    zeros = jax.tree.map(jnp.zeros_like, params)
    return {"params": params, "mean": zeros, "square": zeros, "step": jnp.zeros((), jnp.int32)}


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def block(x, layer):
    layer = jax.tree.map(lambda w: w.astype(jnp.bfloat16), layer)
    q, k, v = jnp.split((norm(x) @ layer["attend"]).reshape(BATCH, TOKENS, HEADS, -1), 3, axis=-1)
    x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ layer["project"]
    return x + jax.nn.gelu(norm(x) @ layer["grow"]) @ layer["shrink"], None


def loss(params, text):
    words = params["words"].astype(jnp.bfloat16)
    x, _ = jax.lax.scan(jax.checkpoint(block), words[text], params["layers"])
    logits = (norm(x) @ words.T).astype(jnp.float32)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits[:, :-1]), text[:, 1:, None], axis=-1))


def train_step(state, text):
    value, grads = jax.value_and_grad(loss)(state["params"], text)
    step = state["step"] + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["mean"], grads)
    square = jax.tree.map(lambda s, g: 0.95 * s + 0.05 * g * g, state["square"], grads)
    params = jax.tree.map(lambda p, m, s: p - 3e-4 * m / (jnp.sqrt(s) + 1e-8), state["params"], mean, square)
    return {"params": params, "mean": mean, "square": square, "step": step}, value


def step():
    """What peakgate compiles: the jitted function and the shapes of its arguments."""
    state = jax.eval_shape(init, jax.random.key(0))
    text = jax.ShapeDtypeStruct((BATCH, TOKENS), jnp.int32)
    return jax.jit(train_step, donate_argnums=0), (state, text)


if __name__ == "__main__":
    state = init(jax.random.key(0))
    update, _ = step()
    for i in range(3):
        text = jax.random.randint(jax.random.key(i), (BATCH, TOKENS), 0, WORDS)
        state, value = update(state, text)
        print(f"step {i} loss {value:.3f}", flush=True)
