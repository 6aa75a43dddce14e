// Uploads and downloads chunks as fast as a market takes them, beside the same work without a market: hash,
// compress, write and sync; read and decompress. Prints a line for each; bench/blob/run gives it a market.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/chunk.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/zstd.h"
#include "market/store/blob_files.h"
#include "tests/support/http.h"

namespace {

using namespace remotist;
using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr int kThreads = 8;

// Doubles with a few digits, as data that R writes: zstd makes about a third of it.
std::string like_data(std::mt19937_64& random) {
  std::string bytes(limits::kChunkBytesMax, '\0');
  for (std::size_t i = 0; i + sizeof(double) <= bytes.size(); i += sizeof(double)) {
    const double value = static_cast<double>(random() % 100'000) / 100;
    std::copy_n(reinterpret_cast<const char*>(&value), sizeof value, bytes.data() + i);
  }
  return bytes;
}

struct Figures {
  double mib_per_second;
  double p50_ms;
  double p99_ms;
};

// Runs work(thread, i) for every chunk, shared among the threads; each chunk is 1 MiB.
Figures measure(std::size_t chunks, const std::function<void(int, std::size_t)>& work) {
  std::vector<std::vector<double>> took(kThreads);
  const auto began = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = static_cast<std::size_t>(t); i < chunks; i += kThreads) {
          const auto start = Clock::now();
          work(t, i);
          took[static_cast<std::size_t>(t)].push_back(
              std::chrono::duration<double, std::milli>(Clock::now() - start).count());
        }
      });
    }
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  std::vector<double> all;
  for (const auto& some : took) all.insert(all.end(), some.begin(), some.end());
  std::ranges::sort(all);
  return {static_cast<double>(chunks) / seconds, all[all.size() / 2], all[all.size() * 99 / 100]};
}

void print(const char* name, const Figures& figures, const Figures* floor = nullptr) {
  std::printf("%-34s %9.0f %9.2f %9.2f", name, figures.mib_per_second, figures.p50_ms, figures.p99_ms);
  if (floor != nullptr) std::printf(" %7.0f %%", 100 * figures.mib_per_second / floor->mib_per_second);
  std::printf("\n");
  std::fflush(stdout);
}

[[noreturn]] void fail(const std::string& what, const test::HttpAnswer& answer) {
  std::fprintf(stderr, "%s: status %d %s\n", what.c_str(), answer.status, answer.body.substr(0, 500).c_str());
  std::exit(1);
}

struct Market {
  std::string url;
  std::string token;
  std::vector<std::unique_ptr<test::Http>> clients;

  explicit Market(std::string at) : url(std::move(at)) {
    for (int i = 0; i < kThreads; ++i) clients.push_back(std::make_unique<test::Http>(url));
    const json who{{"email", "bench@example.org"}, {"password", "no secret"}};
    (void)clients[0]->send("POST", "/user/register", who);
    const auto answer = clients[0]->send("POST", "/user/login", who);
    if (answer.status != 200) fail("log in", answer);
    token = answer.json()["token"];
  }

  test::HttpAnswer call(int thread, const char* method, const std::string& path, const std::string& body = {},
                        const std::string& header = {}) {
    std::vector<std::string> headers{"Authorization: Bearer " + token};
    if (!header.empty()) headers.push_back(header);
    auto answer = clients[static_cast<std::size_t>(thread)]->call(method, path, body, headers);
    if (answer.status / 100 != 2) fail(std::string{method} + " " + path, answer);
    return answer;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s URL FOLDER CHUNKS\n", argv[0]);
    return 2;
  }
  crypto_start();
  const auto count = static_cast<std::size_t>(std::stoul(argv[3]));
  std::mt19937_64 random{1};
  std::vector<std::string> chunks;
  std::vector<ChunkName> names;
  std::vector<std::string> frames;
  for (std::size_t i = 0; i < count; ++i) {
    chunks.push_back(like_data(random));
    names.push_back(ChunkName::of(chunks.back()));
    frames.push_back(zstd_compress(chunks.back()));
  }
  std::printf("%zu chunks of 1 MiB, of which zstd makes %.0f %%; %d at a time\n\n", count,
              100.0 * static_cast<double>(frames[0].size()) / limits::kChunkBytesMax, kThreads);
  std::printf("%-34s %9s %9s %9s %9s\n", "", "MiB/s", "p50 ms", "p99 ms", "ratio");

  const market::BlobFiles files{std::filesystem::path{argv[2]}};
  std::vector<market::BlobFile> written;
  for (const auto& name : names) written.push_back({name, GenerationId::make()});
  const auto write_floor = measure(count, [&](int, std::size_t i) {
    if (ChunkName::of(chunks[i]) != names[i]) std::abort();
    files.write(written[i], zstd_compress(chunks[i]));
  });
  print("hash, compress, write, sync", write_floor);

  Market market{argv[1]};
  const auto put = measure(count, [&](int t, std::size_t i) {
    (void)market.call(t, "PUT", "/blob/" + names[i].hex(), chunks[i]);
  });
  print("PUT /blob/{sha256}", put, &write_floor);
  const auto again = measure(count, [&](int t, std::size_t i) {
    (void)market.call(t, "PUT", "/blob/" + names[i].hex(), frames[i], "Content-Encoding: zstd");
  });
  print("PUT what is there already, zstd", again, &write_floor);

  json all = json::array();
  for (const auto& name : names) all.push_back(name.hex());
  const auto missing = measure(kThreads * 20, [&](int t, std::size_t) {
    (void)market.call(t, "POST", "/blob/missing", json{{"chunks", all}}.dump());
  });
  print(("POST /blob/missing of " + std::to_string(count) + " (calls/s)").c_str(), missing);

  const std::string job =
      json::parse(market.call(0, "PUT", "/job/", R"({"name": "bench", "exec_file": "m.R"})").body)["id"];
  (void)market.call(0, "POST", "/job/" + job + "/data",
                    json{{"path", "data"}, {"size", count * limits::kChunkBytesMax}, {"chunks", all}}.dump());

  const auto read_floor = measure(count, [&](int, std::size_t i) {
    if (zstd_decompress(*files.read(written[i]), limits::kChunkBytesMax) != chunks[i]) std::abort();
  });
  print("read, decompress", read_floor);
  const auto get = measure(count, [&](int t, std::size_t i) {
    const auto answer =
        market.call(t, "GET", "/blob/" + names[i].hex() + "?job=" + job, {}, "Accept-Encoding: zstd");
    if (zstd_decompress(answer.body, limits::kChunkBytesMax) != chunks[i]) fail("wrong bytes", answer);
  });
  print("GET /blob/{sha256}, zstd", get, &read_floor);
  const auto plain = measure(count, [&](int t, std::size_t i) {
    const auto answer =
        market.call(t, "GET", "/blob/" + names[i].hex() + "?job=" + job, {}, "Accept-Encoding: identity");
    if (answer.body != chunks[i]) fail("wrong bytes", answer);
  });
  print("GET /blob/{sha256}, plain", plain, &read_floor);
}
