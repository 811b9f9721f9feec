/* libnvidia-ml.so.1: as much of the management library as tells torch which devices there
 * are, and that it cannot know of links and other processes. */
#include "pretend.h"

enum { SUCCESS = 0, INVALID = 2, NOT_SUPPORTED = 3 };
static char devices[64];

int nvmlInit(void) { return SUCCESS; }
int nvmlInit_v2(void) { return SUCCESS; }
int nvmlInitWithFlags(unsigned flags UNUSED) { return SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int e) { return e ? "the pretend device does not tell" : "success"; }
int nvmlSystemGetCudaDriverVersion(int *v) { *v = CUDA; return SUCCESS; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = CUDA; return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = (unsigned)pretend_count(); return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) {
  if (i >= (unsigned)pretend_count()) return INVALID;
  *d = &devices[i];
  return SUCCESS;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *id UNUSED, void **d) { return nvmlDeviceGetHandleByIndex_v2((unsigned)pretend_current(), d); }
int nvmlDeviceGetGpuFabricInfoV(void *d UNUSED, void *info UNUSED) { return NOT_SUPPORTED; }
int nvmlDeviceGetNvLinkRemoteDeviceType(void *d UNUSED, unsigned l UNUSED, int *t UNUSED) { return NOT_SUPPORTED; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d UNUSED, unsigned l UNUSED, void *i UNUSED) { return NOT_SUPPORTED; }
int nvmlDeviceGetComputeRunningProcesses(void *d UNUSED, unsigned *n, void *p UNUSED) { *n = 0; return SUCCESS; }
