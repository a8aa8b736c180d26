/* Traces and fails the calls that change files below one folder. Loaded with LD_PRELOAD; see shim.py.
 *
 * A record of the trace: magic (u32), operation (u32), offset (u64), length of path, second path and data (u32 each),
 * then these three. Operation and record are made under one lock, so the order of records is the order of operations.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OP_CREATE = 1, OP_WRITE, OP_TRUNCATE, OP_SYNC, OP_RENAME, OP_UNLINK, OP_LINK };
enum { KIND_WRITE = 1, KIND_SYNC = 2, KIND_OPEN = 4, KIND_NAME = 8 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static char root[4096];
static size_t root_length;
static int trace = -1;
static long fault_at, fault_count, fault_times;
static int fault_errno, fault_kinds;

void jiyi_begin(const char *folder, const char *trace_path) {
    snprintf(root, sizeof root, "%s", folder);
    root_length = strlen(root);
    trace = trace_path && *trace_path
        ? (int)syscall(SYS_openat, AT_FDCWD, trace_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
}
/* Fail `times` operations of these kinds, from the one with number `at` (the first is 1). at = 0 only counts. */
void jiyi_fault(long at, long times, int error, int kinds) {
    fault_count = 0; fault_times = times; fault_errno = error; fault_kinds = kinds; fault_at = at;
}
long jiyi_count(void) { return fault_count; }

static int inside(const char *path) { return root_length && strncmp(path, root, root_length) == 0; }

static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, 4095);
    if (length <= 0) return 0;
    path[length] = 0;
    return inside(path);
}

static int absolute(int folder, const char *path, char *whole) {
    if (path[0] == '/') snprintf(whole, 4096, "%s", path);
    else {
        char base[4096];
        if (folder == AT_FDCWD) { if (!getcwd(base, sizeof base)) return 0; }
        else {
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
            ssize_t length = readlink(link, base, sizeof base - 1);
            if (length <= 0) return 0;
            base[length] = 0;
        }
        if (snprintf(whole, 4096, "%s/%s", base, path) >= 4096) return 0;
    }
    return inside(whole);
}

static int fails(int kind) {
    if (!(fault_kinds & kind)) return 0;
    long number = ++fault_count;
    if (fault_at && number >= fault_at && number < fault_at + fault_times) { errno = fault_errno; return 1; }
    return 0;
}

