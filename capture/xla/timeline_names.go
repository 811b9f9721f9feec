package xla

import "strings"

// class says what a host event is, by its name. Names are those of several
// generations of clients; see the package's tests for the files that have them.
type class uint8

const (
	plain   class = iota
	frame         // a frame of the Python tracer: "$train.py:31 step"
	library       // a frame of a framework's or generated code: "$pjit.py:250 cache_miss"
	builtin       // a function without Python code: "$<unknown> append", "$builtins len"
	allocs        // MemoryAllocation
	frees         // MemoryDeallocation
	call          // the call that executes a module on all its devices
	execute       // the execution of a module on one device
	launch        // inside of it: kernels are launched
	run           // the run of a TensorFlow function
	retry         // a wait of the allocator
)

// classify gives the class of an event's name.
//
// StreamExecutor clients (xla/pjrt/pjrt_stream_executor_client.cc) nest
// Execute > ExecuteHelper > EnqueueExecution > ExecuteThunks; the newest, common
// client (xla/pjrt/common_pjrt_client.cc) prefixes what belongs to one device by
// "[n] " and appends " (module)"; TPU schedules executions on threads of their own.
func classify(name string) class {
	switch {
	case strings.HasPrefix(name, "$"):
		place, _, _ := strings.Cut(name[1:], " ")
		switch file, _, ok := strings.Cut(place, ":"); {
		case !ok:
			return builtin
		case foreign(file):
			return library
		}
		return frame
	case name == "MemoryAllocation":
		return allocs
	case name == "MemoryDeallocation":
		return frees
	case name == "FunctionRun":
		return run
	case strings.HasPrefix(name, "AllocatorRetry"):
		return retry
	}
	base, _ := cutModule(name)
	base, device := cutOrdinal(base)
	switch {
	case strings.HasSuffix(base, ":XLA GPU module"), strings.HasSuffix(base, "::ExecuteThunks"), base == "tpu::System::Execute":
		return launch
	case strings.Contains(base, "Executable::ExecuteHelper"), strings.HasSuffix(base, "::EnqueueExecution"),
		strings.HasSuffix(base, "RawLoadedExecutable::Execute"),
		strings.HasSuffix(base, "Executable::Execute") && (device || strings.HasPrefix(base, "Scheduled ")):
		return execute
	case strings.HasSuffix(base, "LoadedExecutable::Execute"), strings.HasSuffix(base, "LoadedExecutable_Execute"):
		return call
	}
	return plain
}

// cutOrdinal splits "[3] Execute".
func cutOrdinal(name string) (base string, ok bool) {
	if !strings.HasPrefix(name, "[") {
		return name, false
	}
	number, rest, ok := strings.Cut(name[1:], "] ")
	if !ok || number == "" || strings.Trim(number, "0123456789") != "" {
		return name, false
	}
	return rest, true
}

// cutModule splits "Execute (jit_step)".
func cutModule(name string) (base, module string) {
	open := strings.LastIndex(name, " (")
	if open <= 0 || !strings.HasSuffix(name, ")") {
		return name, ""
	}
	return name[:open], name[open+2 : len(name)-1]
}

// moduleOf gives the module that a launch, an execution or a call names, empty if none.
func moduleOf(name string) string {
	if m, ok := strings.CutSuffix(name, ":XLA GPU module"); ok {
		return m
	}
	if f, ok := strings.CutPrefix(name, "PjitFunction("); ok && strings.HasSuffix(f, ")") {
		return "jit_" + strings.TrimSuffix(f, ")") // as jax names the module of a function
	}
	_, module := cutModule(name)
	return module
}

// plumbing are events that every allocation of their kind is inside of: they say
// nothing of who wanted it.
func plumbing(name string) bool {
	switch name {
	case "BasicCPUAllocator::Alloc", "DeferredTpuAllocator::Allocate", "AllocateDestinationBuffer",
		"PjRtStreamExecutorClient::LinearizeHostBufferInto", "KernelAndDeviceFunc::Run", "EagerKernelExecute",
		"ExecutorState::Process":
		return true
	}
	return strings.HasPrefix(name, "AllocatorRetry")
}

// pythonFrame reads "$train.py:31 step"; ok is false for built-in functions and
// for frames of the frameworks, of which the tracer tells no more than the name
// of the file.
func pythonFrame(name string) (file string, line int, function string, ok bool) {
	place, function, ok := strings.Cut(strings.TrimPrefix(name, "$"), " ")
	if !ok {
		return "", 0, "", false
	}
	file, number, ok := strings.Cut(place, ":")
	if !ok || foreign(file) {
		return "", 0, "", false
	}
	for _, c := range number {
		if c < '0' || c > '9' || line > 1<<24 {
			return "", 0, "", false
		}
		line = line*10 + int(c-'0')
	}
	return file, line, function, line > 0
}

// foreign tells that a frame's file is not the user's: a framework's, or generated
// code such as "<string>".
func foreign(file string) bool { return frameworkFiles[file] || strings.HasPrefix(file, "<") }

// frameworkFiles are files of JAX and TensorFlow that lie between the user's
// program and an allocation.
var frameworkFiles = func() map[string]bool {
	m := map[string]bool{}
	for _, f := range strings.Fields(`api.py api_util.py array.py array_constructors.py array_creation.py
		array_methods.py compiler.py context.py core.py custom_derivatives.py def_function.py device_put.py dispatch.py
		execute.py func_graph.py function.py gen_random_ops.py gen_math_ops.py gen_array_ops.py
		lax.py lax_numpy.py linear_util.py mlir.py ops.py partial_eval.py pjit.py polymorphic_function.py prng.py profiler.py
		profiler_v2.py pxla.py random.py slicing.py sharding_impls.py stages.py traceback_util.py traceback_utils.py
		tracing_compilation.py tree_util.py ufuncs.py ufunc_api.py util.py weakref_lru_cache.py xla_bridge.py
		contextlib.py functools.py threading.py`) {
		m[f] = true
	}
	return m
}()
