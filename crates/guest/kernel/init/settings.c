/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parses the kernel's command line. */
#include "settings.h"

struct settings settings;

/* Keys that were read, as bits, to find missing ones. */
enum { HAS_PROTOCOL = 1, HAS_ROLE = 2, HAS_ADDRESS = 4, HAS_PEER = 8, HAS_PEER_MAC = 16, HAS_SEED = 32 };
static const char *const required[] = { "protocol", "role", "address", "peer", "peer_mac", "seed" };
static int has;

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/*
 * Replaces each %XX by its byte. Returns 0 if two digits are missing after a %, or the byte is
 * zero.
 */
static int decode(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text == '%') {
			int high = digit(text[1]), low = high < 0 ? -1 : digit(text[2]);

			if (low < 0 || !(high | low))
				return 0;
			*to++ = (char)(high * 16 + low);
			text += 2;
		} else {
			*to++ = *text;
		}
	}
	*to = 0;
	return 1;
}

/* Parses a text that is one number from `least` to `most`. */
static int number(const char *text, u64 least, u64 most, u64 *into)
{
	return read_number(&text, into) && !*text && *into >= least && *into <= most;
}

static int ip(const char **text, u8 address[4])
{
	u64 part;

	for (int i = 0; i < 4; i++) {
		if (i && *(*text)++ != '.')
			return 0;
		if (!read_number(text, &part) || part > 255)
			return 0;
		address[i] = (u8)part;
	}
	return 1;
}

/* Parses `length` bytes of two hexadecimal digits each, with colons between them if `colons`. */
static int hex(const char *text, u8 *bytes, int length, int colons)
{
	for (int i = 0; i < length; i++) {
		int high, low;

		if (i && colons && *text++ != ':')
			return 0;
		if ((high = digit(text[0])) < 0 || (low = digit(text[1])) < 0)
			return 0;
		bytes[i] = (u8)(high * 16 + low);
		text += 2;
	}
	return !*text;
}

static int read_work(const char *text, struct plan *plan)
{
	const char *rest;
	u64 fresh;

	if (is_equal(text, "bulk")) {
		plan->work = BULK;
		return 1;
	}
	if (begins(text, "bytes:", &rest)) {
		plan->work = BYTES;
		return number(rest, 1, NEVER - 1, &plan->bytes);
	}
	if (begins(text, "limited:", &rest) || begins(text, "requests:", &rest)) {
		plan->work = text[0] == 'l' ? LIMITED : REQUESTS;
		if (!read_number(&rest, &plan->bytes) || !plan->bytes || *rest++ != ':')
			return 0;
		/* An interval of 0 would stop the virtual clock. */
		return number(rest, plan->work == LIMITED, NEVER / 2, &plan->interval);
	}
	if (begins(text, "onoff:time:", &rest))
		plan->work = ON_OFF_TIME;
	else if (begins(text, "onoff:bytes:", &rest))
		plan->work = ON_OFF_BYTES;
	else
		return 0;
	if (!number(rest, 0, 1, &fresh))
		return 0;
	plan->fresh = (int)fresh;
	return 1;
}

static int read_periods(const char *text, struct plan *plan)
{
	do {
		if (plan->period_count == MAX_PERIODS ||
		    !read_number(&text, &plan->periods[plan->period_count]) ||
		    plan->periods[plan->period_count++] > NEVER / 256)
			return 0;
	} while (*text++ == ',');
	return !text[-1];
}

static int read_plan(const char *key, char *value, struct plan *plan)
{
	u64 n;

	if (is_equal(key, "port")) {
		if (!number(value, 1, 65535, &n))
			return 0;
		plan->port = (u16)n;
		return 1;
	}
	if (is_equal(key, "stop") && is_equal(value, "never"))
		return 1;
	if (is_equal(key, "start"))
		return number(value, 0, NEVER / 2, &plan->start);
	if (is_equal(key, "stop"))
		return number(value, 0, NEVER / 2, &plan->stop);
	if (is_equal(key, "work"))
		return read_work(value, plan);
	if (is_equal(key, "ordered")) {
		plan->work = ORDERED;
		return number(value, 1, 1, &n);
	}
	if (is_equal(key, "periods"))
		return read_periods(value, plan);
	if (is_equal(key, "sndbuf"))
		return number(value, 1, 0x7fffffff, &plan->sndbuf);
	if (is_equal(key, "rcvbuf"))
		return number(value, 1, 0x7fffffff, &plan->rcvbuf);
	if (is_equal(key, "lowat"))
		return number(value, 1, 0x7fffffff, &plan->lowat);
	if (is_equal(key, "pacing"))
		return number(value, 1, NEVER - 1, &plan->pacing);
	if (is_equal(key, "cc"))
		plan->cc = value;
	else if (is_equal(key, "run"))
		plan->run = value;
	else
		return -1;
	return *value != 0;
}

