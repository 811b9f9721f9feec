/* cuBLAS, cuDNN, NCCL, cuSPARSE, cuSOLVER, cuFFT, NVRTC, CUPTI: the calls of which PyTorch
 * uses what they write. Compiled once for each library, with its name defined. Everything
 * else is accepted or refused as the table of families says. */
#include <stdlib.h>
#include <string.h>
#include "pretend.h"

#define HANDLE(f) int f(void **h) { return (*h = calloc(1, 4096)) ? 0 : 1; }
#define TEXT(f) const char *f(int status) { return pretend_error(status); }

#ifdef libcublas
HANDLE(cublasCreate_v2)
int cublasDestroy_v2(void *h) { free(h); return 0; }
static const int version[] = CUBLAS;
int cublasGetVersion_v2(void *h UNUSED, int *v) { *v = version[0] * 10000 + version[1] * 100 + version[2]; return 0; }
/* The modes that torch sets and gets, at the start of its handle. */
typedef struct { int math, pointer; } modes;
int cublasGetMathMode(modes *h, int *m) { *m = h->math; return 0; }
int cublasSetMathMode(modes *h, int m) { h->math = m; return 0; }
int cublasGetPointerMode_v2(modes *h, int *m) { *m = h->pointer; return 0; }
int cublasSetPointerMode_v2(modes *h, int m) { h->pointer = m; return 0; }
TEXT(cublasGetStatusString)
#endif

#ifdef libcublasLt
HANDLE(cublasLtCreate)
HANDLE(cublasLtMatmulPreferenceCreate)
int cublasLtMatmulDescCreate(void **d, int compute UNUSED, int scale UNUSED) { return (*d = calloc(1, 4096)) ? 0 : 1; }
int cublasLtMatrixLayoutCreate(void **d, int type UNUSED, uint64_t rows UNUSED, uint64_t columns UNUSED, int64_t ld UNUSED) { return (*d = calloc(1, 4096)) ? 0 : 1; }
int cublasLtMatmulDescDestroy(void *d) { free(d); return 0; }
int cublasLtMatrixLayoutDestroy(void *d) { free(d); return 0; }
int cublasLtMatmulPreferenceDestroy(void *d) { free(d); return 0; }
/* torch sizes the workspace before it asks; the caller zeroes the results, and a zero is
 * a valid algorithm without workspace. */
int cublasLtMatmulAlgoGetHeuristic(void *h UNUSED, void *op UNUSED, void *a UNUSED, void *b UNUSED, void *c UNUSED, void *d UNUSED,
                                   void *preference UNUSED, int asked, void *results UNUSED, int *found) {
  *found = asked > 0;
  return 0;
}
static const size_t version[] = CUBLAS;
size_t cublasLtGetVersion(void) { return version[0] * 10000 + version[1] * 100 + version[2]; }
TEXT(cublasLtGetStatusString)
#endif

#ifdef libcudnn
/* Of the backend API just enough that a graph (a convolution, attention) finds one
 * engine, which wants no workspace: an assumption. */
