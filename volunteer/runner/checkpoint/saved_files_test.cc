#include "volunteer/runner/checkpoint/saved_files.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <thread>
#include <unistd.h>

#include "tests/fuzz/checkpoints.h"

namespace remotist::volunteer::checkpoint {

namespace {

namespace fs = std::filesystem;

// A job's folder; checkpoints of it are kept, each confirmed at once.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "saved-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }

  fs::path operator/(const std::string& name) const { return path_ / name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream{path_ / name, std::ios::binary} << text;
  }
  // Past the tick in which a file was written: the clock of files has moved on.
  void pass_tick() const {
    write("clock", "");
    struct stat then{};
    struct stat now{};
    ::stat((path_ / "clock").c_str(), &then);
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
      write("clock", "");
      ::stat((path_ / "clock").c_str(), &now);
    } while ((now.st_mtim.tv_sec - then.st_mtim.tv_sec) * 1'000'000'000 + now.st_mtim.tv_nsec -
                 then.st_mtim.tv_nsec <
             30'000'000);
    fs::remove(path_ / "clock");
  }

  // How many files a checkpoint reads.
  std::size_t save(bool exact_times = true) {
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto& entry : fs::directory_iterator{path_})
      files.emplace_back(entry.path().string(), "work/" + entry.path().filename().string());
    std::ranges::sort(files);
    SavedFiles saved;
    REQUIRE(saved.take(files, {path_, exact_times}, known_) == "");
    const Descriptor file{::memfd_create("checkpoint", MFD_CLOEXEC)};
    ChunkWriter writer{file.get(), &known_};
    CheckpointTable table;
    REQUIRE(saved.put(writer, known_, table));
    writer.end_chunk();
    table.chunks = writer.chunks();
    REQUIRE(writer.finish(encode(CheckpointManifest{})));
    Descriptor kept{::memfd_create("table", MFD_CLOEXEC)};
    REQUIRE(write_table(kept.get(), table));
    known_.add(++number_, std::move(kept));
    known_.confirm(number_);
    known_.update();
    REQUIRE(known_.base() != nullptr);
    keep(file.get());
    return saved.read_count();
  }

  // The files in the last checkpoint, put together from all of them.
  std::map<std::string, std::string> restored() const {
    const auto file = fuzz::file_with("");
    REQUIRE(assemble_checkpoint(file.get(), encode(CheckpointManifest{}), names_,
                                [&](std::size_t i) { return std::optional{frames_.at(names_[i])}; }) == "");
    auto chunks = ChunkReader::of(file.get());
    REQUIRE(chunks);
    SavedFileReader reader{*chunks};
    REQUIRE(reader.read_table());
    std::map<std::string, std::string> all;
    for (const auto& header : reader.files()) {
      REQUIRE(reader.move_to(header));
      auto& text = all[header.path];
      text.resize(header.length);
      REQUIRE(chunks->read(text.data(), text.size()));
      reader.passed(header);
    }
    return all;
  }
  void check_restored() const {
    std::map<std::string, std::string> wanted;
    for (const auto& entry : fs::directory_iterator{path_}) {
      std::ifstream in{entry.path(), std::ios::binary};
      wanted["work/" + entry.path().filename().string()] = {std::istreambuf_iterator<char>{in}, {}};
    }
    CHECK(restored() == wanted);
  }
  const KnownCheckpoints& known() const { return known_; }

 private:
  void keep(int descriptor) {
    const auto file = CheckpointFile::open(descriptor);
    REQUIRE(file);
    names_.clear();
    for (std::size_t i = 0; i < file->chunks().size(); ++i) {
      names_.push_back(file->chunks()[i].name);
      if (const auto frame = file->frame(i)) frames_[names_.back()] = *frame;
    }
  }

  fs::path path_;
  KnownCheckpoints known_;
  std::uint64_t number_ = 0;
  std::map<ChunkHash, std::string> frames_;
  std::vector<ChunkHash> names_;
};

// In memory a write through a mapping leaves no time; there the host does not ask for these.
bool times_are_exact(const Folder& folder) {
  struct statfs state{};
  return ::statfs((folder / "").c_str(), &state) == 0 && state.f_type != 0x01021994 /* tmpfs */;
}

}  // namespace

TEST_CASE("files that did not change are not read again, and every checkpoint has all of them") {
  Folder folder;
  folder.write("large", std::string(kLargeFileBytes, 'l'));
  folder.write("empty", "");
  for (int i = 0; i < 20; ++i)
    folder.write("small" + std::to_string(i), std::string(1000, static_cast<char>('a' + i)));
  folder.pass_tick();
  CHECK(folder.save() == 22);
  folder.check_restored();
  CHECK(folder.save() == 0);
  folder.check_restored();
  folder.write("small3", "changed");
  folder.write("new", "new");
  fs::remove(folder / "small5");
  folder.pass_tick();
  CHECK(folder.save() == 2);
  folder.check_restored();
  CHECK(folder.save() == 0);
  folder.check_restored();
}

TEST_CASE("without exact times every file is read for every checkpoint") {
  Folder folder;
  folder.write("file", "text");
  folder.pass_tick();
  CHECK(folder.save(false) == 1);
  CHECK(folder.save(false) == 1);
}

TEST_CASE("a file that changed in the tick of its checkpoint is read again for the next one") {
  Folder folder;
  folder.write("file", "one");
  folder.save();
  folder.write("file", "two");
  CHECK(folder.save() == 1);
  folder.check_restored();
}

