/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Modules from the simulator's private folder. */
#include "folder.h"

/* Mount point of the folder. */
#define FOLDER "/host"

static int mount_folder(struct text *problem)
{
	/*
	 * "." is the kernel's own working folder on the host, so no path of the host gets into the guest's
	 * random pool.
	 */
	long result;

	sys(mkdir, FOLDER, 0755);
	result = sys(mount, "none", FOLDER, "hostfs", 0, "/proc/self/cwd");
	if (result < 0) {
		put(problem, "the simulator's folder cannot be mounted (hostfs): ");
		put_error(problem, result);
	}
	return result < 0;
}

static int load_module(const char *name, const char *args, struct text *problem)
{
	struct text path = { .length = 0 };
	long fd, result;

	put(&path, FOLDER "/");
	put(&path, name);
	fd = sys(open, path.bytes, O_RDONLY | O_CLOEXEC, 0);
	result = fd < 0 ? fd : sys(finit_module, fd, args, 0);
	if (fd >= 0)
		sys(close, fd);
	if (!result || result == -EEXIST)
		return 0;
	put(problem, "the module ");
	put(problem, name);
	put(problem, " cannot be loaded: ");
	put_error(problem, result);
	return 1;
}

static int load_all(char *name, struct text *problem)
{
	char *end;

	for (;;) {
		for (end = name; *end && *end != ','; end++)
			;
		if (!*end)
			return load_module(name, settings.module_args, problem);
		*end = 0;
		if (load_module(name, "", problem))
			return 1;
		name = end + 1;
	}
}

int load_modules(struct text *problem)
{
	int failed;

	if (!settings.modules)
		return 0;
	if (mount_folder(problem))
		return 1;
	failed = load_all(settings.modules, problem);
	sys(umount2, FOLDER, 0);
	return failed;
}
