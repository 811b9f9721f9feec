"""A linear layer trained for twelve steps. With "leak" each step keeps 1,000,000 bytes."""

import sys

import tensorflow as tf

w = tf.Variable(tf.random.normal([784, 512], stddev=0.05))
x = tf.random.normal([128, 784])
keep = []


@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.matmul(x, w) ** 2)
    w.assign_sub(0.0001 * tape.gradient(loss, w))
    return loss


def wrong():
    raise ValueError("no data\nhere")


def main(story):
    for i in range(12):
        with tf.profiler.experimental.Trace("train", step_num=i, _r=1):
            step()
            if story == "leak":
                keep.append(tf.random.uniform([250_000]))
            if story == "large":
                keep.append(tf.random.uniform([8 << 20]))
            if story == "wrong":
                wrong()
            if story == "exit":
                sys.exit(3)


main(sys.argv[1])
