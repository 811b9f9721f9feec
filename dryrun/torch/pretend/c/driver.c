/* libcuda.so.1: the calls of the driver that PyTorch, its extensions and Triton make.
 * Handles are pointers, enums ints; the layouts that are read are given where they are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "memory.h"

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NOT_FOUND = 500, NOT_SUPPORTED = 801 };
typedef int result;

/* ---- the driver, devices, contexts: each device has its primary one ---- */
result cuInit(unsigned flags UNUSED) { return pretend_count() > 0 ? SUCCESS : 100; }
result cuDriverGetVersion(int *v) { *v = CUDA; return SUCCESS; }
result cuDeviceGetCount(int *n) { *n = pretend_count(); return SUCCESS; }
result cuDeviceGet(int *d, int ordinal) {
  if (ordinal < 0 || ordinal >= pretend_count()) return INVALID_DEVICE;
  *d = ordinal;
  return SUCCESS;
}
result cuDeviceGetName(char *name, int n, int d UNUSED) { snprintf(name, n, "%s", pretend_name()); return SUCCESS; }
result cuDeviceGetUuid(char *uuid, int d) { pretend_uuid(uuid, d); return SUCCESS; }
result cuDeviceGetUuid_v2(char *uuid, int d) { return cuDeviceGetUuid(uuid, d); }
result cuDeviceTotalMem_v2(size_t *n, int d) {
  size_t unused;
  if (d < 0 || d >= pretend_count()) return INVALID_DEVICE;
  pretend_meminfo(d, &unused, n);
  return SUCCESS;
}
result cuDeviceGetAttribute(int *v, int a, int d) {
  if (d < 0 || d >= pretend_count()) return INVALID_DEVICE;
  if (!pretend_attribute(v, a, d)) return SUCCESS;
  return (result)pretend_refuse_value("cuDeviceGetAttribute", a, INVALID_VALUE);
}
static char contexts[64];
static result context(void **c, int d) {
  if (d < 0 || d >= pretend_count()) return INVALID_DEVICE;
  *c = &contexts[d];
  return SUCCESS;
}
result cuDevicePrimaryCtxGetState(int d, unsigned *flags, int *active) { *flags = 0; *active = pretend_active(d); return SUCCESS; }
result cuDevicePrimaryCtxRetain(void **c, int d) { return context(c, d); }
result cuCtxGetCurrent(void **c) { return context(c, pretend_current()); }
result cuCtxSetCurrent(void *c) {
  if (!c) return SUCCESS;
  return pretend_set_current((int)((char *)c - contexts)) ? INVALID_CONTEXT : SUCCESS;
}
result cuCtxGetDevice(int *d) { *d = pretend_current(); return SUCCESS; }
result cuCtxSynchronize(void) { pretend_device_done(); return SUCCESS; }
/* Bytes of a thread's stack, of what a kernel prints, of its heap. */
static size_t limits[] = {1 << 10, 1 << 20, 8 << 20};
result cuCtxGetLimit(size_t *n, unsigned limit) {
  if (limit >= sizeof limits / sizeof *limits) return (result)pretend_refuse_value("cuCtxGetLimit", limit, INVALID_VALUE);
  *n = limits[limit];
  return SUCCESS;
}
result cuCtxSetLimit(unsigned limit, size_t n) {
  if (limit < sizeof limits / sizeof *limits) limits[limit] = n;
  return SUCCESS;
}
result cuGetErrorString(int e, const char **s) { *s = pretend_error(e); return SUCCESS; }
result cuGetErrorName(int e, const char **s) { *s = e == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : e ? "CUDA_ERROR" : "CUDA_SUCCESS"; return SUCCESS; }

