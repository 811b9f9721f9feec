/* Stands for libtorch_python.so: it wants calls of each class, and says which
 * architectures it has code for. */
extern int cudaMalloc(), cudaFree(), cudaMemGetInfo(), cudaLaunchKernel(), cudaMallocManaged(), __cudaRegisterFunction();
extern int cublasSgemm_v2(), cublasSnrm2_v2(), cusolverDnSgetrf_bufferSize();
const char *architectures(void) { return "sm_80 sm_90 compute_90"; }
int init(void) {
  return cudaMalloc() + cudaFree() + cudaMemGetInfo() + cudaLaunchKernel() + cudaMallocManaged() + __cudaRegisterFunction() +
         cublasSgemm_v2() + cublasSnrm2_v2() + cusolverDnSgetrf_bufferSize();
}
