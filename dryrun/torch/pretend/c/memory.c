/* Part of libcuda.so.1: the memory of the pretend devices, cudaMalloc's and that of
 * virtual memory management, and what is read from it. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "memory.h"

enum { MAX_DEVICES = 64 };
#define ROOM (1ul << 40)              /* addresses of one device's cudaMalloc */
#define GIB (1ul << 30)

typedef struct range {                /* address-ordered; free neighbours are one */
  struct range *next;
  uintptr_t addr;
  size_t size;
  int used;
} range;

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct { size_t capacity, used; uintptr_t base; range *ranges; atomic_int active; } devices[MAX_DEVICES];
static int count, top_down;
static enum { KEEP, ZERO, ONE } fill;
static uintptr_t after;               /* where reservations begin */
static __thread int current;

static size_t env_size(const char *name, size_t otherwise) {
  const char *s = getenv(name);
  return s && *s ? strtoull(s, NULL, 10) : otherwise;
}

/* reserve takes addresses, at the place that is asked for if it is free. Under zero and
 * one nothing is ever stored there, so they are no memory. */
static void *reserve(uintptr_t at, size_t size) {
  int prot = fill == KEEP ? PROT_READ | PROT_WRITE : PROT_NONE;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *p = mmap((void *)at, size, prot, flags | MAP_FIXED_NOREPLACE, -1, 0);
  return p == MAP_FAILED && errno == EEXIST ? mmap(NULL, size, prot, flags, -1, 0) : p;
}

static void init(void) {
  const char *s = getenv("PRETEND_BASE"), *reads = getenv("PRETEND_READS");
  uintptr_t base = s && *s ? strtoull(s, NULL, 16) : 0x100000000000ull;
  fill = !reads || !*reads || !strcmp(reads, "keep") ? KEEP : !strcmp(reads, "one") ? ONE : ZERO;
  top_down = (int)env_size("PRETEND_TOPDOWN", 0);
  size_t n = env_size("PRETEND_DEVICES", 1);
  count = n > MAX_DEVICES ? MAX_DEVICES : (int)n;
  for (int i = 0; i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "PRETEND_MEMORY_%d", i);
    devices[i].capacity = env_size(name, env_size("PRETEND_MEMORY", 80 * GIB));
    devices[i].used = env_size("PRETEND_CONTEXT", GIB / 2);
    void *p = reserve(base + i * ROOM, ROOM);
    range *all = calloc(1, sizeof *all);
    if (p == MAP_FAILED || !all) {
      fprintf(stderr, "pretend CUDA: no addresses for device %d of %d: %s; lift ulimit -v\n", i, count, strerror(errno));
      abort();
    }
    *all = (range){.addr = (uintptr_t)p, .size = ROOM};
    devices[i].base = (uintptr_t)p;
    devices[i].ranges = all;
  }
  after = base + MAX_DEVICES * ROOM;
}

static void lock(void) { pthread_once(&once, init); pthread_mutex_lock(&mu); }
static void unlock(void) { pthread_mutex_unlock(&mu); }
static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

int pretend_count(void) { pthread_once(&once, init); return count; }
int pretend_current(void) { return current; }
int pretend_set_current(int device) {
  if (device < 0 || device >= pretend_count()) return -1;
  devices[current = device].active = 1;
  return 0;
}
int pretend_active(int device) { return device >= 0 && device < pretend_count() && devices[device].active; }

/* ---- cudaMalloc: first fit in whole grains ---- */

static range *split(range *r, size_t first) {
  range *rest = calloc(1, sizeof *rest);
  if (!rest) return NULL;
  *rest = (range){r->next, r->addr + first, r->size - first, 0};
  r->next = rest;
  r->size = first;
  return rest;
}

void *pretend_alloc(int device, size_t bytes) {
  range *found = NULL;
  lock();
  if (bytes <= devices[device].capacity - devices[device].used && devices[device].used <= devices[device].capacity) {
    size_t need = round_up(bytes ? bytes : 1, GRAIN);
    if (need <= devices[device].capacity - devices[device].used) {
      for (range *r = devices[device].ranges; r && !(found && !top_down); r = r->next)
        if (!r->used && r->size >= need) found = r;
      if (found && found->size > need) {
        size_t first = top_down ? found->size - need : need;
        range *rest = split(found, first);
        found = rest && top_down ? rest : rest ? found : NULL;
      }
    }
  }
  if (found) {
    found->used = 1;
    devices[device].used += found->size;
    devices[device].active = 1;
  }
  unlock();
  return found ? (void *)found->addr : NULL;
}

static void join(range *r) {          /* r takes in its free neighbour above */
  range *n = r->next;
  if (!n || n->used || r->used) return;
  r->size += n->size;
  r->next = n->next;
  free(n);
}

int pretend_free(void *p) {
  int found = 0;
  lock();
  for (int i = 0; i < count && !found; i++) {
    if ((uintptr_t)p - devices[i].base >= ROOM) continue;
    range *before = NULL;
    for (range *r = devices[i].ranges; r && !found; before = r, r = r->next) {
      if (r->addr != (uintptr_t)p || !r->used) continue;
      found = 1;
      madvise(p, r->size, MADV_DONTNEED);
      r->used = 0;
      devices[i].used -= r->size;
      join(r);
      if (before) join(before);
      break;
    }
  }
  unlock();
  return found ? 0 : -1;
}