static const int version[] = CUDNN;
HANDLE(cudnnCreate)
int cudnnSetStream(void **h, void *stream) { *h = stream; return 0; }
int cudnnGetStream(void **h, void **stream) { *stream = *h; return 0; }
size_t cudnnGetVersion(void) { return version[0] * (version[0] < 9 ? 1000 : 10000) + version[1] * 100 + version[2]; }
size_t cudnnGetCudartVersion(void) { return CUDA; }
int cudnnGetProperty(int which, int *v) { /* major, minor, patch */
  if (which < 0 || which > 2) return (int)pretend_refuse_value("cudnnGetProperty", which, 3000);
  *v = version[which];
  return 0;
}
TEXT(cudnnGetErrorString)
void cudnnGetLastErrorString(char *s, size_t n) { if (n) { strncpy(s, pretend_error(3000), n - 1); s[n - 1] = 0; } }
int cudnnBackendCreateDescriptor(int kind UNUSED, void **d) {
  pretend_assume("the workspace of cuDNN's engines");
  return (*d = calloc(1, 1024)) ? 0 : 1;
}
int cudnnBackendDestroyDescriptor(void *d) { free(d); return 0; }
int cudnnBackendGetAttribute(void *d UNUSED, int name, int type, int64_t asked, int64_t *n, int64_t *out) {
  int64_t have = name == 202; /* results of the heuristics */
  if (type == 3 && out && asked > 0) { have = 1; *out = 0; } /* an int64, such as the workspace */
  if (type == 23 && out && asked > 0) { have = 1; *(int32_t *)out = 0; } /* an int32, such as the shared memory */
  if (n) *n = have;
  return 0;
}
HANDLE(cudnnCreateTensorDescriptor) HANDLE(cudnnCreateFilterDescriptor) HANDLE(cudnnCreateConvolutionDescriptor)
HANDLE(cudnnCreateDropoutDescriptor) HANDLE(cudnnCreateRNNDescriptor) HANDLE(cudnnCreateRNNDataDescriptor)
HANDLE(cudnnCreateActivationDescriptor) HANDLE(cudnnCreateCTCLossDescriptor) HANDLE(cudnnCreateSpatialTransformerDescriptor)
HANDLE(cudnnCreatePoolingDescriptor)
static int none(size_t *n) { pretend_assume("the workspace of cuDNN's batch normalization"); *n = 0; return 0; }
typedef void *p;
int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(p h UNUSED, int m UNUSED, int o UNUSED, p x UNUSED, p z UNUSED, p y UNUSED, p b UNUSED, p a UNUSED, size_t *n) { return none(n); }
int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(p h UNUSED, int m UNUSED, int o UNUSED, p a UNUSED, p x UNUSED, size_t *n) { return none(n); }
int cudnnGetBatchNormalizationBackwardExWorkspaceSize(p h UNUSED, int m UNUSED, int o UNUSED, p x UNUSED, p y UNUSED, p dy UNUSED, p dz UNUSED, p dx UNUSED, p db UNUSED, p a UNUSED, size_t *n) { return none(n); }
#endif

#ifdef libnccl
/* Communicators whose other ranks are thought of: what they would send is not known. With
 * no other rank a collective is a copy. What the real library takes from the device for
 * itself is not counted. */
static const int version[] = NCCL;
int ncclGetVersion(int *v) { *v = version[0] * 10000 + version[1] * 100 + version[2]; return 0; }
TEXT(ncclGetErrorString)
const char *ncclGetLastError(void *c UNUSED) { return pretend_error(5); }
typedef struct { char bytes[128]; } id;
typedef struct { int ranks, rank; } communicator;
int ncclGetUniqueId(id *i) { memset(i, 0, sizeof *i); return 0; }
static int join(communicator **c, int ranks, int rank) {
  pretend_assume("the memory that NCCL takes for itself");
  if (!(*c = malloc(sizeof **c))) return 1;
  **c = (communicator){ranks, rank};
  return 0;
}
int ncclCommInitRank(communicator **c, int ranks, id i UNUSED, int rank) { return join(c, ranks, rank); }
int ncclCommInitRankConfig(communicator **c, int ranks, id i UNUSED, int rank, void *config UNUSED) { return join(c, ranks, rank); }
int ncclCommInitRankScalable(communicator **c, int ranks, int rank, int n UNUSED, id *i UNUSED, void *config UNUSED) { return join(c, ranks, rank); }
int ncclCommSplit(communicator *c, int color, int key UNUSED, communicator **to, void *config UNUSED) {
  if (c->ranks != 1) return (int)pretend_refuse("ncclCommSplit of many ranks", 5); /* who else takes part is not known */
  *to = NULL;
  return color < 0 ? 0 : join(to, 1, 0);
}
int ncclCommCount(communicator *c, int *n) { *n = c->ranks; return 0; }
int ncclCommUserRank(communicator *c, int *n) { *n = c->rank; return 0; }
int ncclCommRegister(communicator *c, void *p UNUSED, size_t n UNUSED, void **handle) { *handle = c; return 0; }
int ncclCommGetAsyncError(communicator *c UNUSED, int *e) { *e = 0; return 0; }
static int collect(const void *from, void *to, size_t n, int type, communicator *c) {
  static const char bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1}; /* of ncclDataType_t */
  if (c->ranks != 1 || type < 0 || type >= (int)sizeof bytes) pretend_launched();
  else if (from != to) pretend_copy(to, from, n * bytes[type]);
  return 0;
}
enum { SUM, PRODUCT, MAX, MIN, AVERAGE };
static int reduce(const void *from, void *to, size_t n, int type, int op, communicator *c) {
  if (op >= SUM && op <= AVERAGE) return collect(from, to, n, type, c);
  pretend_launched();
  return 0;
}
int ncclAllGather(const void *from, void *to, size_t n, int type, communicator *c, void *s UNUSED) { return collect(from, to, n, type, c); }
int ncclBroadcast(const void *from, void *to, size_t n, int type, int root UNUSED, communicator *c, void *s UNUSED) { return collect(from, to, n, type, c); }
int ncclBcast(void *p, size_t n, int type, int root UNUSED, communicator *c, void *s UNUSED) { return collect(p, p, n, type, c); }
int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, communicator *c, void *s UNUSED) { return reduce(from, to, n, type, op, c); }
int ncclReduce(const void *from, void *to, size_t n, int type, int op, int root UNUSED, communicator *c, void *s UNUSED) { return reduce(from, to, n, type, op, c); }
int ncclReduceScatter(const void *from, void *to, size_t n, int type, int op, communicator *c, void *s UNUSED) { return reduce(from, to, n, type, op, c); }
int ncclRedOpCreatePreMulSum(int *op, void *scalar UNUSED, int type UNUSED, int where UNUSED, communicator *c UNUSED) { *op = 100; return 0; }
#endif

