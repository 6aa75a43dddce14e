// Makes a map for programs in the kernel.
#include <linux/bpf.h>
#include <sys/syscall.h>

#include "hostile.h"

void misbehave(void) {
  union bpf_attr map = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
  trying("bpf");
  judged("bpf", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map));
}
