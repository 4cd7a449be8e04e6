/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* System calls, memory and text, in place of a C library. */
#include "base.h"

void *memcpy(void *to, const void *from, usize length)
{
	void *start = to;

	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length) : : "memory");
	return start;
}

void *memmove(void *to, const void *from, usize length)
{
	u8 *end = (u8 *)to + length;
	const u8 *last = (const u8 *)from + length;

	if (to <= from)
		return memcpy(to, from, length);
	while (length--) {
		*--end = *--last;
		asm volatile("" : : : "memory");
	}
	return to;
}

void *memset(void *to, int byte, usize length)
{
	void *start = to;

	asm volatile("rep stosb" : "+D"(to), "+c"(length) : "a"(byte) : "memory");
	return start;
}

int memcmp(const void *a, const void *b, usize length)
{
	const u8 *x = a, *y = b;

	for (; length; length--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

usize strlen(const char *text)
{
	usize length = 0;

	while (text[length]) {
		length++;
		asm volatile("" : : : "memory");
	}
	return length;
}

u64 now(void)
{
	struct __kernel_timespec time;

	sys(clock_gettime, CLOCK_MONOTONIC, &time);
	return (u64)time.tv_sec * SECOND + (u64)time.tv_nsec;
}

void sleep_until(u64 time)
{
	struct __kernel_timespec end = { (s64)(time / SECOND), (s64)(time % SECOND) };

	while (sys(clock_nanosleep, CLOCK_MONOTONIC, 1 /* TIMER_ABSTIME */, &end, 0) == -EINTR)
		;
}

int is_equal(const char *a, const char *b)
{
	usize length = strlen(a);

	return length == strlen(b) && !memcmp(a, b, length);
}

int begins(const char *text, const char *start, const char **rest)
{
	usize length = strlen(start);

	if (strlen(text) < length || memcmp(text, start, length))
		return 0;
	*rest = text + length;
	return 1;
}

int read_number(const char **text, u64 *number)
{
	const char *at = *text;
	u64 sum = 0;

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, (u64)(*at - '0'), &sum))
			return 0;
	if (at == *text)
		return 0;
	*text = at;
	*number = sum;
	return 1;
}

void put(struct text *text, const char *more)
{
	usize length = strlen(more), room = sizeof(text->bytes) - 1 - text->length;

	if (length > room)
		length = room;
	memcpy(text->bytes + text->length, more, length);
	text->length += length;
	text->bytes[text->length] = 0;
}

void put_number(struct text *text, u64 number)
{
	char digits[21];
	char *at = digits + sizeof(digits) - 1;

	*at = 0;
	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	put(text, at);
}

static const struct {
	int number;
	const char *name;
} errors[] = {
	{ EPERM, "operation not permitted" },
	{ ENOENT, "no such file or name" },
	{ EIO, "input/output error" },
	{ E2BIG, "argument list too long" },
	{ ENOEXEC, "not built for this kernel (wrong format or version)" },
	{ ENOMEM, "out of memory" },
	{ EACCES, "permission denied" },
	{ EBUSY, "busy" },
	{ EEXIST, "already there" },
	{ ENODEV, "no such device or file system" },
	{ EISDIR, "is a folder" },
	{ EINVAL, "invalid value" },
	{ EMFILE, "too many open files" },
	{ ERANGE, "out of range" },
	{ ENOSYS, "this kernel lacks the system call" },
	{ EPIPE, "connection closed" },
	{ ENOPROTOOPT, "this kernel lacks the option" },
	{ EOPNOTSUPP, "not supported" },
	{ EADDRINUSE, "address already in use" },
	{ EADDRNOTAVAIL, "not an address of this host" },
	{ ENETUNREACH, "network unreachable" },
	{ ECONNRESET, "connection reset" },
	{ ENOBUFS, "no buffer space" },
	{ ETIMEDOUT, "timed out" },
	{ ECONNREFUSED, "connection refused" },
	{ EHOSTUNREACH, "host unreachable" },
	{ EKEYREJECTED, "the kernel refuses the module's signature" },
};

void put_error(struct text *text, long error)
{
	int number = (int)(error < 0 ? -error : error);

	for (usize i = 0; i < COUNT(errors); i++)
		if (errors[i].number == number) {
			put(text, errors[i].name);
			return;
		}
	put(text, "error ");
	put_number(text, (u64)number);
}

long read_file(const char *path, char *into, usize size)
{
	long fd = sys(open, path, O_RDONLY | O_CLOEXEC, 0), got = 0;
	usize length = 0;

	if (fd < 0)
		return fd;
	while (length < size - 1 && (got = sys(read, fd, into + length, size - 1 - length)) > 0)
		length += (usize)got;
	sys(close, fd);
	into[length] = 0;
	return got < 0 ? got : (long)length;
}

long write_file(const char *path, const char *text)
{
	long fd = sys(open, path, O_WRONLY | O_CLOEXEC, 0), written;

	if (fd < 0)
		return fd;
	written = sys(write, fd, text, strlen(text));
	sys(close, fd);
	return written < 0 ? written : 0;
}
