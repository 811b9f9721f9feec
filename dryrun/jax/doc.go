// Package jax compiles a function of JAX ahead of time for devices that are not there.
package jax
