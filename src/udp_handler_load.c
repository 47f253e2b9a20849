/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handlers by name, and how one is loaded: only from a file that nobody but
 * root could have put there or changed, and only if it was built for our ABI.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "noref/udp_handler.h"
#include "udp_handler.h"
#include "udp_handler_list.h"

static LIST_HEAD(, handler) handlers = LIST_HEAD_INITIALIZER(handlers);

struct handler *
handler_find(const char *name)
{
	struct handler *h;

	LIST_FOREACH(h, &handlers, next) {
		if (strcmp(h->name, name) == 0)
			return h;
	}
	return NULL;
}

static int
add(const char *name, const char *path, const struct noref_udp_handler *ops, struct err *err)
{
	struct handler *h = calloc(1, sizeof(*h)), *last;

	if (h == NULL)
		return err_set(err, ENOMEM, "no memory");
	snprintf(h->name, sizeof(h->name), "%s", name);
	h->ops = ops;
	h->path = path != NULL ? strdup(path) : NULL;
	/* In the order they came, for `show config`. */
	LIST_FOREACH(last, &handlers, next) {
		if (LIST_NEXT(last, next) == NULL)
			break;
	}
	if (last != NULL)
		LIST_INSERT_AFTER(last, h, next);
	else
		LIST_INSERT_HEAD(&handlers, h, next);
	return 0;
}

static int
check_name(const char *name, struct err *err)
{
	if (name[0] == '\0' || strlen(name) >= UDP_APP_NAME_LEN)
		return err_set(err, EINVAL, "'%.40s' is no name for a handler: 1 to %d letters",
			       name, UDP_APP_NAME_LEN - 1);
	if (handler_find(name) != NULL)
		return err_set(err, EEXIST, "handler '%s' exists", name);
	return 0;
}

int
udp_handler_add(const char *name, const struct noref_udp_handler *handler, struct err *err)
{
	int rc = check_name(name, err);

	return rc == 0 ? add(name, NULL, handler, err) : rc;
}

/* --- whose file it is ------------------------------------------------------------------------ */

/* A folder with the sticky bit keeps others from touching what is root's. */
static int
check_folder(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	if (st.st_uid != 0)
		return err_set(err, EACCES, "folder %s is not root's", path);
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (st.st_mode & S_ISVTX) == 0)
		return err_set(err, EACCES, "folder %s can be written to by others than root",
			       path);
	return 0;
}

/* Every folder from / down to the one the file is in. */
static int
check_folders(const char *path, struct err *err)
{
	char folder[PATH_MAX];
	int rc = check_folder("/", err);

	for (const char *slash = strchr(path + 1, '/'); slash != NULL && rc == 0;
	     slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		rc = check_folder(folder, err);
	}
	return rc;
}

/* The path as given and as it is without symbolic links are both looked at. */
static int
check_path(const char *path, char resolved[PATH_MAX], struct err *err)
{
	int rc;

	if (path[0] != '/')
		return err_set(err, EINVAL, "%s: an absolute path is expected", path);
	if (strlen(path) >= PATH_MAX)
		return err_set(err, ENAMETOOLONG, "the path is too long");
	if (realpath(path, resolved) == NULL)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	rc = check_folders(path, err);
	return rc == 0 ? check_folders(resolved, err) : rc;
}

static int
check_file(int fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, EINVAL, "%s is no regular file", path);
	if (st.st_uid != 0)
		return err_set(err, EACCES, "%s is not root's", path);
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return err_set(err, EACCES, "%s can be written to by others than root", path);
	return 0;
}

/* --- loading ------------------------------------------------------------------------------------
 */

static const struct noref_udp_handler *
look_inside(void *object, const char *path, struct err *err)
{
	const uint32_t *abi = dlsym(object, "noref_udp_handler_abi");
	const struct noref_udp_handler *ops = dlsym(object, "noref_udp_handler");

	if (abi == NULL || ops == NULL) {
		err_set(err, ENOEXEC, "%s is no UDP handler: it has no noref_udp_handler%s", path,
			abi == NULL ? "_abi" : "");
		return NULL;
	}
	if (*abi != NOREF_UDP_HANDLER_ABI) {
		err_set(err, ENOEXEC, "%s was built for ABI %u of UDP handlers; this is ABI %u",
			path, *abi, NOREF_UDP_HANDLER_ABI);
		return NULL;
	}
	if (ops->handle == NULL) {
		err_set(err, ENOEXEC, "%s: it has no function to handle datagrams", path);
		return NULL;
	}
	return ops;
}

/*
 * A way to the open file that no load before had. glibc knows objects by the names they were loaded
 * under, and a descriptor's number comes again: it would hand out the object that was
 * loaded under it before. Slashes and dots that change nothing make the name new.
 */
static void
name_by_descriptor(int fd, char *name, size_t size)
{
	static uint32_t loads;
	char bits[32 * 2 + 1] = "";
	size_t n = 0;

	loads++;
	for (uint32_t left = loads; left != 0; left >>= 1) {
		bits[n++] = '/';
		if ((left & 1) != 0)
			bits[n++] = '.';
	}
	snprintf(name, size, "/proc/self/fd%s/%d", bits, fd);
}

/* What has been checked is what is loaded, whatever becomes of the path meanwhile. */
static int
load(int fd, const char *path, const char *name, struct err *err)
{
	const struct noref_udp_handler *ops;
	char by_fd[128];
	void *object;

	name_by_descriptor(fd, by_fd, sizeof(by_fd));
	object = dlopen(by_fd, RTLD_NOW | RTLD_LOCAL);
	if (object == NULL)
		return err_set(err, ENOEXEC, "%s is no shared object that can be loaded: %s", path,
			       dlerror());
	ops = look_inside(object, path, err);
	if (ops == NULL || add(name, path, ops, err) < 0) {
		dlclose(object);
		return -ENOEXEC;
	}
	return 0;
}

int
udp_handler_load(const char *path, const char *name, struct err *err)
{
	char resolved[PATH_MAX];
	int rc = check_name(name, err), fd;

	if (rc == 0)
		rc = check_path(path, resolved, err);
	if (rc < 0)
		return rc;
	fd = open(resolved, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	rc = check_file(fd, path, err);
	if (rc == 0)
		rc = load(fd, path, name, err);
	close(fd);
	return rc;
}

bool
udp_handler_config_line(unsigned index, struct out *line)
{
	struct handler *h;

	LIST_FOREACH(h, &handlers, next) {
		if (h->path == NULL || index-- != 0)
			continue;
		out_text(line, "udp handler load %s name %s", h->path, h->name);
		return true;
	}
	return false;
}

void
udp_handlers_fini(void)
{
	while (!LIST_EMPTY(&handlers)) {
		struct handler *h = LIST_FIRST(&handlers);

		LIST_REMOVE(h, next);
		free(h->path);
		free(h);
	}
}