/* ---- memory ---- */
result cuMemGetInfo_v2(size_t *f, size_t *t) { pretend_meminfo(pretend_current(), f, t); return SUCCESS; }
result cuMemAlloc_v2(void **p, size_t n) { return (*p = pretend_alloc(pretend_current(), n)) ? SUCCESS : OUT_OF_MEMORY; }
result cuMemFree_v2(void *p) { return pretend_free(p) ? INVALID_VALUE : SUCCESS; }
result cuPointerGetAttribute(void *out, int a, void *p) {
  int d = pretend_device_of(p);
  if (d < 0) return INVALID_VALUE;
  switch (a) {
    case 1: return context(out, d);
    case 2: *(unsigned *)out = 2; return SUCCESS;           /* memory type: device */
    case 3: *(void **)out = p; return SUCCESS;              /* device pointer */
    case 8: *(int *)out = 0; return SUCCESS;                /* managed */
    case 9: *(int *)out = d; return SUCCESS;                /* device ordinal */
  }
  return (result)pretend_refuse_value("cuPointerGetAttribute", a, INVALID_VALUE);
}
result cuPointerGetAttributes(unsigned n, const int *attributes, void **out, void *p) {
  for (unsigned i = 0; i < n; i++) {
    if (pretend_device_of(p) < 0) return SUCCESS;           /* of the host: nothing is written */
    result r = cuPointerGetAttribute(out[i], attributes[i], p);
    if (r) return r;
  }
  return SUCCESS;
}
typedef struct { int type, handle_types, location_type, device; } allocation; /* how CUmemAllocationProp begins */
result cuMemGetAllocationGranularity(size_t *n, const allocation *p UNUSED, int option UNUSED) { *n = GRAIN; return SUCCESS; }
result cuMemAddressReserve(void **p, size_t n, size_t align UNUSED, void *hint UNUSED, unsigned long long flags UNUSED) {
  return (*p = pretend_reserve(n)) ? SUCCESS : OUT_OF_MEMORY;
}
result cuMemAddressFree(void *p, size_t n) { return pretend_unreserve(p, n) ? INVALID_VALUE : SUCCESS; }
result cuMemCreate(physical **h, size_t n, const allocation *p, unsigned long long flags UNUSED) {
  if (p->location_type != 1) return (result)pretend_refuse("cuMemCreate of memory that is not a device's", NOT_SUPPORTED);
  return (*h = pretend_physical(p->device, n)) ? SUCCESS : OUT_OF_MEMORY;
}
result cuMemRelease(physical *h) {
  if (!h) return INVALID_VALUE;
  pretend_release(h);
  return SUCCESS;
}
result cuMemMap(void *p, size_t n, size_t offset UNUSED, physical *h, unsigned long long flags UNUSED) { return pretend_map(p, n, h) ? INVALID_VALUE : SUCCESS; }
result cuMemUnmap(void *p, size_t n) { return pretend_map(p, n, NULL) ? INVALID_VALUE : SUCCESS; }
result cuMemSetAccess(void *p UNUSED, size_t n UNUSED, const void *access UNUSED, size_t count UNUSED) { return SUCCESS; }

result cuStreamIsCapturing(void *s, int *active) { *active = pretend_capture_id(s) != 0; return SUCCESS; }

/* ---- modules: any image loads, any function is found, nothing runs ---- */
static char module, function;
result cuModuleLoadData(void **m, const void *image UNUSED) { *m = &module; return SUCCESS; }
result cuModuleLoadDataEx(void **m, const void *image UNUSED, unsigned n UNUSED, void *o UNUSED, void *v UNUSED) { *m = &module; return SUCCESS; }
result cuModuleLoad(void **m, const char *path UNUSED) { *m = &module; return SUCCESS; }
result cuModuleUnload(void *m UNUSED) { return SUCCESS; }
result cuModuleGetFunction(void **f, void *m UNUSED, const char *name UNUSED) { *f = &function; return SUCCESS; }
result cuFuncGetAttribute(int *v, int a, void *f UNUSED) {
  switch (a) {
    case 0: *v = 1024; return SUCCESS;                      /* threads of a block */
    case 1: case 2: case 3: *v = 0; return SUCCESS;         /* static shared, constant, local bytes */
    case 4: *v = 32; return SUCCESS;                        /* registers */
    case 8: return cuDeviceGetAttribute(v, 97, 0);          /* largest dynamic shared memory */
  }
  return (result)pretend_refuse_value("cuFuncGetAttribute", a, INVALID_VALUE);
}
result cuFuncSetAttribute(void *f UNUSED, int a UNUSED, int v UNUSED) { return SUCCESS; }
result cuFuncSetCacheConfig(void *f UNUSED, int c UNUSED) { return SUCCESS; }
result cuLaunchKernel(void) { pretend_launched(); return SUCCESS; }
result cuLaunchKernelEx(void) { pretend_launched(); return SUCCESS; }
result cuLaunchCooperativeKernel(void) { pretend_launched(); return SUCCESS; }
result cuMemsetD32Async(void) { pretend_launched(); return SUCCESS; }
result cuOccupancyMaxActiveClusters(int *n, void *f UNUSED, const void *config UNUSED) {
  pretend_assume("how many clusters of a kernel run at once");
  *n = 1;
  return SUCCESS;
}
result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f UNUSED, int threads, size_t shared UNUSED) {
  int most;
  pretend_assume("how many blocks of a kernel run at once");
  pretend_attribute(&most, 39, 0);
  *n = threads > 0 && threads < most ? most / threads : 1;
  return SUCCESS;
}
result cuTensorMapEncodeTiled(void) { return SUCCESS; }

/* ---- entry points by name: what this library exports ---- */
void *pretend_symbol(const char *name) {
  static void *self;
  if (!self) self = dlopen("libcuda.so.1", RTLD_LAZY);
  void *f = self ? dlsym(self, name) : NULL;
  if (!f) {
    char next[128];                   /* cuMemGetInfo is asked for and cuMemGetInfo_v2 meant */
    snprintf(next, sizeof next, "%s_v2", name);
    f = self ? dlsym(self, next) : NULL;
  }
  if (!f) pretend_missing(name);
  return f;
}
result cuGetProcAddress(const char *name, void **f, int version UNUSED, uint64_t flags UNUSED) {
  return (*f = pretend_symbol(name)) ? SUCCESS : NOT_FOUND;
}
result cuGetProcAddress_v2(const char *name, void **f, int version UNUSED, uint64_t flags UNUSED, int *status) {
  *f = pretend_symbol(name);
  if (status) *status = *f ? 0 : 1;
  return *f ? SUCCESS : NOT_FOUND;
}
