/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making and removing the socket file without ever touching anybody else's.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG	      32
#define LOCK_ATTEMPTS 50
#define LOCK_PAUSE_NS (20 * 1000 * 1000)

/* The folder path is in: what stands before the last slash. */
static char *
folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static int
make_folder(const char *folder, struct err *err)
{
	struct stat st;

	if (stat(folder, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return 0;
		return err_set(err, ENOTDIR, "%s is not a folder", folder);
	}
	if (mkdir(folder, 0700) == 0 || errno == EEXIST)
		return 0;
	return err_set(err, errno, "folder %s cannot be made: %s", folder, strerror(errno));
}

/*
 * Two programs that start at once would each find the old socket dead and one
 * would remove the other's new one: take turns. Whoever cannot lock (another
 * user's folder, or somebody who never lets go) does without.
 */
static int
lock_folder(const char *folder)
{
	struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	for (unsigned i = 0; i < LOCK_ATTEMPTS; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			break;
		nanosleep(&pause, NULL);
	}
	return fd;
}

static int
unix_socket(struct err *err)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		err_set(err, errno, "%s", strerror(errno));
	return fd;
}

/* Make room at path: 0 when there is nothing (any more), or a negative errno. */
static int
remove_dead(const char *path, const struct sockaddr_un *addr, struct err *err)
{
	struct stat st;
	int fd, rc;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_set(err, errno, "%s", strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, EEXIST, "something that is not a socket is in its place");
	if (st.st_uid != geteuid())
		return err_set(err, EPERM, "it belongs to another user");
	fd = unix_socket(err);
	if (fd < 0)
		return -EMFILE;
	rc = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 ? 0 : errno;
	close(fd);
	/* EAGAIN: it lives, and many are waiting for it. */
	if (rc == 0 || rc == EAGAIN)
		return err_set(err, EADDRINUSE, "another program answers there");
	if (rc != ECONNREFUSED)
		return err_set(err, rc, "%s", strerror(rc));
	if (unlink(path) < 0 && errno != ENOENT)
		return err_set(err, errno, "the old one cannot be removed: %s", strerror(errno));
	return 0;
}

/* The bound and listening socket, or -1. */
static int
bind_listen(const struct sockaddr_un *addr, dev_t *dev, ino_t *ino, struct err *err)
{
	int fd = unix_socket(err);
	struct stat st;
	mode_t old_mask;
	int rc;

	if (fd < 0)
		return -1;
	/* From its first moment nobody else may connect. */
	old_mask = umask(0177);
	rc = bind(fd, (const struct sockaddr *)addr, sizeof(*addr));
	umask(old_mask);
	if (rc < 0) {
		err_set(err, errno, "%s", strerror(errno));
		close(fd);
		return -1;
	}
	if (lstat(addr->sun_path, &st) < 0 || listen(fd, BACKLOG) < 0) {
		err_set(err, errno, "%s", strerror(errno));
		unlink(addr->sun_path);
		close(fd);
		return -1;
	}
	*dev = st.st_dev;
	*ino = st.st_ino;
	return fd;
}

int
socket_listen(const char *path, dev_t *dev, ino_t *ino, struct err *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char *folder = NULL;
	int lock = -1;
	int fd = -1;

	if (path[0] == '\0' || path[strlen(path) - 1] == '/') {
		err_set(err, EINVAL, "this is not the name of a file");
	} else if (strlen(path) >= sizeof(addr.sun_path)) {
		err_set(err, ENAMETOOLONG, "the name is longer than %zu bytes",
			sizeof(addr.sun_path) - 1);
	} else if ((folder = folder_of(path)) == NULL) {
		err_set(err, ENOMEM, "out of memory");
	} else if (make_folder(folder, err) == 0) {
		memcpy(addr.sun_path, path, strlen(path) + 1);
		lock = lock_folder(folder);
		if (remove_dead(path, &addr, err) == 0)
			fd = bind_listen(&addr, dev, ino, err);
	}
	if (lock >= 0)
		close(lock);
	free(folder);
	if (fd < 0)
		err_prefix(err, -1, "control socket %.120s", path);
	return fd;
}

void
socket_remove(const char *path, dev_t dev, ino_t ino)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_dev == dev && st.st_ino == ino)
		unlink(path);
}