TEST_CASE("a file whose time was set back is read again") {
  Folder folder;
  folder.write("file", "one");
  folder.pass_tick();
  folder.save();
  const auto before = fs::last_write_time(folder / "file");
  folder.write("file", "two");
  fs::last_write_time(folder / "file", before);
  CHECK(folder.save() == 1);
  folder.check_restored();
}

TEST_CASE("a file that another one of the same size replaced is read again") {
  Folder folder;
  folder.write("file", "one");
  folder.write("other", "two");
  folder.pass_tick();
  folder.save();
  fs::rename(folder / "other", folder / "file");
  CHECK(folder.save() == 1);
  folder.check_restored();
}

TEST_CASE("a file that was open for writing at its checkpoint is read again, and one that is now") {
  Folder folder;
  folder.write("file", "one");
  folder.pass_tick();
  {
    const Descriptor writer{::open((folder / "file").c_str(), O_WRONLY | O_CLOEXEC)};
    CHECK(folder.save() == 1);
  }
  CHECK(folder.save() == 1);
  CHECK(folder.save() == 0);
  const Descriptor writer{::open((folder / "file").c_str(), O_WRONLY | O_CLOEXEC)};
  CHECK(folder.save() == 1);
}

TEST_CASE(
    "a file that was mapped for writing at its checkpoint is read again, although its times do not change") {
  Folder folder;
  folder.write("file", std::string(4096, 'a'));
  const auto map = [&] {
    const Descriptor file{::open((folder / "file").c_str(), O_RDWR | O_CLOEXEC)};
    return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  };
  void* const mapping = map();
  REQUIRE(mapping != MAP_FAILED);
  std::memset(mapping, 'b', 4096);
  folder.pass_tick();
  CHECK(folder.save() == 1);
  std::memset(mapping, 'c', 4096);
  CHECK(folder.save() == 1);
  folder.check_restored();
  std::memset(mapping, 'd', 4096);
  ::munmap(mapping, 4096);
  CHECK(folder.save() == 1);
  folder.check_restored();
  if (!times_are_exact(folder)) return;
  folder.pass_tick();
  folder.save();
  CHECK(folder.save() == 0);
  void* const later = map();
  std::memset(later, 'e', 4096);
  ::munmap(later, 4096);
  CHECK(folder.save() == 1);
  folder.check_restored();
}

TEST_CASE("small files are packed anew when less than half of their pack is in use") {
  Folder folder;
  for (int i = 0; i < 10; ++i) folder.write("small" + std::to_string(i), std::string(1000, 'x'));
  folder.pass_tick();
  CHECK(folder.save() == 10);
  for (int i = 0; i < 5; ++i) fs::remove(folder / ("small" + std::to_string(i)));
  CHECK(folder.save() == 0);
  CHECK(folder.known().base()->runs[0].length == 10'000);
  fs::remove(folder / "small5");
  CHECK(folder.save() == 4);
  CHECK(folder.known().base()->runs[0].length == 4'000);
  folder.check_restored();
}

TEST_CASE("what is not a regular file is named") {
  Folder folder;
  SavedFiles saved;
  fs::create_symlink("/etc/passwd", folder / "link");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0644) == 0);
  for (const char* name : {"link", "pipe", "absent"}) {
    const auto path = (folder / name).string();
    CHECK(saved.take({{path, "work/x"}}, {folder / "", true}, folder.known()) == path);
  }
}

TEST_CASE("a table of files that does not fit is damaged") {
  const auto is_read = [](const auto& put) {
    const Descriptor file{::memfd_create("checkpoint", MFD_CLOEXEC)};
    ChunkWriter writer{file.get()};
    put(writer);
    writer.end_chunk();
    writer.put_plain("0123456789");
    REQUIRE(writer.finish(encode(CheckpointManifest{})));
    auto chunks = ChunkReader::of(file.get());
    REQUIRE(chunks);
    return SavedFileReader{*chunks}.read_table();
  };
  struct File {
    std::uint64_t length = 3;
    std::uint32_t run = 0;
    std::uint64_t offset = 0;
  };
  const auto files = [&](const std::vector<File>& all, std::uint64_t count = 0) {
    return is_read([&](ChunkWriter& writer) {
      writer.number(std::uint64_t{1});
      writer.number(std::uint64_t{10});
      writer.number(count == 0 ? std::uint64_t{all.size()} : count);
      for (const auto& file : all) {
        writer.number(std::uint32_t{1});
        writer.put("f", 1);
        writer.number(std::uint32_t{0644});
        writer.number(std::int64_t{0});
        writer.number(std::int64_t{0});
        writer.number(file.length);
        writer.number(file.run);
        writer.number(file.offset);
      }
    });
  };
  CHECK(files({{}, {.offset = 3}, {.length = 4, .offset = 6}}));
  CHECK(files({{.length = 0, .run = 77, .offset = 99}}));
  CHECK_FALSE(files({{.run = 1}}));
  CHECK_FALSE(files({{.offset = 8}}));
  CHECK_FALSE(files({{.length = ~std::uint64_t{0}}}));
  CHECK_FALSE(files({{.offset = ~std::uint64_t{0}}}));
  CHECK_FALSE(files({{.offset = 3}, {}}));
  CHECK_FALSE(files({{}, {.offset = 2}}));
  CHECK_FALSE(files({{}}, 1'000'000'000));
  CHECK_FALSE(is_read([](ChunkWriter& writer) { writer.number(std::uint64_t{1} << 40); }));
}

}  // namespace remotist::volunteer::checkpoint
