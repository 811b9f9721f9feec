/* libcudart.so: the calls of the CUDA runtime that PyTorch makes, over libcuda.so.1.
 * CUDA is the release that the wheel was built for: layouts changed with 13.0. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pretend.h"

typedef int error;
enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, NOT_READY = 600, NOT_SUPPORTED = 801,
       CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901 };
enum { CUDA13 = CUDA >= 13000 };

static __thread error last;
static error fail(error e) { return last = e; }

/* ---- errors, versions ---- */
error cudaGetLastError(void) { error e = last; last = SUCCESS; return e; }
error cudaPeekAtLastError(void) { return last; }
static const struct { error code; const char *name, *text; } errors[] = {
  {SUCCESS, "cudaSuccess", "no error"},
  {INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"},
  {OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "out of memory"},
  {NO_DEVICE, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
  {INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
  {NOT_READY, "cudaErrorNotReady", "device not ready"},
  {CAPTURE_UNSUPPORTED, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
  {CAPTURE_INVALIDATED, "cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
};
const char *cudaGetErrorName(error e) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) if (errors[i].code == e) return errors[i].name;
  return "cudaErrorNotSupported";
}
const char *cudaGetErrorString(error e) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) if (errors[i].code == e) return errors[i].text;
  return pretend_error(e);
}
error cudaDriverGetVersion(int *v) { *v = CUDA; return SUCCESS; }
error cudaRuntimeGetVersion(int *v) { *v = CUDA; return SUCCESS; }

/* ---- devices ---- */
error cudaGetDeviceCount(int *n) { return (*n = pretend_count()) ? SUCCESS : fail(NO_DEVICE); }
error cudaGetDevice(int *d) { *d = pretend_current(); return SUCCESS; }
error cudaSetDevice(int d) { return pretend_set_current(d) ? fail(INVALID_DEVICE) : SUCCESS; }
error cudaDeviceGetAttribute(int *v, int a, int d) {
  if (d < 0 || d >= pretend_count()) return fail(INVALID_DEVICE);
  if (!pretend_attribute(v, a, d)) return SUCCESS;
  return fail((error)pretend_refuse_value("cudaDeviceGetAttribute", a, INVALID_VALUE));
}

/* Of cudaDeviceProp: where a field lies, its bytes, and the attribute that it repeats.
 * CUDA 13.0 left out clock rates, overlap, time limit, compute mode and others. */
static const struct { short cuda12, cuda13, bytes, attribute; } fields[] = {
  {296, 296, 8, 8}, {304, 304, 4, 12}, {308, 308, 4, 10}, {312, 312, 8, 11},      /* sharedMemPerBlock regsPerBlock warpSize memPitch */
  {320, 320, 4, 1}, {324, 324, 4, 2}, {328, 328, 4, 3}, {332, 332, 4, 4},         /* maxThreadsPerBlock maxThreadsDim */
  {336, 336, 4, 5}, {340, 340, 4, 6}, {344, 344, 4, 7}, {348, -1, 4, 13},         /* maxGridSize clockRate */
  {352, 352, 8, 9}, {360, 360, 4, 75}, {364, 364, 4, 76},                         /* totalConstMem major minor */
  {368, 368, 8, 14}, {376, 376, 8, 51}, {384, -1, 4, 15}, {388, 384, 4, 16},      /* textureAlignment texturePitchAlignment deviceOverlap multiProcessorCount */
  {400, 392, 4, 19}, {568, 552, 8, 30}, {576, 560, 4, 31}, {584, 568, 4, 33},     /* canMapHostMemory surfaceAlignment concurrentKernels pciBusID */
  {600, 584, 4, 40}, {604, 588, 4, 41}, {608, -1, 4, 36}, {612, 592, 4, 37},      /* asyncEngineCount unifiedAddressing memoryClockRate memoryBusWidth */
  {616, 596, 4, 38}, {624, 604, 4, 39}, {628, 608, 4, 78},                        /* l2CacheSize maxThreadsPerMultiProcessor streamPrioritiesSupported */
  {632, 612, 4, 79}, {636, 616, 4, 80}, {640, 624, 8, 81}, {648, 632, 4, 82},     /* globalL1CacheSupported local… sharedMemPerMultiprocessor regsPer… */
  {652, 636, 4, 83}, {668, -1, 4, 87}, {676, 656, 4, 89}, {680, 660, 4, 90},      /* managedMemory singleToDoublePrecisionPerfRatio concurrentManagedAccess computePreemptionSupported */
  {684, 664, 4, 91}, {688, 668, 4, 95}, {692, -1, 4, 96},                         /* canUseHostPointerForRegisteredMem cooperativeLaunch cooperativeMultiDeviceLaunch */
  {696, 672, 8, 97}, {712, 688, 4, 106}, {720, 696, 8, 111}, {728, 704, 4, 99},   /* sharedMemPerBlockOptin maxBlocksPerMultiProcessor reservedSharedMemPerBlock hostRegisterSupported */
  {744, 720, 4, 115}, {768, 744, 4, 125}, {772, 748, 4, 120}, {776, 752, 4, 129}, /* memoryPoolsSupported ipcEventSupported clusterLaunch unifiedFunctionPointers */
};
error cudaGetDeviceProperties(char *p, int d) {
  if (d < 0 || d >= pretend_count()) return fail(INVALID_DEVICE);
  size_t unused, total;
  pretend_meminfo(d, &unused, &total);
  memset(p, 0, CUDA13 ? 1008 : 1032);
  snprintf(p, 256, "%s", pretend_name());
  pretend_uuid(p + 256, d);
  memcpy(p + 288, &total, 8);                               /* totalGlobalMem */
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    int at = CUDA13 ? fields[i].cuda13 : fields[i].cuda12, v = 0;
    if (at < 0 || pretend_attribute(&v, fields[i].attribute, d)) continue;
    size_t wide = (size_t)v;
    memcpy(p + at, fields[i].bytes == 8 ? (void *)&wide : (void *)&v, fields[i].bytes);
  }
  return SUCCESS;
}
error cudaGetDeviceProperties_v2(char *p, int d) { return cudaGetDeviceProperties(p, d); }
error cudaDeviceGetPCIBusId(char *s, int n, int d) { snprintf(s, n, "0000:%02X:00.0", 1 + d); return SUCCESS; }
error cudaDeviceGetStreamPriorityRange(int *least, int *greatest) { *least = 0; *greatest = -5; return SUCCESS; }
error cudaDeviceSynchronize(void) { pretend_device_done(); return SUCCESS; }
error cudaDeviceCanAccessPeer(int *can, int a, int b) {     /* depends on the machine, not on the card */
  pretend_assume("whether devices reach each other's memory");
  *can = a != b && pretend_links();
  return SUCCESS;
}