static void record(uint32_t op, uint64_t offset, const char *path, const char *other, const void *data, size_t size) {
    if (trace < 0) return;
    struct { uint32_t magic, op; uint64_t offset; uint32_t path, other, data, zero; } head =
        { 0x4a495949, op, offset, (uint32_t)strlen(path), (uint32_t)strlen(other), (uint32_t)size, 0 };
    struct iovec parts[4] = {
        { &head, sizeof head }, { (void *)path, head.path }, { (void *)other, head.other }, { (void *)data, size } };
    int kept = errno;
    syscall(SYS_writev, trace, parts, 4);
    errno = kept;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define LOCK pthread_mutex_lock(&guard)
#define UNLOCK pthread_mutex_unlock(&guard)

static int opened(int folder, const char *path, int flags, mode_t mode) {
    char whole[4096];
    if (!absolute(folder, path, whole)) return (int)syscall(SYS_openat, folder, path, flags, mode);
    LOCK;
    int result;
    if (fails(KIND_OPEN)) { UNLOCK; return -1; }
    int is_new = (flags & O_CREAT) && faccessat(folder, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    result = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (result >= 0 && is_new) record(OP_CREATE, 0, whole, "", "", 0);
    else if (result >= 0 && (flags & O_TRUNC)) record(OP_TRUNCATE, 0, whole, "", "", 0);
    UNLOCK;
    return result;
}
#define MODE(flags) mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }
int open(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags) return opened(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags) return opened(folder, path, flags, mode); }

static ssize_t written(int fd, const void *data, size_t size, off_t offset, int positioned) {
    char path[4096];
    if (!path_of(fd, path))
        return positioned ? syscall(SYS_pwrite64, fd, data, size, offset) : syscall(SYS_write, fd, data, size);
    LOCK;
    if (fails(KIND_WRITE)) { UNLOCK; return -1; }
    ssize_t result = positioned ? syscall(SYS_pwrite64, fd, data, size, offset) : syscall(SYS_write, fd, data, size);
    if (result > 0) {
        if (!positioned) offset = lseek(fd, 0, SEEK_CUR) - result;
        record(OP_WRITE, (uint64_t)offset, path, "", data, (size_t)result);
    }
    UNLOCK;
    return result;
}
ssize_t write(int fd, const void *data, size_t size) { return written(fd, data, size, 0, 0); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return written(fd, data, size, offset, 1); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) { return written(fd, data, size, offset, 1); }
ssize_t writev(int fd, const struct iovec *parts, int count) {
    char path[4096];
    if (!path_of(fd, path)) return syscall(SYS_writev, fd, parts, count);
    ssize_t total = 0;
    for (int i = 0; i < count; i++) {
        if (!parts[i].iov_len) continue;
        ssize_t result = written(fd, parts[i].iov_base, parts[i].iov_len, 0, 0);
        if (result < 0) return total ? total : -1;
        total += result;
        if ((size_t)result < parts[i].iov_len) break;
    }
    return total;
}

static int truncated(int fd, off_t size) {
    char path[4096];
    if (!path_of(fd, path)) return (int)syscall(SYS_ftruncate, fd, size);
    LOCK;
    if (fails(KIND_WRITE)) { UNLOCK; return -1; }
    int result = (int)syscall(SYS_ftruncate, fd, size);
    if (!result) record(OP_TRUNCATE, (uint64_t)size, path, "", "", 0);
    UNLOCK;
    return result;
}
int ftruncate(int fd, off_t size) { return truncated(fd, size); }
int ftruncate64(int fd, off64_t size) { return truncated(fd, size); }

static int synced(int fd, long number) {
    char path[4096];
    if (!path_of(fd, path)) return (int)syscall(number, fd);
    LOCK;
    if (fails(KIND_SYNC)) { UNLOCK; return -1; }
    /* The disk of a simulated machine: nothing has to reach the real one. */
    int result = trace >= 0 ? 0 : (int)syscall(number, fd);
    if (!result) record(OP_SYNC, 0, path, "", "", 0);
    UNLOCK;
    return result;
}
int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

static int renamed(int from, const char *old, int to, const char *new) {
    char source[4096], target[4096];
    int is_inside = absolute(from, old, source);
    if (!absolute(to, new, target) || !is_inside) return (int)syscall(SYS_renameat, from, old, to, new);
    LOCK;
    if (fails(KIND_NAME)) { UNLOCK; return -1; }
    int result = (int)syscall(SYS_renameat, from, old, to, new);
    if (!result) record(OP_RENAME, 0, source, target, "", 0);
    UNLOCK;
    return result;
}
int rename(const char *old, const char *new) { return renamed(AT_FDCWD, old, AT_FDCWD, new); }
int renameat(int from, const char *old, int to, const char *new) { return renamed(from, old, to, new); }

static int linked(int from, const char *old, int to, const char *new, int flags) {
    char source[4096], target[4096];
    int is_inside = absolute(from, old, source);
    if (!absolute(to, new, target) || !is_inside) return (int)syscall(SYS_linkat, from, old, to, new, flags);
    LOCK;
    if (fails(KIND_NAME)) { UNLOCK; return -1; }
    int result = (int)syscall(SYS_linkat, from, old, to, new, flags);
    if (!result) record(OP_LINK, 0, source, target, "", 0);
    UNLOCK;
    return result;
}
int link(const char *old, const char *new) { return linked(AT_FDCWD, old, AT_FDCWD, new, 0); }
int linkat(int from, const char *old, int to, const char *new, int flags) { return linked(from, old, to, new, flags); }

static int removed(int folder, const char *path, int flags) {
    char whole[4096];
    if ((flags & AT_REMOVEDIR) || !absolute(folder, path, whole)) return (int)syscall(SYS_unlinkat, folder, path, flags);
    LOCK;
    if (fails(KIND_NAME)) { UNLOCK; return -1; }
    int result = (int)syscall(SYS_unlinkat, folder, path, flags);
    if (!result) record(OP_UNLINK, 0, whole, "", "", 0);
    UNLOCK;
    return result;
}
int unlink(const char *path) { return removed(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char *path, int flags) { return removed(folder, path, flags); }
