#include <algorithm>
#include <stdexcept>
#include <string>

#include "tests/sandbox_cases/case.h"

namespace remotist::volunteer::cases {
namespace {

using enum Group;
using enum Unguarded;

GuestLimits small_limits() {
  GuestLimits limits;
  limits.ram_mb = 256;
  limits.disc_mb = 20;
  limits.inodes_max = 1000;
  return limits;
}

GuestLimits cpu_limit(std::int64_t ms) {
  GuestLimits limits;
  limits.cpu_ms_max = ms;
  return limits;
}

constexpr std::string_view kLoad = "load";

std::vector<Case> make_files() {
  return {
      {.key = "absolute_path", .group = files, .script = "absolute_path"},
      {.key = "dot_dot", .group = files, .script = "dot_dot"},
      {.key = "symlink", .group = files, .script = "symlink"},
      {.key = "hard_link", .group = files, .script = "hard_link"},
      {.key = "proc_root", .group = files, .script = "proc_root"},
      {.key = "bind_mount",
       .group = files,
       .script = kLoad,
       .program = "bind_mount",
       .unguarded = kernel_may_refuse,
       .why = "mount(2) needs root"},
      {.key = "agents_token", .group = files, .script = "agents_token"},
      {.key = "other_user", .group = files, .script = "other_user"},
      {.key = "other_job", .group = files, .script = "other_job"},
      {.key = "environment",
       .group = files,
       .script = "environment",
       .unguarded = kernel_may_refuse,
       .why = "an ordinary user's zygote always has a user namespace"},
      {.key = "write_outside", .group = files, .script = "write_outside"},
      {.key = "kernel_settings",
       .group = files,
       .script = "kernel_settings",
       .unguarded = kernel_may_refuse,
       .why = "kernel settings belong to root"},
      {.key = "open_descriptors",
       .group = files,
       .script = kLoad,
       .program = "open_descriptors",
       .unguarded = held_by_host,
       .why = "exec closes the descriptors"},
      {.key = "left_fifo",
       .group = files,
       .script = kLoad,
       .program = "left_fifo",
       .unguarded = kernel_may_refuse,
       .why = "mknod(2) needs root of the real machine"},
      {.key = "odd_names",
       .group = files,
       .script = "odd_names",
       .unguarded = held_by_host,
       .why = "the host checks every name"},
      {.key = "locked_folders",
       .group = files,
       .script = "locked_folders",
       .unguarded = held_by_host,
       .why = "remove_folder() sets the modes"},
      {.key = "change_owner", .group = files, .script = kLoad, .program = "change_owner"},
      {.key = "flock_host", .group = files, .script = kLoad, .program = "flock_host"},
      {.key = "lock_host", .group = files, .script = kLoad, .program = "lock_host"},
      {.key = "device_times", .group = files, .script = kLoad, .program = "device_times"},
  };
}

std::vector<Case> make_network_cases() {
  return {
      {.key = "ipv4", .group = network, .script = kLoad, .program = "ipv4"},
      {.key = "ipv6", .group = network, .script = kLoad, .program = "ipv6"},
      {.key = "udp", .group = network, .script = kLoad, .program = "udp"},
      {.key = "socket_r", .group = network, .script = "socket_r"},
      {.key = "unix_socket", .group = network, .script = kLoad, .program = "unix_socket"},
      {.key = "abstract_socket", .group = network, .script = kLoad, .program = "abstract_socket"},
      {.key = "dns", .group = network, .script = "dns"},
      {.key = "netlink", .group = network, .script = kLoad, .program = "netlink"},
      {.key = "socket_ioctl", .group = network, .script = kLoad, .program = "socket_ioctl"},
  };
}

std::vector<Case> make_resources() {
  const auto in_memory = [](std::string_view key) {
    return Case{.key = key,
                .group = resources,
                .script = kLoad,
                .program = key,
                .endings = {"completed", "limit:ram"},
                .limits = small_limits()};
  };
  const auto holding = [](std::string_view key) {
    return Case{.key = key,
                .group = resources,
                .script = kLoad,
                .program = key,
                .endings = {"completed", "limit:disc", "limit:inodes"},
                .limits = small_limits()};
  };
  // Too large for a disc in memory, so that an ordinary user's agent scans the folder.
  auto scanned = holding("deleted_mapped");
  scanned.key = "deleted_mapped_large";
  scanned.limits.disc_mb = 80;
  auto hidden = in_memory("memory_hidden");
  hidden.unguarded = kernel_may_refuse;
  hidden.why = "only root can install the program";
  const auto full = [](std::string_view key, std::string_view ending) {
    return Case{.key = key, .group = resources, .script = key, .endings = {ending}, .limits = small_limits()};
  };
  return {
      {.key = "fork_bomb", .group = resources, .script = kLoad, .program = "fork_bomb"},
      {.key = "mcparallel", .group = resources, .script = "mcparallel"},
      {.key = "crowd_out",
       .group = resources,
       .script = kLoad,
       .program = "fork_bomb",
       .unguarded = held_by_host,
       .why = "a machine allows more processes than the case makes",
       .beside_neighbour = true},
      {.key = "thread_bomb", .group = resources, .script = kLoad, .program = "thread_bomb"},
      {.key = "memory_vector", .group = resources, .script = "memory_vector", .limits = small_limits()},
      {.key = "memory_malloc",
       .group = resources,
       .script = kLoad,
       .program = "memory_malloc",
       .endings = {"completed", "limit:ram"},
       .limits = small_limits()},
      {.key = "memory_files",
       .group = resources,
       .script = kLoad,
       .program = "memory_files",
       .endings = {"completed", "limit:ram", "limit:disc"},
       .limits = small_limits()},
      {.key = "memory_forks",
       .group = resources,
       .script = kLoad,
       .program = "memory_forks",
       .endings = {"completed", "limit:ram"},
       .limits = small_limits()},
      {.key = "memory_sockets",
       .group = resources,
       .script = kLoad,
       .program = "memory_sockets",
       .endings = {"completed", "limit:ram"},
       .limits = small_limits()},
      in_memory("memory_shared_fork"),
      in_memory("memory_shared_dontneed"),
      in_memory("memory_dev_zero"),
      in_memory("memory_dead_leader"),
      hidden,
      {.key = "memory_hugetlb",
       .group = resources,
       .script = kLoad,
       .program = "memory_hugetlb",
       .unguarded = kernel_may_refuse,
       .why = "a kernel may lack it"},
      {.key = "pipe_pages",
       .group = resources,
       .script = kLoad,
       .program = "pipe_pages",
       .endings = {"completed", "limit:ram"}},
      in_memory("locks_many"),
      {.key = "disc",
       .group = resources,
       .script = "disc",
       .endings = {"completed", "limit:disc"},
       .limits = small_limits()},
      {.key = "disc_unlinked",
       .group = resources,
       .script = kLoad,
       .program = "disc_unlinked",
       .endings = {"completed", "limit:disc"},
       .limits = small_limits()},
      holding("deleted_mapped"),
      holding("deleted_libraries"),
      holding("thread_descriptors"),
      holding("memfd_name"),
      holding("fallocate"),
      holding("nameless_inodes"),
      scanned,
      full("disc_full", "completed"),
      full("disc_full_fails", "limit:disc"),
      {.key = "sparse_results",
       .group = resources,
       .script = "sparse_results",
       .limits = small_limits(),
       .unguarded = held_by_host,
       .why = "the host sums up the sizes"},
      {.key = "disc_deep",
       .group = resources,
       .script = kLoad,
       .program = "disc_deep",
       .endings = {"completed", "limit:disc", "limit:inodes"},
       .limits = small_limits()},
      {.key = "inodes",
       .group = resources,
       .script = "inodes",
       .endings = {"completed", "limit:inodes"},
       .limits = small_limits()},
      {.key = "sparse_file", .group = resources, .script = kLoad, .program = "sparse_file"},
      {.key = "descriptors", .group = resources, .script = kLoad, .program = "descriptors"},
      {.key = "output",
       .group = resources,
       .script = "output",
       .unguarded = held_by_host,
       .why = "the host keeps only head and tail"},
      {.key = "cpu", .group = resources, .script = "cpu", .endings = {"limit:cpu"}, .limits = cpu_limit(500)},
      {.key = "cpu_threads",
       .group = resources,
       .script = kLoad,
       .program = "cpu_threads",
       .endings = {"limit:cpu"},
       .limits = cpu_limit(500)},
      {.key = "cpu_unseen",
       .group = resources,
       .script = kLoad,
       .program = "cpu_unseen",
       .endings = {"limit:cpu"},
       .limits = cpu_limit(500)},
      {.key = "deep_folders",
       .group = resources,
       .script = kLoad,
       .program = "deep_folders",
       .endings = {"completed", "limit:inodes"},
       .unguarded = held_by_host,
       .why = "remove_folder() works with descriptors"},
  };
}

std::vector<Case> make_kernel() {
  const auto of = [](std::string_view key, Unguarded unguarded, std::string_view why, bool real_root) {
    return Case{.key = key,
                .group = kernel,
                .script = kLoad,
                .program = key,
                .unguarded = unguarded,
                .why = why,
                .needs_real_root = real_root};
  };
  return {
      of("mount", kernel_may_refuse, "mount(2) needs root", false),
      of("new_mount_api", kernel_may_refuse, "needs root", false),
      of("namespaces", escapes, "", false),
      of("setns", escapes, "", false),
      of("ptrace", kernel_may_refuse, "Yama may forbid it", false),
      of("process_memory", kernel_may_refuse, "an ordinary user's zygote always has a user namespace", false),
      of("perf_event", kernel_may_refuse, "kernel.perf_event_paranoid", false),
      of("bpf", kernel_may_refuse, "kernel.unprivileged_bpf_disabled", true),
      of("keyctl", escapes, "", false),
      of("userfaultfd", kernel_may_refuse, "a kernel may lack it", false),
      of("io_uring", kernel_may_refuse, "a kernel may lack it", false),
      of("other_abi", kernel_may_refuse, "a kernel may lack it", false),
      of("run_program", escapes, "", false),
      of("host_name", escapes, "", false),
      of("shared_memory", escapes, "", false),
      of("sysinfo", escapes, "", false),
      of("page_cache", escapes, "", false),
      of("page_merging", kernel_may_refuse, "a kernel may lack it", false),
      of("dnotify", escapes, "", false),
      of("uptime", escapes, "", false),
      of("zygote_argv", escapes, "", false),
      of("socket_filter", escapes, "", false),
  };
}

std::vector<Case> make_processes() {
  const auto of = [](std::string_view key, Unguarded unguarded = escapes, std::string_view why = {}) {
    return Case{
        .key = key, .group = processes, .script = kLoad, .program = key, .unguarded = unguarded, .why = why};
  };
  const auto survivor = [&](std::string_view key, Unguarded unguarded = held_by_host) {
    auto made = of(key, unguarded, unguarded == escapes ? "" : "SIGKILL ends a guest, in any case");
    made.endings = {"cancelled"};
    made.cancel = true;
    return made;
  };
  auto all = of("signal_all");
  all.endings = {"completed", "killed"};
  all.ends_everything = true;
  return {
      of("signal_outside"),
      all,
      of("signal_agent"),
      of("stop_zygote"),
      of("see_processes"),
      of("become_root", kernel_may_refuse, "an ordinary user cannot, sandbox or not"),
      of("privileges"),
      of("raise_limits", kernel_may_refuse, "needs root"),
      of("leave_behind"),
      survivor("survive_ignoring"),
      survivor("survive_loop"),
      survivor("survive_stopped"),
      survivor("survive_orphan", escapes),
  };
}

std::vector<Case> make_protocol() {
  const auto of = [](std::string_view key, std::vector<std::string_view> endings) {
    return Case{.key = key,
                .group = protocol,
                .script = kLoad,
                .program = key,
                .endings = std::move(endings),
                .unguarded = held_by_host,
                .why = "the host's frame reader has no switch"};
  };
  auto flood = of("flood", {"limit:frames"});
  flood.unguarded = escapes;
  auto odd = of("odd_progress", {"completed"});
  odd.script = "odd_progress";
  odd.program = {};
  return {
      of("forged_frames", {"completed", "killed", "limit:frames"}),
      of("forged_end", {"completed", "killed"}),
      of("forged_result", {"killed"}),
      of("late_frames", {"completed"}),
      of("torn_frame", {"killed", "limit:frames"}),
      of("huge_frame", {"killed", "limit:frames"}),
      flood,
      of("garbage", {"completed", "killed", "limit:frames"}),
      of("sent_descriptors", {"completed", "killed", "limit:frames"}),
      of("closed_socket", {"killed", "limit:frames"}),
      odd,
  };
}

std::vector<Case> make_r() {
  const auto of = [](std::string_view key, std::vector<std::string_view> endings = {"completed"}) {
    return Case{.key = key,
                .group = r,
                .script = key,
                .endings = std::move(endings),
                .unguarded = held_by_host,
                .why = "nothing to escape from"};
  };
  const auto program = [&](std::string_view key) {
    auto made = of(key, {"killed"});
    made.script = kLoad;
    made.program = key;
    return made;
  };
  auto on_exit = of("on_exit", {"cancelled"});
  on_exit.cancel = true;
  return {
      of("plain"),
      of("children"),
      of("quit"),
      of("working_directory"),
      of("read_line"),
      of("plot"),
      of("last"),
      of("browser", {"completed", "r_error"}),
      of("recursion", {"r_error"}),
      on_exit,
      of("error", {"r_error"}),
      of("warnings"),
      of("encoding", {"r_error"}),
      of("odd_condition", {"r_error"}),
      of("poisoned_environment", {"completed", "r_error"}),
      of("poisoned_functions", {"completed", "r_error"}),
      of("sink"),
      program("segfault"),
      program("abort"),
  };
}

std::vector<Case> make_all() {
  std::vector<Case> all;
  for (auto&& group : {make_files(), make_network_cases(), make_resources(), make_kernel(), make_processes(),
                       make_protocol(), make_r()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace

std::string_view name_of(Group group) {
  constexpr std::string_view kNames[] = {"files",     "network",  "resources", "kernel",
                                         "processes", "protocol", "R"};
  return kNames[static_cast<std::size_t>(group)];
}

const std::vector<Case>& all_cases() {
  static const auto all = make_all();
  return all;
}

const Case& case_of(std::string_view key) {
  const auto found = std::ranges::find(all_cases(), key, &Case::key);
  if (found == all_cases().end()) throw std::out_of_range{"no case is called " + std::string{key}};
  return *found;
}

}  // namespace remotist::volunteer::cases