/* ---- memory ---- */
error cudaMalloc(void **p, size_t n) { return (*p = pretend_alloc(pretend_current(), n)) ? SUCCESS : fail(OUT_OF_MEMORY); }
error cudaFree(void *p) { return !p || !pretend_free(p) ? SUCCESS : fail(INVALID_VALUE); }
error cudaMemGetInfo(size_t *f, size_t *t) { pretend_meminfo(pretend_current(), f, t); return SUCCESS; }
error cudaHostAlloc(void **p, size_t n, unsigned flags UNUSED) { return posix_memalign(p, 4096, n ? n : 1) ? fail(OUT_OF_MEMORY) : SUCCESS; }
error cudaMallocHost(void **p, size_t n) { return cudaHostAlloc(p, n, 0); }
error cudaFreeHost(void *p) { free(p); return SUCCESS; }
error cudaPointerGetAttributes(void *out, const void *p) {  /* type, device, pointer of the device, of the host */
  struct { int type, device; const void *on_device, *on_host; } a = {0, -2, NULL, p};
  int d = pretend_device_of(p);
  if (d >= 0) { a.type = 2; a.device = d; a.on_device = p; a.on_host = NULL; }
  memset(out, 0, CUDA13 ? 88 : 24);
  memcpy(out, &a, sizeof a);
  return SUCCESS;
}
error cudaMemcpy(void *to, const void *from, size_t n, int kind UNUSED) { pretend_copy(to, from, n); return SUCCESS; }
error cudaMemcpyAsync(void *to, const void *from, size_t n, int kind UNUSED, void *s UNUSED) { pretend_copy(to, from, n); return SUCCESS; }
error cudaMemcpyPeerAsync(void *to, int td UNUSED, const void *from, int fd UNUSED, size_t n, void *s UNUSED) { pretend_copy(to, from, n); return SUCCESS; }
error cudaMemcpy2DAsync(char *to, size_t to_pitch, const char *from, size_t from_pitch, size_t width, size_t height, int kind UNUSED, void *s UNUSED) {
  for (size_t y = 0; y < height; y++) pretend_copy(to + y * to_pitch, from + y * from_pitch, width);
  return SUCCESS;
}
error cudaMemset(void *p, int v, size_t n) { pretend_set(p, v, n); return SUCCESS; }
error cudaMemsetAsync(void *p, int v, size_t n, void *s UNUSED) { pretend_set(p, v, n); return SUCCESS; }

