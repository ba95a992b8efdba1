/* SPDX-License-Identifier: Apache-2.0
 *
 * Files: what is read, and what is written.
 *
 * An output takes its name only when it is complete. It is written to a file without a name in
 * the same folder (or, where the system has none, to one with a name of its own), forced to the
 * disk, and renamed over the old one. So a reader finds the old file or the new one, also
 * after a full disk or a signal, and a failure leaves no file: signals wait while the new file
 * has a name of its own, so only SIGKILL can leave it as .spad-*.tmp.
 *
 * The new file has the owner, the group and the mode of the old one. As in vim and Emacs, the old
 * file is written in place where they cannot be kept: one of another user or group, unless we may
 * give files away, and one with an access control list. In place are also written: what is no
 * regular file (devices, pipes), what is one of our own standard streams, and a file in a folder
 * where we may not make another one.
 */
#define _GNU_SOURCE /* O_TMPFILE; the rest is POSIX */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif
#include <unistd.h>

#include "cli.h"

/* ---- files that are in use --------------------------------------------------------- */

/* What has been read or written, so that nothing is written over. A command has few; those that
 * do not fit are not looked after. */
typedef struct used_file {
    dev_t device;
    ino_t number;
    bool written;
} used_file;

static used_file used_files[64];
static size_t used_count;

static void note_file(FILE *file, bool written) {
    struct stat about;
    if (used_count == sizeof used_files / sizeof used_files[0]) return;
    if (fstat(fileno(file), &about) != 0 || !S_ISREG(about.st_mode)) return;
    used_files[used_count++] = (used_file){about.st_dev, about.st_ino, written};
}

/* Why a file must not be written over; NULL: it may. */
static const char *why_in_use(const struct stat *about) {
    if (!S_ISREG(about->st_mode)) return NULL;
    for (size_t i = 0; i < used_count; i++) {
        const used_file *used = &used_files[i];
        if (used->device != about->st_dev || used->number != about->st_ino) continue;
        return used->written ? "another output already writes there" : "it is the input";
    }
    return NULL;
}

/* ---- output ------------------------------------------------------------------------ */

enum { LINKS_MAX = 40, NAMES_TRIED = 100, NAME_ROOM = 64 };

typedef struct output {
    FILE *file;
    char target[PATH_MAX];            /* links followed; "": written in place */
    char fresh[PATH_MAX + NAME_ROOM]; /* the file that is to take its name; "": has none yet */
    sigset_t signals;                 /* those that waited before `fresh` had a name */
    bool told;                        /* a message says that it was written */
} output;

/* The bytes of a path up to and with its last '/'. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* Follows links at the end of a path, also to a file that is not there yet. */
static bool follow_links(char target[PATH_MAX], const char *path) {
    char next[PATH_MAX];
    if (strlen(path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(target, path);
    for (int i = 0; i < LINKS_MAX; i++) {
        const ssize_t length = readlink(target, next, sizeof next - 1);
        if (length < 0) return true; /* no link */
        const size_t folder = next[0] == '/' ? 0 : folder_length(target);
        if (folder + (size_t)length >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return false;
        }
        memcpy(target + folder, next, (size_t)length);
        target[folder + (size_t)length] = '\0';
    }
    errno = ELOOP;
    return false;
}

/* Is it one of our own standard streams, such as a /dev/stdout that is a file? */
static bool is_own_stream(const struct stat *about) {
    struct stat mine;
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (fstat(descriptor, &mine) == 0 && mine.st_dev == about->st_dev &&
            mine.st_ino == about->st_ino)
            return true;
    }
    return false;
}

/* Is there more to say of who may access a file than its mode does? */
static bool has_access_list(const char *path) {
#ifdef __linux__
    return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
#else
    (void)path;
    return false;
#endif
}

static void hold_signals(output *out) {
    static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) sigaddset(&held, ends[i]);
    sigprocmask(SIG_BLOCK, &held, &out->signals);
}

/* The file has its last name, or none. */
static void drop_fresh_name(output *out) {
    out->fresh[0] = '\0';
    sigprocmask(SIG_SETMASK, &out->signals, NULL);
}

static void remove_fresh(output *out) {
    if (out->fresh[0] == '\0') return;
    unlink(out->fresh);
    drop_fresh_name(out);
}

