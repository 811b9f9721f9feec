/* Part of libcuda.so.1: what the claimed device says of itself.
 *
 * Sources: "Technical Specifications per Compute Capability" of the CUDA C++ Programming
 * Guide (threads, blocks, shared memory), and of each capability the data sheet of one
 * card for multiprocessors, L2 cache and bus: V100, T4, A100, RTX 3090, RTX 4090, H100
 * SXM, B200, RTX PRO 6000. */
#include <stdlib.h>
#include <string.h>
#include "pretend.h"

static const struct card {
  int capability, multiprocessors, shared_optin, shared, threads, blocks, l2_mib, bus, links;
  const char *name;
} cards[] = {
  {70, 80, 98304, 98304, 2048, 32, 6, 4096, 1, "NVIDIA V100 (pretend)"},
  {75, 40, 65536, 65536, 1024, 16, 4, 256, 0, "NVIDIA T4 (pretend)"},
  {80, 108, 166912, 167936, 2048, 32, 40, 5120, 1, "NVIDIA A100 (pretend)"},
  {86, 82, 101376, 102400, 1536, 16, 6, 384, 0, "NVIDIA RTX 3090 (pretend)"},
  {89, 128, 101376, 102400, 1536, 24, 72, 384, 0, "NVIDIA RTX 4090 (pretend)"},
  {90, 132, 232448, 233472, 2048, 32, 50, 5120, 1, "NVIDIA H100 (pretend)"},
  {100, 148, 232448, 233472, 2048, 32, 126, 8192, 1, "NVIDIA B200 (pretend)"},
  {120, 188, 101376, 102400, 1536, 24, 128, 512, 0, "NVIDIA RTX PRO 6000 (pretend)"},
};

static const struct card *claimed(void) {
  static const struct card *found;
  if (found) return found;
  const char *s = getenv("PRETEND_CAPABILITY"), *dot = s ? strchr(s, '.') : NULL;
  int capability = s && *s ? 10 * atoi(s) + (dot ? atoi(dot + 1) : 0) : 90;
  const struct card *best = &cards[0];          /* the nearest from below, where it is not listed */
  for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
    if (cards[i].capability <= capability) best = &cards[i];
  return found = best;
}

int pretend_capability(void) { return claimed()->capability; }
const char *pretend_name(void) { return claimed()->name; }
int pretend_links(void) { return claimed()->links; }

void pretend_uuid(char *uuid, int device) {
  memset(uuid, 0, 16);
  memcpy(uuid, "pretend", 7);
  uuid[15] = (char)(device + 1);
}

/* The numbers of the attributes are those of CUdevice_attribute in cuda.h, which
 * cudaDeviceAttr in driver_types.h shares. */
int pretend_attribute(int *v, int attribute, int device) {
  const struct card *c = claimed();
  switch (attribute) {
    case 1: case 2: case 3: *v = 1024; break;     /* threads of a block, and of its x and y */
    case 4: *v = 64; break;                       /* and of its z */
    case 5: case 11: *v = 2147483647; break;      /* grid x, largest pitch */
    case 6: case 7: *v = 65535; break;            /* grid y and z */
    case 8: *v = 49152; break;                    /* shared memory of a block */
    case 9: *v = 65536; break;                    /* constant memory */
    case 10: *v = 32; break;                      /* warp */
    case 12: case 82: *v = 65536; break;          /* registers of a block, of a multiprocessor */
    case 13: case 36: *v = 1980000; break;        /* clock rates in kHz */
    case 14: case 30: *v = 512; break;            /* alignment of textures, of surfaces */
    case 16: *v = c->multiprocessors; break;
    case 33: *v = 1 + device; break;              /* PCI bus */
    case 37: *v = c->bus; break;
    case 38: *v = c->l2_mib << 20; break;
    case 39: *v = c->threads; break;
    case 40: *v = 3; break;                       /* copy engines */
    case 51: *v = 32; break;                      /* pitch alignment of textures */
    case 75: *v = c->capability / 10; break;
    case 76: *v = c->capability % 10; break;
    case 81: *v = c->shared; break;
    case 87: *v = c->shared_optin > 150000 || c->capability == 70 ? 2 : 64; break; /* single to double */
    case 97: *v = c->shared_optin; break;
    case 106: *v = c->blocks; break;
    case 111: *v = c->capability >= 80 ? 1024 : 0; break; /* shared memory that is reserved */
    case 120: case 127: *v = c->capability >= 90; break;  /* clusters, tensor maps */
    /* True: overlap, host memory mapping, concurrent kernels, unified addressing, stream
     * priorities, L1 of globals and locals, managed memory, concurrent managed access,
     * preemption, host pointers of registered memory, cooperative launches, registering
     * host memory, virtual memory, handles as file descriptors, pools, IPC events,
     * unified function pointers. */
    case 15: case 19: case 31: case 41: case 78: case 79: case 80: case 83: case 89: case 90: case 91:
    case 95: case 96: case 99: case 102: case 103: case 115: case 125: case 129: *v = 1; break;
    /* False: run time limit, integrated, compute mode, ECC, PCI device, TCC, PCI domain,
     * multi-GPU boards, native host atomics, pageable access and its page tables, direct
     * managed access, Windows handles, compression, RDMA, fabric handles, NUMA, multicast. */
    case 17: case 18: case 20: case 32: case 34: case 35: case 50: case 84: case 85: case 86: case 88:
    case 100: case 101: case 104: case 105: case 107: case 110: case 116: case 117: case 118: case 119:
    case 128: case 130: case 132: *v = 0; break;
    default: return -1;
  }
  return 0;
}
