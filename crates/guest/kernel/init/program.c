/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Modules and programs from the simulator's private folder. */
#include <linux/mount.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/wait.h>

#include "program.h"

#define MAX_ARGUMENTS 64

/* Returns "/host/NAME", built in `path`. */
static const char *in_folder(const char *name, struct text *path)
{
	path->length = 0;
	put(path, FOLDER "/");
	put(path, name);
	return path->bytes;
}

/* Mounts a file system for programs. Errors are ignored: most programs do not need it. */
static void mount_for_programs(const char *kind, const char *place)
{
	sys(mkdir, place, 0755);
	sys(mount, kind, place, kind, 0, 0);
}

int mount_folder(struct text *problem)
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
		return 1;
	}
	mount_for_programs("sysfs", "/sys");
	mount_for_programs("tmpfs", "/tmp");
	mount_for_programs("tmpfs", "/dev/shm");
	mount_for_programs("devpts", "/dev/pts");
	return 0;
}

static int load_module(const char *name, const char *args, struct text *problem)
{
	struct text path;
	long fd = sys(open, in_folder(name, &path), O_RDONLY | O_CLOEXEC, 0);
	long result = fd < 0 ? fd : sys(finit_module, fd, args, 0);

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

int load_modules(struct text *problem)
{
	char *name = settings.modules, *end;

	while (name) {
		for (end = name; *end && *end != ','; end++)
			;
		if (!*end)
			return load_module(name, settings.module_args, problem);
		*end = 0;
		if (load_module(name, "", problem))
			return 1;
		name = end + 1;
	}
	return 0;
}

/* Replaces the child by the program. Returns only if that fails. */
static long become(const char *path, char *const arguments[])
{
	static char *const environment[] = { "PATH=" FOLDER ":/bin", "HOME=/", "LANG=C.UTF-8", 0 };
	u64 no_signals = 0;

	sys(setsid);
	sys(rt_sigprocmask, SIG_SETMASK, &no_signals, 0, sizeof(no_signals));
	sys(chdir, FOLDER);
	return sys(execve, path, arguments, environment);
}

int start_program(const struct plan *plan, struct text *problem)
{
	static char words[LINE];
	char *arguments[MAX_ARGUMENTS + 1] = { 0 };
	const u8 *address = settings.is_sender ? settings.peer : settings.address;
	struct text path, ip = { .length = 0 }, port = { .length = 0 };
	int pipe[2], count = 3;
	s32 error = 0;
	char *at = words;
	long child;

	in_folder(plan->program, &path);
	for (int i = 0; i < 4; i++) {
		put(&ip, i ? "." : "");
		put_number(&ip, address[i]);
	}
	put_number(&port, plan->port);
	arguments[0] = path.bytes;
	arguments[1] = ip.bytes;
	arguments[2] = port.bytes;
	memcpy(words, plan->args, strlen(plan->args) + 1);
	while (*at && count < MAX_ARGUMENTS) {
		while (*at == ' ')
			*at++ = 0;
		if (*at)
			arguments[count++] = at;
		while (*at && *at != ' ')
			at++;
	}
	child = sys(pipe2, pipe, O_CLOEXEC);
	if (!child)
		child = sys(fork);
	if (!child) {
		error = (s32)become(path.bytes, arguments);
		sys(write, pipe[1], &error, sizeof(error));
		sys(exit_group, 127);
	}
	if (child > 0) {
		/* execve closes the other copy: then the read below returns 0 bytes. */
		sys(close, pipe[1]);
		if (sys(read, pipe[0], &error, sizeof(error)) != sizeof(error))
			error = 0;
		sys(close, pipe[0]);
	}
	if (child > 0 && !error)
		return (int)child;
	put(problem, plan->program);
	put(problem, " cannot be started: ");
	put_error(problem, child < 0 ? child : error);
	if (error == -ENOENT && !sys(access, path.bytes, 0))
		put(problem, " (the program is there, but not the loader that it asks for: link it statically)");
	return -1;
}

int collect_process(s32 *status)
{
	s32 word;
	long child = sys(wait4, -1, &word, WNOHANG, 0);

	if (child <= 0)
		return 0;
	*status = word & 0x7f ? 128 + (word & 0x7f) : word >> 8 & 0xff;
	return (int)child;
}

int is_listening(u16 port)
{
	/* Lines of "  0: 0100000A:1389 00000000:0000 0A ...": state 0A is LISTEN. */
	static char table[1 << 14];
	static const char hex[] = "0123456789ABCDEF";
	char wanted[] = { ':', hex[port >> 12], hex[port >> 8 & 15], hex[port >> 4 & 15], hex[port & 15] };

	long length = read_file("/proc/net/tcp", table, sizeof(table));

	for (long i = 0; i + 22 <= length; i++)
		if (!memcmp(table + i, wanted, sizeof(wanted)) && table[i + 5] == ' ' && !memcmp(table + i + 19, " 0A", 3))
			return 1;
	return 0;
}