/* A name beside the target that no file has had: 0 from `make` takes it. Until drop_fresh_name()
 * signals wait. */
static int with_fresh_name(output *out, int (*make)(const char *name, int argument), int argument) {
    const size_t folder = folder_length(out->target);
    hold_signals(out);
    for (int i = 0; i < NAMES_TRIED; i++) {
        snprintf(out->fresh, sizeof out->fresh, "%.*s.spad-%ld-%d.tmp", (int)folder, out->target,
                 (long)getpid(), i);
        const int made = make(out->fresh, argument);
        if (made >= 0) return made;
        if (errno != EEXIST) break;
    }
    const int why = errno;
    drop_fresh_name(out);
    errno = why;
    return -1;
}

static int make_file(const char *name, int mode) {
    return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
}

#ifdef O_TMPFILE
static int name_file(const char *name, int descriptor) {
    char self[NAME_ROOM];
    snprintf(self, sizeof self, "/proc/self/fd/%d", descriptor);
    return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* A file without a name: it goes with the process, whatever ends it. */
static int open_unnamed(const output *out, mode_t mode) {
    char folder[PATH_MAX];
    const size_t length = folder_length(out->target);
    snprintf(folder, sizeof folder, "%.*s", (int)length, out->target);
    if (access("/proc/self/fd", X_OK) != 0) return -1; /* it could not get a name */
    return open(length > 0 ? folder : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
}
#else
static int name_file(const char *name, int descriptor) {
    (void)name;
    (void)descriptor;
    return -1;
}

static int open_unnamed(const output *out, mode_t mode) {
    (void)out;
    (void)mode;
    return -1;
}
#endif

/* Gives a file the owner, the group and the mode of an old one. */
static bool keep_access(int descriptor, const struct stat *old) {
    struct stat mine;
    if (fstat(descriptor, &mine) != 0) return false;
    if ((mine.st_uid != old->st_uid || mine.st_gid != old->st_gid) &&
        fchown(descriptor, old->st_uid, old->st_gid) != 0)
        return false;
    return fchmod(descriptor, old->st_mode & 07777) == 0;
}

/* Opens the file that will replace the target. EPERM: it cannot have what an old one has. */
static FILE *open_fresh(output *out, const struct stat *old) {
    const mode_t mode = old != NULL ? old->st_mode & 0777 : 0666;
    int descriptor = open_unnamed(out, mode);
    if (descriptor < 0) descriptor = with_fresh_name(out, make_file, (int)mode);
    if (descriptor < 0) return NULL;
    const bool fine = old == NULL || keep_access(descriptor, old);
    FILE *file = fine ? fdopen(descriptor, "wb") : NULL;
    if (file != NULL) return file;
    const int why = fine ? errno : EPERM;
    close(descriptor);
    remove_fresh(out);
    errno = why;
    return NULL;
}

/* Without O_CREAT, which some systems refuse for files of others in a shared folder. */
static FILE *open_in_place(const char *path) {
    const int descriptor = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (descriptor >= 0 && file == NULL) close(descriptor);
    return file;
}

/* Returns why not, or NULL. */
static const char *open_output(output *out, const char *path) {
    struct stat about;
    *out = (output){.file = stdout};
    if (strcmp(path, "-") == 0) return NULL;
    const bool exists = stat(path, &about) == 0;
    const char *why = exists ? why_in_use(&about) : NULL;
    if (why != NULL) return why;
    out->file = NULL;
    if (!follow_links(out->target, path)) return strerror(errno);
    out->told = !exists || (S_ISREG(about.st_mode) && !is_own_stream(&about));
    bool in_place = exists && (!out->told || has_access_list(path));
    if (!in_place) {
        /* one that may not be written must not be replaced either */
        if (exists && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0) return strerror(errno);
        out->file = open_fresh(out, exists ? &about : NULL);
        in_place = out->file == NULL && exists && (errno == EACCES || errno == EPERM);
    }
    if (in_place) {
        out->target[0] = '\0';
        out->file = open_in_place(path);
    }
    if (out->file == NULL) return strerror(errno);
    note_file(out->file, true);
    return NULL;
}

/* Is all of it on the disk, or with whom it is for? */
static bool is_delivered(const output *out) {
    if (fflush(out->file) != 0 || ferror(out->file)) return false;
    if (out->target[0] == '\0') return true;
    return fsync(fileno(out->file)) == 0 || errno == EINVAL || errno == ENOTSUP;
}

/* Gives a complete file its name, or takes it away. */
static bool close_output(output *out, bool complete) {
    bool fine = complete && is_delivered(out);
    const bool renames = out->target[0] != '\0';
    if (fine && renames && out->fresh[0] == '\0')
        fine = with_fresh_name(out, name_file, fileno(out->file)) >= 0;
    if (out->file != stdout && fclose(out->file) != 0) fine = false;
    if (fine && renames) fine = rename(out->fresh, out->target) == 0;
    if (fine && renames)
        drop_fresh_name(out);
    else
        remove_fresh(out);
    return fine;
}

cli_exit cli_write_file(const char *path,
                        spad_status (*write)(const spad_sink *sink, const void *context,
                                             spad_error *error),
                        const void *context) {
    output out;
    spad_error error;
    const char *why = open_output(&out, path);
    if (why != NULL) {
        cli_message("cannot write '%s': %s", path, why);
        return CLI_INTERNAL;
    }
    const spad_sink sink = spad_sink_file(out.file);
    const spad_status status = write(&sink, context, &error);
    const bool written = close_output(&out, status == SPAD_OK);
    if (status != SPAD_OK && status != SPAD_ERR_IO) return cli_fail(&error);
    if (written) {
        if (out.told) cli_print(stderr, "wrote %s", path), fputc('\n', stderr);
        return CLI_FINE;
    }
    cli_message("writing '%s' failed", path);
    return CLI_INTERNAL;
}

/* ---- input ------------------------------------------------------------------------- */

const char *cli_input_name(const char *path) {
    return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

static const char out_of_memory[] = "out of memory";

/* Reads to the end; returns why not, or NULL. */
static const char *read_all(cli_text *out, FILE *file, size_t most, const char *too_large) {
    size_t capacity = 0;
    for (;;) {
        if (out->length == capacity) {
            capacity = capacity == 0 ? 1 << 14 : capacity * 2;
            char *grown = realloc(out->bytes, capacity);
            if (grown == NULL) return out_of_memory;
            out->bytes = grown;
        }
        const size_t room = capacity - out->length, allowed = most + 1 - out->length;
        const size_t got =
            fread(out->bytes + out->length, 1, room < allowed ? room : allowed, file);
        out->length += got;
        if (out->length > most) return too_large;
        if (got > 0) continue;
        out->bytes[out->length] = '\0'; /* there is room for more */
        return ferror(file) ? strerror(errno) : NULL;
    }
}

/* A file that says its size need not be read to know that it is too large. */
static bool is_larger_file(FILE *file, size_t most) {
    const bool seeks = fseek(file, 0, SEEK_END) == 0;
    const long size = seeks ? ftell(file) : -1;
    rewind(file);
    return size > 0 && size != LONG_MAX && (size_t)size > most; /* a directory says LONG_MAX */
}

bool cli_read_head(cli_text *out, size_t room, const char *path) {
    struct stat about;
    out->length = 0;
    FILE *file = strcmp(path, "-") == 0 || stat(path, &about) != 0 || !S_ISREG(about.st_mode)
                     ? NULL
                     : fopen(path, "rb");
    if (file == NULL) return false;
    out->length = fread(out->bytes, 1, room, file);
    fclose(file);
    return true;
}

cli_exit cli_read(cli_text *out, const char *path, cli_limit mebibytes) {
    const size_t most = (size_t)mebibytes << 20;
    char too_large[64];
    snprintf(too_large, sizeof too_large, "larger than %d MiB", (int)mebibytes);
    const bool is_stdin = strcmp(path, "-") == 0;
    *out = (cli_text){0};
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    const char *why = NULL;
    if (file == NULL)
        why = strerror(errno);
    else if (is_stdin && feof(stdin))
        why = "it has been read before";
    else if (!is_stdin && is_larger_file(file, most))
        why = too_large;
    else
        why = read_all(out, file, most, too_large);
    if (file != NULL && !is_stdin) note_file(file, false);
    if (file != NULL && !is_stdin) fclose(file);
    if (why == NULL) return CLI_FINE;
    cli_message("cannot read '%s': %s", cli_input_name(path), why);
    free(out->bytes);
    *out = (cli_text){0};
    return why == out_of_memory ? CLI_INTERNAL : CLI_USAGE;
}
