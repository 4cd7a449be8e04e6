/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Settings of /init from the kernel's command line: the keys of PROTOCOL.md. */
#ifndef PACELINE_SETTINGS_H
#define PACELINE_SETTINGS_H

#include "base.h"

#define PROTOCOL 1
#define MAX_CONNECTIONS 16
#define MAX_PERIODS 512
#define MAX_SYSCTLS 64
/* The kernel's command line has at most 4096 bytes. */
#define LINE 4096

enum work { BULK, BYTES, LIMITED, ON_OFF_TIME, ON_OFF_BYTES, REQUESTS, ORDERED };

/* A connection, or with `fresh` a series of connections, as the command line describes it. */
struct plan {
	u16 port;
	const char *cc;
	u64 start;
	u64 stop;
	enum work work;
	/* BYTES: number of bytes. LIMITED, REQUESTS: bytes of a message. */
	u64 bytes;
	/* LIMITED: time from one message to the next. REQUESTS: time from the answer to the next request. */
	u64 interval;
	/* ON_OFF_*: ON, OFF, ON, OFF, ... An ON is in ns or bytes, an OFF in ns. */
	u64 periods[MAX_PERIODS];
	usize period_count;
	int fresh;
	/* 0 leaves the kernel's default. */
	u64 sndbuf, rcvbuf, lowat, pacing;
	/*
	 * File that describes the user's program which replaces the built-in sender or receiver; null if there is
	 * none.
	 */
	const char *run;
};

struct settings {
	int is_sender;
	u8 address[4], peer[4], peer_mac[6];
	u8 prefix;
	u8 seed[32];
	u64 mtu, txqueuelen, sample;
	/* 1 if TCP's events are reported. */
	u64 probe;
	const char *qdisc;
	struct {
		const char *name, *value;
	} sysctls[MAX_SYSCTLS];
	usize sysctl_count;
	char *modules;
	const char *module_args;
	usize plan_count;
	struct plan plans[MAX_CONNECTIONS];
};

extern struct settings settings;

/*
 * Parses `line`, which is changed, into `settings`. Returns 0, or 1 with the reason in *problem; -1
 * if the line has no key of Paceline.
 */
int read_settings(char *line, struct text *problem);

#endif