#ifdef libcusparse
HANDLE(cusparseCreate)
TEXT(cusparseGetErrorString)
#endif

#ifdef libcusolver
HANDLE(cusolverDnCreate)
#endif

#ifdef libcufft
/* torch gives a plan the workspace that it asks for: none, which is an assumption. */
int cufftCreate(int *plan) { static int plans; *plan = ++plans; return 0; }
int cufftXtMakePlanMany(int plan UNUSED, int rank UNUSED, long long *n UNUSED, long long *in UNUSED, long long in_stride UNUSED, long long in_distance UNUSED, int in_type UNUSED,
                        long long *out UNUSED, long long out_stride UNUSED, long long out_distance UNUSED, int out_type UNUSED, long long batch UNUSED, size_t *workspace, int type UNUSED) {
  pretend_assume("the workspace of cuFFT");
  *workspace = 0;
  return 0;
}
#endif

#ifdef libnvrtc
/* A program compiles to one byte, which any module loads. */
int nvrtcVersion(int *major, int *minor) { *major = CUDA / 1000; *minor = CUDA % 1000 / 10; return 0; }
TEXT(nvrtcGetErrorString)
HANDLE(nvrtcCreateProgram)
int nvrtcDestroyProgram(void **h) { free(*h); *h = NULL; return 0; }
int nvrtcGetLoweredName(void *h UNUSED, const char *name, const char **out) { *out = name; return 0; }
static int one(size_t *n) { *n = 1; return 0; }
int nvrtcGetPTXSize(void *h UNUSED, size_t *n) { return one(n); }
int nvrtcGetCUBINSize(void *h UNUSED, size_t *n) { return one(n); }
int nvrtcGetProgramLogSize(void *h UNUSED, size_t *n) { return one(n); }
int nvrtcGetPTX(void *h UNUSED, char *s) { *s = 0; return 0; }
int nvrtcGetCUBIN(void *h UNUSED, char *s) { *s = 0; return 0; }
int nvrtcGetProgramLog(void *h UNUSED, char *s) { *s = 0; return 0; }
#endif

#ifdef libcupti
/* No profiler: torch's own then traces the host alone, and that is no refusal. */
int cuptiGetVersion(unsigned *v) { *v = 26; return 0; }
int cuptiGetResultString(int status, const char **s) { *s = pretend_error(status); return 0; }
#endif
