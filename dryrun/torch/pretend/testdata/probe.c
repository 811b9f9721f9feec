/* Calls the pretend CUDA as a program would, and prints what it gets, a line a fact. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int cudaMalloc(void **, size_t), cudaFree(void *), cudaMemGetInfo(size_t *, size_t *), cudaSetDevice(int), cudaGetDevice(int *);
extern int cudaMemcpy(void *, const void *, size_t, int), cudaMemcpyAsync(void *, const void *, size_t, int, void *), cudaMemset(void *, int, size_t);
extern int cudaMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, int, void *);
extern int cudaDeviceGetAttribute(int *, int, int), cudaGetDeviceCount(int *), cudaMallocManaged(void **, size_t, unsigned), cudaLaunchKernel(void);
extern int cudaStreamCreate(void **), cudaStreamBeginCapture(void *, int), cudaStreamEndCapture(void *, void **), cudaStreamIsCapturing(void *, int *);
extern int cudaStreamWaitEvent(void *, void *, unsigned), cudaEventCreate(void **), cudaEventRecord(void *, void *), cudaEventQuery(void *);
extern int cudaEventElapsedTime(float *, void *, void *), cudaGetDriverEntryPoint(const char *, void **, unsigned long long, int *);
extern int cuMemAddressReserve(void **, size_t, size_t, void *, unsigned long long), cuMemAddressFree(void *, size_t);
extern int cuMemCreate(void **, size_t, const int *, unsigned long long), cuMemRelease(void *), cuMemMap(void *, size_t, size_t, void *, unsigned long long), cuMemUnmap(void *, size_t);
extern int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
extern void __cudaRegisterFunction(void **, const char *, char *, const char *);
extern int cublasSgemm_v2(void), cusolverDnSgetrf_bufferSize(void);
extern const char *cudaGetErrorString(int);
extern size_t pretend_used(int);
extern long pretend_reads(void), pretend_read_bytes(void), pretend_launches(void), pretend_unsupported_calls(void);
extern const char *pretend_unsupported(void);
extern void pretend_on_read(void (*)(const void *, size_t, long));

static const size_t MIB = 1 << 20;
static const void *read_from;
static void on_read(const void *from, size_t n, long ordinal) { read_from = from; printf("read %ld of %zu bytes\n", ordinal, n); }

static void memory(void) {
  size_t free_bytes, total, again;
  void *small, *rest, *more;
  cudaMemGetInfo(&free_bytes, &total);
  printf("total %zu free %zu\n", total, free_bytes);
  printf("one byte %d takes ", cudaMalloc(&small, 1));
  cudaMemGetInfo(&again, &total);
  printf("%zu\n", free_bytes - again);
  printf("one byte more than the rest %d\n", cudaMalloc(&more, again + 1));
  printf("the rest %d\n", cudaMalloc(&rest, again));
  printf("then one byte %d", cudaMalloc(&more, 1));
  printf(": %s\n", cudaGetErrorString(2));
  printf("free %d", cudaFree(rest));
  printf(" again %d\n", cudaFree(rest));
  printf("2^64-1 bytes %d\n", cudaMalloc(&more, ~(size_t)0));
  void *a, *b, *c;
  cudaMalloc(&a, 2 * MIB); cudaMalloc(&b, 2 * MIB);
  printf("addresses rise %d\n", (char *)b > (char *)a);
  cudaFree(a);
  cudaMalloc(&c, 2 * MIB);
  printf("the hole is used again %d\n", a == c);
  cudaFree(b); cudaFree(c); cudaFree(small);
  printf("all is back %d\n", pretend_used(0) == total - free_bytes);
}

static void mapping(void) {
  void *at, *handle, *second;
  int of_device[8] = {1, 0, 1, 0};
  size_t before = pretend_used(0);
  printf("reserve %d", cuMemAddressReserve(&at, 64 * MIB, 0, NULL, 0));
  printf(" takes %zu\n", pretend_used(0) - before);
  printf("create %d", cuMemCreate(&handle, 4 * MIB, of_device, 0));
  printf(" takes %zu\n", pretend_used(0) - before);
  printf("map %d", cuMemMap(at, 4 * MIB, 0, handle, 0));
  printf(" outside %d\n", cuMemMap((char *)at + 62 * MIB, 4 * MIB, 0, handle, 0));
  cuMemRelease(handle);
  printf("released and mapped: %zu\n", pretend_used(0) - before);
  cuMemUnmap(at, 4 * MIB);
  printf("unmapped: %zu\n", pretend_used(0) - before);
  of_device[3] = 9;
  printf("of device 9 %d\n", cuMemCreate(&second, 2 * MIB, of_device, 0));
  printf("free %d", cuMemAddressFree(at, 64 * MIB));
  printf(" again %d\n", cuMemAddressFree(at, 64 * MIB));
}

static void values(void) {
  unsigned char host[24], back[24];
  for (int i = 0; i < 24; i++) host[i] = (unsigned char)(i + 7);
  void *p;
  cudaMalloc(&p, 4096);
  cudaMemcpy(p, host, sizeof host, 1);
  memset(back, 255, sizeof back);
  cudaMemcpy((char *)p + 100, p, sizeof host, 3);
  cudaMemcpy(back, (char *)p + 104, 4, 2);
  printf("known %d %d %d", back[0], back[3], back[4]);
  cudaMemset((char *)p + 102, 5, 1);
  cudaMemcpy(back, (char *)p + 102, 1, 2);
  printf(" set %d, reads %ld\n", back[0], pretend_reads());
  cudaLaunchKernel();
  printf("written, reads %ld\n", pretend_reads());
  pretend_on_read(on_read);
  memset(back, 255, sizeof back);
  cudaMemcpy(back, p, sizeof back, 2);
  for (int i = 0; i < 24; i++) printf("%d ", back[i]);
  printf("\nfrom the device %d\n", read_from == p);
  pretend_on_read(NULL);
  cudaMemset(p, 0, 4096);
  cudaLaunchKernel();
  cudaMemcpy2DAsync(back, 8, p, 512, 4, 2, 2, NULL);
  printf("%d %d %d, reads %ld of %ld bytes\n", back[0], back[4], back[8], pretend_reads(), pretend_read_bytes());
}

static void graphs(void) {
  void *s, *side, *event, *graph;
  int on, joined, after;
  cudaStreamCreate(&s); cudaStreamCreate(&side); cudaEventCreate(&event);
  printf("capture of the default stream %d\n", cudaStreamBeginCapture(NULL, 0));
  cudaStreamBeginCapture(s, 0);
  cudaEventRecord(event, s);
  cudaStreamWaitEvent(side, event, 0);
  cudaStreamIsCapturing(s, &on); cudaStreamIsCapturing(side, &joined);
  printf("capturing %d, joined %d", on, joined);
  cudaStreamEndCapture(s, &graph);
  cudaStreamIsCapturing(side, &after);
  printf(", after %d\n", after);
  printf("event");
  for (int i = 0; i < 3; i++) printf(" %d", cudaEventQuery(event));
  printf("\n");
}

static void notes(void) {
  int v, found;
  float ms;
  void *p;
  cudaLaunchKernel(); cublasSgemm_v2();
  printf("kernels %ld, refused %ld\n", pretend_launches(), pretend_unsupported_calls());
  printf("managed %d", cudaMallocManaged(&p, 4, 1));
  printf(": %s\n", cudaGetErrorString(801));
  printf("solver %d", cusolverDnSgetrf_bufferSize());
  printf(", attribute 9999 %d\n", cudaDeviceGetAttribute(&v, 9999, 0));
  cusolverDnSgetrf_bufferSize();
  cudaEventElapsedTime(&ms, NULL, NULL);
  cudaGetDriverEntryPoint("cuMemGetInfo", &p, 0, &found);
  printf("cuMemGetInfo found %d", !found);
  cudaGetDriverEntryPoint("cuNothing\n", &p, 0, &found);
  printf(", cuNothing found %d\n", !found);
  printf("first %s of %ld\n", pretend_unsupported(), pretend_unsupported_calls());
}

static void scan(void) {
  int blocks;
  __cudaRegisterFunction(NULL, "scan", NULL, "_ZN3cub16DeviceScanKernelI");
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, "scan", 256, 0);
  printf("blocks %d\n", blocks);
}

static void reduce(void) {
  int blocks;
  __cudaRegisterFunction(NULL, "reduce", NULL, "_ZN3cub18DeviceReduceKernelI");
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, "reduce", 256, 0);
  printf("blocks %d\n", blocks);
}

static void card(void) {
  int n, major, minor, device = -1;
  cudaGetDeviceCount(&n);
  cudaDeviceGetAttribute(&major, 75, 0); cudaDeviceGetAttribute(&minor, 76, 0);
  printf("devices %d capability %d.%d\n", n, major, minor);
  printf("set last %d", cudaSetDevice(n - 1));
  cudaGetDevice(&device);
  printf(" now %d, set beyond %d\n", device, cudaSetDevice(n));
}

int main(int argc, char **argv) {
  static const struct { const char *name; void (*run)(void); } parts[] = {
    {"memory", memory}, {"mapping", mapping}, {"values", values}, {"graphs", graphs}, {"notes", notes}, {"scan", scan}, {"reduce", reduce}, {"card", card}};
  for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof *parts; i++)
    if (!strcmp(argv[1], parts[i].name)) parts[i].run();
  return 0;
}