/* Returns 1, 0 if the value is wrong, -1 if there is no such key. */
static int read_key(const char *key, char *value)
{
	const char *rest = key;
	u64 n;

	if (read_number(&rest, &n) && *rest == '.')
		return n < MAX_CONNECTIONS ? read_plan(rest + 1, value, &settings.plans[n]) : -1;
	if (begins(key, "sysctl.", &rest)) {
		if (settings.sysctl_count == MAX_SYSCTLS || !*rest)
			return 0;
		settings.sysctls[settings.sysctl_count].name = rest;
		settings.sysctls[settings.sysctl_count++].value = value;
		return 1;
	}
	if (is_equal(key, "protocol")) {
		has |= HAS_PROTOCOL;
		return number(value, PROTOCOL, PROTOCOL, &n);
	}
	if (is_equal(key, "role")) {
		has |= HAS_ROLE;
		settings.is_sender = is_equal(value, "sender");
		return settings.is_sender || is_equal(value, "receiver");
	}
	if (is_equal(key, "address")) {
		const char *at = value;

		has |= HAS_ADDRESS;
		if (!ip(&at, settings.address) || *at++ != '/' || !number(at, 1, 32, &n))
			return 0;
		settings.prefix = (u8)n;
		return 1;
	}
	if (is_equal(key, "peer")) {
		const char *at = value;

		has |= HAS_PEER;
		return ip(&at, settings.peer) && !*at;
	}
	if (is_equal(key, "peer_mac")) {
		has |= HAS_PEER_MAC;
		return hex(value, settings.peer_mac, 6, 1);
	}
	if (is_equal(key, "seed")) {
		has |= HAS_SEED;
		return hex(value, settings.seed, sizeof(settings.seed), 0);
	}
	if (is_equal(key, "mtu"))
		return number(value, 68, 65535, &settings.mtu);
	if (is_equal(key, "txqueuelen"))
		return number(value, 0, 0x7fffffff, &settings.txqueuelen);
	if (is_equal(key, "sample"))
		return number(value, 0, NEVER / 2, &settings.sample);
	if (is_equal(key, "probe"))
		return number(value, 0, 1, &settings.probe);
	if (is_equal(key, "flows")) {
		if (!number(value, 1, MAX_CONNECTIONS, &n))
			return 0;
		settings.plan_count = (usize)n;
		return 1;
	}
	if (is_equal(key, "module_args")) {
		settings.module_args = value;
		return 1;
	}
	if (is_equal(key, "qdisc"))
		settings.qdisc = value;
	else if (is_equal(key, "module"))
		settings.modules = value;
	else
		return -1;
	return *value != 0;
}

/* Checks the combinations of settings. */
static int check(struct text *problem)
{
	for (usize i = 0; i < COUNT(required); i++)
		if (!(has & (1 << i))) {
			put(problem, "the kernel's command line lacks pl.");
			put(problem, required[i]);
			return 1;
		}
	for (usize i = 0; i < settings.plan_count; i++) {
		const struct plan *plan = &settings.plans[i];
		const char *lacks = 0;

		if (settings.is_sender && !plan->run && plan->start == NEVER)
			lacks = ".start";
		else if ((plan->work == ON_OFF_TIME || plan->work == ON_OFF_BYTES) && !plan->period_count)
			lacks = ".periods";
		if (lacks) {
			put(problem, "the kernel's command line lacks pl.");
			put_number(problem, i);
			put(problem, lacks);
			return 1;
		}
	}
	return 0;
}

int read_settings(char *line, struct text *problem)
{
	int is_empty = 1;

	settings.mtu = 1500;
	settings.txqueuelen = NEVER;
	settings.module_args = "";
	settings.plan_count = 1;
	for (usize i = 0; i < MAX_CONNECTIONS; i++) {
		settings.plans[i].port = (u16)(5001 + i);
		settings.plans[i].start = NEVER;
		settings.plans[i].stop = NEVER;
	}
	while (*line) {
		char *word = line, *value = 0;
		const char *key;
		int result;

		while (*line && *line != ' ' && *line != '\n') {
			if (*line == '=' && !value) {
				*line = 0;
				value = line + 1;
			}
			line++;
		}
		if (*line)
			*line++ = 0;
		if (!begins(word, "pl.", &key))
			continue;
		is_empty = 0;
		result = value && decode(value) ? read_key(key, value) : 0;
		if (result == 1)
			continue;
		put(problem, word);
		if (result < 0) {
			put(problem, ": this guest does not know this key: build the guest again with this version of paceline");
		} else {
			put(problem, "=");
			put(problem, value ? value : "");
			put(problem, ": invalid value");
		}
		return 1;
	}
	return is_empty ? -1 : check(problem);
}
