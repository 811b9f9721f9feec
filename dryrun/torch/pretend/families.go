package pretend

import (
	"path"
	"regexp"
	"strings"
)

// A family is the libraries of one name, whatever their version.
type family struct {
	stem    string         // of the file name
	symbols *regexp.Regexp // what its symbols begin with
	sources []string       // that define some of them
	status  int            // the error of a call that is refused: not supported, else internal
	// Patterns, as of path.Match, of the calls that no source defines. What none matches
	// is refused. A call belongs here only where nothing is wanted but a success.
	accepted string // sets, registers or destroys
	compute  string // would run on the device
	absent   string // fails, and the caller is known to go on without
	// extra are symbols that are asked for by name while a program runs, so that no
	// table of a wheel has them. They are refused too.
	extra string
}

// families is in the order in which libraries are loaded and symbols looked for.
var families = []family{
	{
		stem: "libcuda", symbols: begins("cu[A-Z]"), status: 801,
		sources:  []string{"notes.c", "card.c", "memory.c", "known.c", "stream.c", "driver.c"},
		accepted: "cuLogsRegisterCallback cuLogsUnregisterCallback",
		extra: `cuCtxFromGreenCtx cuCtxPopCurrent cuCtxPushCurrent cuDevResourceGenerateDesc cuDevSmResourceSplitByCount
			cuDeviceGetDevResource cuGetExportTable cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxStreamCreate cuLogsRegisterCallback
			cuLogsUnregisterCallback cuMemExportToShareableHandle cuMemGetAddressRange cuMemGetAllocationPropertiesFromHandle
			cuMemImportFromShareableHandle cuMemRetainAllocationHandle cuMulticastAddDevice cuMulticastBindMem cuMulticastCreate
			cuMulticastUnbind cuStreamWriteValue32 cuTensorMapEncodeIm2col`,
	},
	{
		stem: "libcudart", symbols: begins("(__)?cuda"), sources: []string{"runtime.c"}, status: 801,
		accepted: `__cudaRegister* __cudaUnregisterFatBinary __cudaInitModule cudaDeviceEnablePeerAccess cudaFuncSet*
			cudaGraphDestroy cudaGraphExecDestroy cudaGraphRetainUserObject cudaHostRegister cudaHostUnregister cudaProfilerStart
			cudaProfilerStop cudaStreamUpdateCaptureDependencies cudaUserObjectRelease`,
		compute: "__cudaLaunchKernel cudaLaunchCooperativeKernel cudaLaunchKernel cudaLaunchKernelExC",
	},
	{stem: "libnvidia-ml", symbols: begins("nvml"), sources: []string{"nvml.c"}, status: 3},
	{
		stem: "libcublasLt", symbols: begins("cublasLt"), sources: []string{"libs.c"}, status: 15,
		accepted: "cublasLt*SetAttribute", compute: "cublasLtMatmul",
	},
	{
		stem: "libcublas", symbols: begins("cublas"), sources: []string{"libs.c"}, status: 15,
		accepted: "cublasSetStream_v2 cublasSetWorkspace_v2 cublasSetSmCountTarget",
		// The result of a dot product goes to the device, as torch sets the pointer mode.
		compute: `cublas[SDCZ]gemm_v2 cublas[SDCZ]gemmBatched cublas[SDCZ]gemmStridedBatched cublasSgemmEx cublasGemmEx
			cublasGemmBatchedEx cublasGemmStridedBatchedEx cublas[SDCZ]gemv_v2 cublas[SD]dot_v2 cublas[CZ]dot[cu]_v2 cublasDotEx
			cublas[SDCZ]trsm_v2 cublas[SDCZ]trsmBatched cublas[SDCZ]getrfBatched`,
	},
	{
		stem: "libcudnn", symbols: begins("cudnn"), sources: []string{"libs.c"}, status: 3000,
		accepted: `cudnnSetTensor* cudnnSetFilter* cudnnSetConvolution* cudnnSetActivation* cudnnSetPooling* cudnnSetSpatial*
			cudnnDestroy* cudnnBackendSetAttribute cudnnBackendFinalize`,
		compute: "cudnnBackendExecute cudnnBatchNormalization* cudnnSpatialTf* cudnnPoolingForward",
	},
	{
		stem: "libnccl", symbols: begins("nccl"), sources: []string{"libs.c"}, status: 5,
		accepted: "ncclGroupStart ncclGroupEnd ncclCommAbort ncclCommDeregister ncclCommDestroy ncclCommFinalize ncclRedOpDestroy",
		compute:  "ncclAlltoAll ncclGather ncclRecv ncclScatter ncclSend",
	},
	{stem: "libcusparseLt", symbols: begins("cusparseLt"), status: 10},
	{
		stem: "libcusparse", symbols: begins("cusparse"), sources: []string{"libs.c"}, status: 10,
		accepted: "cusparseSetStream cusparseSetPointerMode cusparseDestroy",
	},
	{
		stem: "libcusolver", symbols: begins("cusolver"), sources: []string{"libs.c"}, status: 9,
		accepted: "cusolverDnSetStream cusolverDnDestroy",
	},
	{
		stem: "libcufft", symbols: begins("cufft"), sources: []string{"libs.c"}, status: 16,
		accepted: "cufftDestroy cufftSetAutoAllocation cufftSetStream cufftSetWorkArea", compute: "cufftXtExec",
	},
	{stem: "libcurand", symbols: begins("curand"), status: 999},
	{
		stem: "libnvrtc", symbols: begins("nvrtc"), sources: []string{"libs.c"}, status: 11,
		accepted: "nvrtcAddNameExpression nvrtcCompileProgram",
	},
	{stem: "libcupti", symbols: begins("cupti"), sources: []string{"libs.c"}, status: 15, absent: "*"},
	{stem: "libcufile", symbols: begins("cuFile"), status: 5001},
	{stem: "libnvshmem_host", symbols: begins("nvshmem"), status: 7},
	{stem: "libnvToolsExt", symbols: begins("nvtx"), accepted: "*"},
	{stem: "libnvJitLink", symbols: begins("nvJitLink"), status: 11},
}

func begins(with string) *regexp.Regexp { return regexp.MustCompile("^(?:" + with + ")") }

// familyOf gives the family of a symbol, or nil.
func familyOf(symbol string) (found *family) {
	longest := 0
	for i := range families {
		if m := families[i].symbols.FindString(symbol); len(m) > longest {
			found, longest = &families[i], len(m)
		}
	}
	return found
}

// class gives the macro of stubs.h for a call that no source defines.
func (f *family) class(symbol string) string {
	for _, c := range []struct{ macro, patterns string }{{"ACCEPTED", f.accepted}, {"COMPUTE", f.compute}, {"ABSENT", f.absent}} {
		for _, pattern := range strings.Fields(c.patterns) {
			if ok, _ := path.Match(pattern, symbol); ok {
				return c.macro
			}
		}
	}
	return "REFUSED"
}