/* ---- streams and events ---- */
error cudaStreamCreateWithPriority(void **s, unsigned flags UNUSED, int priority) { return (*s = pretend_stream_new(priority)) ? SUCCESS : fail(OUT_OF_MEMORY); }
error cudaStreamCreateWithFlags(void **s, unsigned flags) { return cudaStreamCreateWithPriority(s, flags, 0); }
error cudaStreamCreate(void **s) { return cudaStreamCreateWithPriority(s, 0, 0); }
error cudaStreamDestroy(void *s UNUSED) { return SUCCESS; }
error cudaStreamGetPriority(void *s, int *p) { *p = pretend_stream_priority(s); return SUCCESS; }
error cudaStreamSynchronize(void *s) { pretend_stream_done(s); return SUCCESS; }
error cudaStreamQuery(void *s) { return pretend_stream_busy(s) ? fail(NOT_READY) : SUCCESS; }
error cudaStreamWaitEvent(void *s, void *e, unsigned flags UNUSED) { pretend_stream_wait(s, e); return SUCCESS; }
error cudaLaunchHostFunc(void *s UNUSED, void (*f)(void *), void *user) { f(user); return SUCCESS; }
error cudaStreamAddCallback(void *s, void (*f)(void *, error, void *), void *user, unsigned flags UNUSED) { f(s, SUCCESS, user); return SUCCESS; }
error cudaEventCreateWithFlags(void **e, unsigned flags UNUSED) { return (*e = pretend_event_new()) ? SUCCESS : fail(OUT_OF_MEMORY); }
error cudaEventCreate(void **e) { return cudaEventCreateWithFlags(e, 0); }
error cudaEventDestroy(void *e) { pretend_event_free(e); return SUCCESS; }
error cudaEventRecord(void *e, void *s) { pretend_event_record(e, s); return SUCCESS; }
error cudaEventRecordWithFlags(void *e, void *s, unsigned flags UNUSED) { return cudaEventRecord(e, s); }
error cudaEventQuery(void *e) { return pretend_event_query(e) ? SUCCESS : fail(NOT_READY); }
error cudaEventSynchronize(void *e) { pretend_event_done(e); return SUCCESS; }
error cudaEventElapsedTime(float *ms, void *a UNUSED, void *b UNUSED) { pretend_assume("the time between two events"); *ms = 1; return SUCCESS; }
error cudaEventElapsedTime_v2(float *ms, void *a, void *b) { return cudaEventElapsedTime(ms, a, b); }

/* ---- graphs: captured so far that the allocator takes from the pool of the graph ---- */
static char graph, executable, user_object;
static __thread int capture_mode;
error cudaStreamBeginCapture(void *s, int mode UNUSED) { return pretend_capture_begin(s) ? fail(CAPTURE_UNSUPPORTED) : SUCCESS; }
error cudaStreamEndCapture(void *s, void **g) { *g = &graph; return pretend_capture_end(s) ? fail(CAPTURE_INVALIDATED) : SUCCESS; }
error cudaStreamIsCapturing(void *s, int *active) { *active = pretend_capture_id(s) != 0; return SUCCESS; }
error cudaThreadExchangeStreamCaptureMode(int *mode) { int was = capture_mode; capture_mode = *mode; *mode = was; return SUCCESS; }
static error capture_info(void *s, int *active, unsigned long long *id, void **g, const void **nodes, size_t *n) {
  unsigned long long c = pretend_capture_id(s);
  *active = c != 0;
  if (id) *id = c;
  if (g) *g = c ? &graph : NULL;
  if (nodes) *nodes = NULL;
  if (n) *n = 0;
  return SUCCESS;
}
error cudaStreamGetCaptureInfo_v3(void *s, int *active, unsigned long long *id, void **g, const void **nodes, const void **edges, size_t *n) {
  if (edges) *edges = NULL;
  return capture_info(s, active, id, g, nodes, n);
}
error cudaStreamGetCaptureInfo_v2(void *s, int *active, unsigned long long *id, void **g, const void **nodes, size_t *n) {
  return capture_info(s, active, id, g, nodes, n);
}
#if CUDA >= 13000
error cudaStreamGetCaptureInfo(void *s, int *active, unsigned long long *id, void **g, const void **nodes, const void **edges, size_t *n) {
  return cudaStreamGetCaptureInfo_v3(s, active, id, g, nodes, edges, n);
}
#else
error cudaStreamGetCaptureInfo(void *s, int *active, unsigned long long *id) { return capture_info(s, active, id, NULL, NULL, NULL); }
#endif
error cudaGraphInstantiate(void **e, void *g UNUSED, unsigned long long flags UNUSED) { *e = &executable; return SUCCESS; }
error cudaGraphInstantiateWithFlags(void **e, void *g, unsigned long long flags) { return cudaGraphInstantiate(e, g, flags); }
error cudaGraphGetNodes(void *g UNUSED, void *nodes, size_t *n) { /* that it is not empty */
  if (nodes) return fail((error)pretend_refuse("cudaGraphGetNodes", NOT_SUPPORTED));
  *n = 1;
  return SUCCESS;
}
error cudaGraphLaunch(void *e UNUSED, void *s UNUSED) { pretend_launched(); return SUCCESS; }
error cudaUserObjectCreate(void **o, void *p UNUSED, void (*destroy)(void *) UNUSED, unsigned refs UNUSED, unsigned flags UNUSED) { *o = &user_object; return SUCCESS; }