void pretend_meminfo(int device, size_t *free_bytes, size_t *total_bytes) {
  lock();
  size_t capacity = devices[device].capacity, used = devices[device].used;
  unlock();
  *total_bytes = capacity;
  *free_bytes = used < capacity ? capacity - used : 0;
}
size_t pretend_used(int device) {
  if (device < 0 || device >= pretend_count()) return 0;
  lock();
  size_t n = devices[device].used;
  unlock();
  return n;
}

/* ---- virtual memory management: addresses, physical memory, and which is mapped where ---- */

struct physical { size_t size; int device, uses; };
typedef struct reservation {
  struct reservation *next;
  uintptr_t addr;
  size_t size;
  physical *mapped[];                 /* of each grain */
} reservation;
static reservation *reservations;

static reservation *reservation_of(uintptr_t p) {
  reservation *r = reservations;
  while (r && p - r->addr >= r->size) r = r->next;
  return r;
}

void *pretend_reserve(size_t size) {
  lock();
  reservation *r = NULL;
  if (size && size % GRAIN == 0 && size < ROOM * 16 && (r = calloc(1, sizeof *r + size / GRAIN * sizeof *r->mapped))) {
    void *p = reserve(after, size);
    if (p == MAP_FAILED) {
      free(r);
      r = NULL;
    } else {
      after += round_up(size, GIB);
      r->addr = (uintptr_t)p;
      r->size = size;
      r->next = reservations;
      reservations = r;
    }
  }
  unlock();
  return r ? (void *)r->addr : NULL;
}
int pretend_unreserve(void *p, size_t size) {
  reservation *found = NULL;
  lock();
  for (reservation **r = &reservations; *r; r = &(*r)->next)
    if ((*r)->addr == (uintptr_t)p && (*r)->size == size) { found = *r; *r = found->next; break; }
  unlock();
  if (!found) return -1;
  munmap(p, size);
  free(found);
  return 0;
}

physical *pretend_physical(int device, size_t size) {
  physical *ph = NULL;
  lock();
  if (size && size % GRAIN == 0 && device >= 0 && device < count &&
      devices[device].used <= devices[device].capacity && size <= devices[device].capacity - devices[device].used &&
      (ph = calloc(1, sizeof *ph))) {
    *ph = (physical){size, device, 1};
    devices[device].used += size;
  }
  unlock();
  return ph;
}
static void drop(physical *ph) {      /* it goes when its handle is released and it is mapped nowhere */
  if (--ph->uses) return;
  devices[ph->device].used -= ph->size;
  free(ph);
}
void pretend_release(physical *ph) { lock(); drop(ph); unlock(); }

/* map with a NULL takes away what is mapped there. */
int pretend_map(void *p, size_t size, physical *ph) {
  lock();
  reservation *r = reservation_of((uintptr_t)p);
  int ok = r && size && size % GRAIN == 0 && (uintptr_t)p % GRAIN == r->addr % GRAIN && size <= r->addr + r->size - (uintptr_t)p;
  for (size_t i = ok ? ((uintptr_t)p - r->addr) / GRAIN : 0, end = i + size / GRAIN; ok && i < end; i++) {
    physical *was = r->mapped[i];
    r->mapped[i] = ph;
    if (ph) ph->uses++;
    if (was) drop(was);
  }
  if (ok && !ph) madvise(p, size, MADV_DONTNEED);
  unlock();
  return ok ? 0 : -1;
}

int pretend_device_of(const void *p) {
  int found = -1;
  lock();
  for (int i = 0; i < count && found < 0; i++)
    if ((uintptr_t)p - devices[i].base < ROOM) found = i;
  reservation *r = found < 0 ? reservation_of((uintptr_t)p) : NULL;
  physical *ph = r ? r->mapped[((uintptr_t)p - r->addr) / GRAIN] : NULL;
  if (ph) found = ph->device;
  unlock();
  return found;
}

/* ---- what is written and read: see doc.go ---- */

typedef void (*read_callback)(const void *from, size_t bytes, long ordinal);
static _Atomic(read_callback) on_read;
static atomic_long reads, read_bytes;
void pretend_on_read(read_callback f) { on_read = f; }
long pretend_reads(void) { return reads; }
long pretend_read_bytes(void) { return read_bytes; }

void pretend_copy(void *to, const void *from, size_t n) {
  if (!n) return;
  int to_device = pretend_device_of(to) >= 0, from_device = pretend_device_of(from) >= 0;
  if (to_device) (from_device ? pretend_known_move : pretend_known_write)(to, from, n);
  if (to_device && (from_device || fill != KEEP)) return;
  if (from_device && pretend_known_read(to, from, n)) return;
  if (from_device) {
    long ordinal = atomic_fetch_add(&reads, 1) + 1;
    atomic_fetch_add(&read_bytes, (long)n);
    read_callback f = on_read;
    if (f) f(from, n, ordinal);
    if (fill != KEEP) {
      memset(to, 0, n);
      for (size_t i = 0; fill == ONE && i < n; i += 8) ((char *)to)[i] = 1;
      return;
    }
  }
  memcpy(to, from, n);
}

void pretend_set(void *p, int value, size_t n) {
  if (pretend_device_of(p) < 0) return;
  pretend_known_set(p, value, n);
  if (fill != KEEP) return;
  uintptr_t a = (uintptr_t)p, low = round_up(a, 4096), high = (a + n) & ~4095ul;
  if (value || low >= high) { memset(p, value, n); return; }
  memset(p, 0, low - a);
  madvise((void *)low, high - low, MADV_DONTNEED); /* untouched pages read as zero */
  memset((void *)high, 0, a + n - high);
}
