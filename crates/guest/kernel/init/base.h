/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Needed by every file of the guest's /init: system calls, memory, text. There is no C library: the
 * program depends only on the compiler and the kernel's headers, so that equal compilers build
 * equal files.
 */
#ifndef PACELINE_BASE_H
#define PACELINE_BASE_H

#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/time.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef __SIZE_TYPE__ usize;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NEVER (~(u64)0)
#define SECOND 1000000000ull
#define MILLISECOND 1000000ull

#define SOCK_STREAM 1
#define SOCK_RAW 3
#define SOCK_NONBLOCK 04000
#define SOCK_CLOEXEC 02000000
#define AF_INET 2
#define SOL_SOCKET 1
#define SO_REUSEADDR 2
#define SO_ERROR 4
#define SO_SNDBUFFORCE 32
#define SO_RCVBUFFORCE 33
#define SO_MAX_PACING_RATE 47
#define SOL_TCP 6
#define MSG_TRUNC 0x20
#define MSG_WAITALL 0x100
#define MSG_NOSIGNAL 0x4000
#define SHUT_WR 1

/* Makes a system call. Returns its result, or a negative error number. */
static inline long call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;
	long result;

	asm volatile("syscall"
		     : "=a"(result)
		     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return result;
}

#define call_n(number, a, b, c, d, e, f, ...) \
	call6(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* sys(write, fd, text, length): up to six arguments. */
#define sys(name, ...) call_n(__NR_##name, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

void *memcpy(void *to, const void *from, usize length);
void *memmove(void *to, const void *from, usize length);
void *memset(void *to, int byte, usize length);
int memcmp(const void *a, const void *b, usize length);
usize strlen(const char *text);

/* The guest's CLOCK_MONOTONIC in ns. Each reading moves the guest's clock. */
u64 now(void);
/* Sleeps until now() returns at least `time`. */
void sleep_until(u64 time);

int is_equal(const char *a, const char *b);
/* Returns 1 if `text` begins with `start`; then *rest is the part after it. */
int begins(const char *text, const char *start, const char **rest);
/*
 * Reads a decimal number and moves *text behind it. Returns 0 if there is no number, or it exceeds
 * 64 bits.
 */
int read_number(const char **text, u64 *number);

/* A text under construction; text beyond the buffer is cut off. */
struct text {
	char bytes[1024];
	usize length;
};
void put(struct text *text, const char *more);
void put_number(struct text *text, u64 number);
/* Adds the text for an error number, which may be negative, as sys() returns it. */
void put_error(struct text *text, long error);

/*
 * Reads a file, at most `size` - 1 bytes, and adds a zero byte. Returns its length or a negative
 * error.
 */
long read_file(const char *path, char *into, usize size);
/* Writes text to an existing file. Returns 0 or a negative error. */
long write_file(const char *path, const char *text);

#endif