/* ---- kernels: accepted, never run ---- */
typedef struct { unsigned x, y, z; } dim3;
static __thread struct { dim3 grid, block; size_t shared; void *stream; } config;
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
  config.grid = grid; config.block = block; config.shared = shared; config.stream = stream;
  return 0;
}
error __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void **stream) {
  *grid = config.grid; *block = config.block; *shared = config.shared; *stream = config.stream;
  return SUCCESS;
}
void **__cudaRegisterFatBinary(void *image UNUSED) { static void *handle[2]; return handle; }
error __cudaGetKernel(const void **k, const void *f) { *k = f; return SUCCESS; }

/* The code in the wheel that such a device runs: the newest of its family up to it. CUB
 * refuses an architecture that it was not compiled for. */
static int architecture(void) {
  static const int compiled[] = {ARCHITECTURES};
  int best = 0, capability = pretend_capability();
  for (size_t i = 0; i < sizeof compiled / sizeof *compiled; i++)
    if (compiled[i] <= capability && compiled[i] > best) best = compiled[i];
  return best ? best : capability;
}
error cudaFuncGetAttributes(void *out, const void *f UNUSED) {
  struct { size_t shared, constant, local; int threads, registers, ptx, binary, cache, dynamic; } a = {0};
  a.threads = 1024;
  a.registers = 32;
  a.ptx = a.binary = architecture();
  pretend_attribute(&a.dynamic, 97, 0);
  memset(out, 0, 144);
  memcpy(out, &a, sizeof a);
  return SUCCESS;
}
/* How many blocks run at once depends on the registers of a kernel, which are not known.
 * For these kernels nothing but the size of a launch follows from it, and no memory: CUB's
 * dispatch_radix_sort.cuh and dispatch_scan.cuh, and torch's sort in place. */
static struct { const void **kernels; size_t n, room; } launches_only;
void __cudaRegisterFunction(void **image UNUSED, const char *kernel, char *device UNUSED, const char *name) {
  static const char *const harmless[] = {"DeviceRadixSortHistogramKernel", "DeviceScanKernel", "DeviceScanByKeyKernel", "bitonicSortKVInPlace"};
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
    if (!memmem(name, strnlen(name, 160), harmless[i], strlen(harmless[i]))) continue;
    if (launches_only.n == launches_only.room) {
      size_t room = 2 * launches_only.room + 256;
      void *more = realloc(launches_only.kernels, room * sizeof *launches_only.kernels);
      if (!more) return;
      launches_only.kernels = more;
      launches_only.room = room;
    }
    launches_only.kernels[launches_only.n++] = kernel;
    return;
  }
}
static int sizes_memory(const void *kernel) {
  for (size_t i = 0; i < launches_only.n; i++)
    if (launches_only.kernels[i] == kernel) return 0;
  return 1;
}
error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *f, int threads, size_t shared UNUSED) {
  int most;
  if (sizes_memory(f)) pretend_assume("how many blocks of a kernel run at once");
  pretend_attribute(&most, 39, 0);
  *n = threads > 0 && threads < most ? most / threads : 1;
  return SUCCESS;
}
error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *f, int threads, size_t shared, unsigned flags UNUSED) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(n, f, threads, shared);
}

/* ---- entry points of the driver by name ---- */
static error entry(const char *name, void **f, int *found) {
  *f = pretend_symbol(name);
  if (found) *found = *f ? 0 : 1;
  return SUCCESS;
}
error cudaGetDriverEntryPoint(const char *name, void **f, unsigned long long flags UNUSED, int *found) { return entry(name, f, found); }
error cudaGetDriverEntryPointByVersion(const char *name, void **f, unsigned version UNUSED, unsigned long long flags UNUSED, int *found) {
  return entry(name, f, found);
}
