// The log: one JSON object per line, written as things end, so that a crash loses nothing.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "internal.h"

extern char** environ;

namespace hip_stand_in {

static std::atomic<int64_t> last_correlation{0};

int64_t now() {
  timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  return int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

int64_t new_correlation() { return ++last_correlation; }

std::string quoted(const char* text) {
  std::string out = "\"";
  char code[8];
  for (const unsigned char* c = (const unsigned char*)text; *c; ++c) {
    if (*c == '"' || *c == '\\') { out += '\\'; out += char(*c); }
    else if (*c < 0x20) { snprintf(code, sizeof code, "\\u%04x", *c); out += code; }
    else out += char(*c);
  }
  return out + "\"";
}

std::string hex(const void* pointer) {
  char text[32];
  snprintf(text, sizeof text, "0x%llx", (unsigned long long)(uintptr_t)pointer);
  return text;
}

static void log_process(int file) {
  std::string line = "{\"record\":\"process\",\"pid\":" + std::to_string(getpid()) + ",\"ppid\":" + std::to_string(getppid()) +
                     ",\"time\":" + std::to_string(now()) + ",\"command\":[";
  if (FILE* f = fopen("/proc/self/cmdline", "r")) {
    std::string word;
    bool first = true;
    for (int c; (c = fgetc(f)) != EOF;) {
      if (c) { word += char(c); continue; }
      line += (first ? "" : ",") + quoted(word.c_str());
      first = false;
      word.clear();
    }
    fclose(f);
  }
  line += "],\"environment\":{";
  bool first = true;
  for (char** e = environ; *e; ++e) {
    const char* equals = strchr(*e, '=');
    if (!equals) continue;
    line += (first ? "" : ",") + quoted(std::string(*e, size_t(equals - *e)).c_str()) + ":" + quoted(equals + 1);
    first = false;
  }
  line += "}}\n";
  if (write(file, line.data(), line.size()) < 0) perror("stand-in log");
}

/// The log of this process, or -1: `STAND_IN_HIP_LOG` names a folder, a file per process goes there.
static int log_file() {
  static int file = [] {
    const char* folder = getenv("STAND_IN_HIP_LOG");
    if (!folder || !*folder) return -1;
    std::string path = std::string(folder) + "/" + std::to_string(getpid()) + ".log";
    int opened = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (opened >= 0) log_process(opened);
    return opened;
  }();
  return file;
}

bool logging() { return log_file() >= 0; }

void log_line(const std::string& line) {
  int file = log_file();
  if (file < 0) return;
  std::string whole = line + "\n";
  if (write(file, whole.data(), whole.size()) < 0) perror("stand-in log");
}

Call::Call(const char* name, const char* domain) : name(name), domain(domain) {
  correlation = new_correlation();
  start = now();
}

Call& Call::arg(const char* type, const char* name, const std::string& value) {
  if (logging()) {
    args += std::string(args.empty() ? "" : ",") + "[\"" + type + "\",\"" + name + "\"," + quoted(value.c_str()) + "]";
  }
  return *this;
}

Call::~Call() {
  if (!logging()) return;
  log_line("{\"record\":\"api\",\"domain\":\"" + std::string(domain) + "\",\"name\":\"" + name + "\",\"correlation\":" +
           std::to_string(correlation) + ",\"thread\":" + std::to_string(syscall(SYS_gettid)) + ",\"start\":" +
           std::to_string(start) + ",\"end\":" + std::to_string(now()) + ",\"args\":[" + args + "]}");
}

struct Symbol { uintptr_t start, end; std::string name; };

/// Functions of the program itself, static ones included, from its symbol table.
static std::vector<Symbol> own_symbols() {
  std::vector<Symbol> symbols;
  int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat about;
  if (file < 0 || fstat(file, &about) != 0) return symbols;
  void* map = mmap(nullptr, about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (map == MAP_FAILED) return symbols;
  uintptr_t base = 0;
  dl_iterate_phdr([](dl_phdr_info* info, size_t, void* out) { *(uintptr_t*)out = info->dlpi_addr; return 1; }, &base);
  const char* bytes = (const char*)map;
  const ElfW(Ehdr)* header = (const ElfW(Ehdr)*)bytes;
  const ElfW(Shdr)* sections = (const ElfW(Shdr)*)(bytes + header->e_shoff);
  for (int s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const char* names = bytes + sections[sections[s].sh_link].sh_offset;
    const ElfW(Sym)* table = (const ElfW(Sym)*)(bytes + sections[s].sh_offset);
    for (size_t i = 0; i < sections[s].sh_size / sizeof *table; ++i) {
      if (ELF64_ST_TYPE(table[i].st_info) != STT_FUNC || !table[i].st_value) continue;
      uintptr_t start = base + table[i].st_value;
      symbols.push_back({start, start + std::max<uintptr_t>(table[i].st_size, 1), names + table[i].st_name});
    }
  }
  munmap(map, about.st_size);
  std::sort(symbols.begin(), symbols.end(), [](const Symbol& a, const Symbol& b) { return a.start < b.start; });
  return symbols;
}

std::string symbol_at(const void* address) {
  static const std::vector<Symbol>& symbols = *new std::vector<Symbol>(own_symbols());
  uintptr_t at = (uintptr_t)address;
  auto after = std::upper_bound(symbols.begin(), symbols.end(), at, [](uintptr_t a, const Symbol& s) { return a < s.start; });
  if (after != symbols.begin() && at < (after - 1)->end) return (after - 1)->name;
  Dl_info info;
  if (dladdr(address, &info) && info.dli_sname) return info.dli_sname;
  return "kernel_" + hex(address);
}

}  // namespace hip_stand_in
