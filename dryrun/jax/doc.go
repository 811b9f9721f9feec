// Package jax compiles a function of JAX ahead of time for GPUs and TPUs that are not
// there, and gives the memory plan that XLA made.
//
// The user's function returns what is compiled and its arguments:
//
//	def step(devices):  # or step(), where nothing is sharded
//	    mesh = jax.sharding.Mesh(np.array(devices), ("data",))
//	    sharded = NamedSharding(mesh, PartitionSpec("data"))
//	    batch = jax.ShapeDtypeStruct((64, 1024), jnp.float32, sharding=sharded)
//	    return jax.jit(train_step, donate_argnums=0), (state, batch)
//
// that is (jitted, args) or (jitted, args, kwargs), where jitted has the method lower.
// Arguments are trees of jax.ShapeDtypeStruct or of arrays, of which only shapes count.
// What has no sharding lies on the first device, or where the shardings of the others or
// of jax.jit put it.
//
// For each target a process of its own runs driver.py. The program is imported and its
// function called on the CPU: jax.default_backend() says cpu, the devices that the
// function is given have the target's platform. XLA writes the plan of that one module
// before it generates code; the process ends then, so that a step of minutes takes
// seconds (two for a transformer of four layers on one core, 35 to its end). What only
// fails later is not seen: kernels of Pallas that take too much VMEM, and, with libtpu
// of 2025, HBM that the program's code takes beside the plan. The plan is that of a
// complete compilation to the byte: testdata/golden.json holds such sums.
//
// GPUs are compiled for by jax-cuda12-plugin and jax-cuda12-pjrt, without any other
// package of NVIDIA's: neither ptxas nor libdevice is reached. Autotuning has nothing to
// time, so that the class is assumption. TPUs want libtpu; their plans are exact for its
// version.
//
// Tried with jax, jaxlib and the plugin 0.10.2, 0.9.2, 0.8.1 and 0.6.2, with libtpu
// 0.0.42.1, 0.0.37, 0.0.30 and 0.0.17.1; TPUs with jax 0.5.3 and libtpu 0.0.11.4 too.
// Which libtpu belongs to a jax says its own metadata; another one is told.
//
// Whether a plan fits: not where it needs more than the device has, or where XLA says so,
// whose words are kept; unsurely where it needs more than JAX takes of a GPU, or more
// than 97.5 % of what libtpu leaves to programs. Everything is bytes of one device.
//
// Sources: jax/experimental/topologies.py, and jax/_src/xla_bridge.py for the variables
// of the environment; names and options of topologies are those of libtpu, found by
// trying them.
package jax
