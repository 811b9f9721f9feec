package pretend

import (
	"path"
	"strings"
	"testing"
)

func TestClasses(t *testing.T) {
	for _, c := range []struct{ symbol, stem, class string }{
		{"cudaLaunchKernel", "libcudart", "COMPUTE"},
		{"__cudaRegisterVar", "libcudart", "ACCEPTED"},
		{"cudaMallocManaged", "libcudart", "REFUSED"},
		{"cudaMallocAsync", "libcudart", "REFUSED"},
		{"cudaIpcGetMemHandle", "libcudart", "REFUSED"},
		{"cudaHostGetDevicePointer", "libcudart", "REFUSED"},
		{"cudaNewInSomeRelease", "libcudart", "REFUSED"},
		{"cublasSgemm_v2", "libcublas", "COMPUTE"},
		{"cublasSnrm2_v2", "libcublas", "REFUSED"},       // gives a number to the host
		{"cublasGetMatrixAsync", "libcublas", "REFUSED"}, // likewise
		{"cublasSgetrsBatched", "libcublas", "REFUSED"},
		{"cublasLtMatmul", "libcublasLt", "COMPUTE"},
		{"cublasLtMatmulDescSetAttribute", "libcublasLt", "ACCEPTED"},
		{"cublasLtMatmulAlgoGetIds", "libcublasLt", "REFUSED"},
		{"cudnnSetRNNDescriptor_v8", "libcudnn", "REFUSED"},
		{"cudnnGetRNNWeightSpaceSize", "libcudnn", "REFUSED"},
		{"cudnnGetConvolutionForwardWorkspaceSize", "libcudnn", "REFUSED"},
		{"cudnnBackendExecute", "libcudnn", "COMPUTE"},
		{"cudnnDestroyTensorDescriptor", "libcudnn", "ACCEPTED"},
		{"cusolverDnSgetrf_bufferSize", "libcusolver", "REFUSED"},
		{"cusparseSpMM_bufferSize", "libcusparse", "REFUSED"},
		{"cusparseLtMatmul", "libcusparseLt", "REFUSED"},
		{"cufftGetSizeMany", "libcufft", "REFUSED"},
		{"curandCreateGenerator", "libcurand", "REFUSED"},
		{"ncclMemAlloc", "libnccl", "REFUSED"},
		{"ncclSend", "libnccl", "COMPUTE"},
		{"cuptiActivityEnable", "libcupti", "ABSENT"},
		{"cuFileRead", "libcufile", "REFUSED"},
		{"cuMulticastCreate", "libcuda", "REFUSED"},
		{"nvshmemx_init", "libnvshmem_host", "REFUSED"},
		{"nvtxRangePushA", "libnvToolsExt", "ACCEPTED"},
	} {
		f := familyOf(c.symbol)
		if f == nil || f.stem != c.stem || f.class(c.symbol) != c.class {
			t.Errorf("%s: got %+v, want %s of %s", c.symbol, f, c.class, c.stem)
		}
	}
	for _, symbol := range []string{"malloc", "curl_easy_init", "_ZN4cuda3fooEv", "cutlass", ""} {
		if f := familyOf(symbol); f != nil {
			t.Errorf("%s is taken for one of %s", symbol, f.stem)
		}
	}
}

// TestPatterns: a success that stands for a number, a handle or a text would be a lie.
func TestPatterns(t *testing.T) {
	for _, f := range families {
		for _, pattern := range strings.Fields(f.accepted + " " + f.compute + " " + f.absent) {
			if _, err := path.Match(pattern, "x"); err != nil {
				t.Errorf("%s: %s: %v", f.stem, pattern, err)
			}
		}
		if strings.Contains(f.accepted+f.compute, "Get") || strings.Contains(f.accepted+f.compute, "Create") {
			t.Errorf("%s: a call that gives something is accepted without an answer", f.stem)
		}
		if f.status == 0 && f.accepted != "*" {
			t.Errorf("%s: what is refused succeeds", f.stem)
		}
	}
}
