/* Fails the n-th call of one function of the C library that changes something, counted over threads of one process.
 * FAULT_CALL names it, FAULT_AT says which call, FAULT_BELOW the folder whose files count, FAULT_ERRNO what goes wrong,
 * FAULT_LOG a file that gets a line when the fault happens. FAULT_PROGRAM is the only program that it happens in: children
 * inherit all of this. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static int below(const char *path) {
    const char *folder = getenv("FAULT_BELOW");
    return !folder || (path && strncmp(path, folder, strlen(folder)) == 0);
}

static int fd_below(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

/* Whether this call is the one that fails. */
static int fails(const char *name, int counts) {
    const char *call = getenv("FAULT_CALL"), *at = getenv("FAULT_AT");
    const char *program = getenv("FAULT_PROGRAM");
    if (!call || !at || strcmp(call, name) || !counts) return 0;
    if (program && strcmp(program, program_invocation_short_name)) return 0;
    if (atomic_fetch_add(&calls, 1) + 1 != atol(at)) return 0;
    const char *log = getenv("FAULT_LOG"), *error = getenv("FAULT_ERRNO");
    if (log) {
        int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
        ssize_t (*real_write)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
        int fd = real_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd >= 0) {
            if (real_write(fd, "x\n", 2) < 0) abort();
            close(fd);
        }
    }
    errno = error ? atoi(error) : EIO;
    return 1;
}

#define REAL(type, name, ...) type (*real)(__VA_ARGS__) = dlsym(RTLD_NEXT, name)

ssize_t write(int fd, const void *bytes, size_t count) {
    REAL(ssize_t, "write", int, const void *, size_t);
    return fails("write", fd_below(fd)) ? -1 : real(fd, bytes, count);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    return fails("write", fd_below(fd)) ? -1 : real(fd, parts, count);
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
    return fails("write", fd_below(fd)) ? -1 : real(fd, bytes, count, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    return fails("write", fd_below(fd)) ? -1 : real(fd, bytes, count, at);
}
int fsync(int fd) {
    REAL(int, "fsync", int);
    return fails("sync", fd_below(fd)) ? -1 : real(fd);
}
int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    return fails("sync", fd_below(fd)) ? -1 : real(fd);
}
int syncfs(int fd) {
    REAL(int, "syncfs", int);
    return fails("sync", fd_below(fd)) ? -1 : real(fd);
}
int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    return fails("rename", below(to)) ? -1 : real(from, to);
}
ssize_t read(int fd, void *bytes, size_t count) {
    REAL(ssize_t, "read", int, void *, size_t);
    return fails("read", fd_below(fd)) ? -1 : real(fd, bytes, count);
}
void *mmap64(void *where, size_t length, int protection, int flags, int fd, off64_t at) {
    REAL(void *, "mmap64", void *, size_t, int, int, int, off64_t);
    return fails("map", fd >= 0 && fd_below(fd)) ? MAP_FAILED : real(where, length, protection, flags, fd, at);
}
void *mmap(void *where, size_t length, int protection, int flags, int fd, off_t at) {
    REAL(void *, "mmap", void *, size_t, int, int, int, off_t);
    return fails("map", fd >= 0 && fd_below(fd)) ? MAP_FAILED : real(where, length, protection, flags, fd, at);
}
int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) ? va_arg(more, mode_t) : 0;
    va_end(more);
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
    return fails("create", (flags & O_CREAT) && below(path)) ? -1 : real(path, flags, mode);
}
int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    return fails("create", below(path)) ? -1 : real(path, mode);
}
pid_t fork(void) {
    REAL(pid_t, "fork", void);
    return fails("spawn", 1) ? -1 : real();
}
int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const words[], char *const environment[]) {
    REAL(int, "posix_spawn", pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
         char *const *, char *const *);
    return fails("spawn", 1) ? errno : real(pid, path, actions, attributes, words, environment);
}
int posix_spawnp(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const words[], char *const environment[]) {
    REAL(int, "posix_spawnp", pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
         char *const *, char *const *);
    return fails("spawn", 1) ? errno : real(pid, path, actions, attributes, words, environment);
}
