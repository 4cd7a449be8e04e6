/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The eBPF programs as kernel modules, for the kernels of Linux guests, which load no eBPF.
 * Replaces kernel.h and libbpf:
 *
 *	#include "as_module.h"
 *	#include "c2tcp.bpf.c"
 *	AS_MODULE(c2tcp, )
 *
 * Variables that a loader would set (LOADED) are module parameters: module_param(over_reno, byte, 0444).
 * Arrays take the place of maps that a loader would fill: AS_MODULE(remy, FILL(remy_ends, ends)).
 *
 * Differences from the programs: a connection that falls back gets Reno instead of Cubic, and
 * `counters` count nothing.
 */
#ifndef PACELINE_AS_MODULE_H
#define PACELINE_AS_MODULE_H

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <net/tcp.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#error "Linux 6.10 or newer: before, congestion controls did not learn of an acknowledgement's flags"
#endif

/* Keeps out the two headers that this one replaces. */
#define PACELINE_KERNEL_H
#define PACELINE_ACCELERATE_H

/* The kernel reaches these functions only through tables; no header declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wframe-larger-than="

#define SEC(name)
#define LOADED static
#define BPF_PROG(name, arguments...) name(arguments)
#define BPF_CORE_READ_BITFIELD(from, field) ((from)->field)

#define ECN_OK 1
#define ECN_DEMAND_CWR 4
#define ECN_MODE_ACCECN 16
#define CONG_NON_RESTRICTED TCP_CONG_NON_RESTRICTED
#define CONG_NEEDS_ECN TCP_CONG_NEEDS_ECN

/*
 * Maps: `value` points to the values of an array, and `max_entries` is their number, cast to a
 * pointer. The programs' declarations give the types. FILL takes the values from an array of words.
 */
#define __uint(name, number) int(*name)[number]
#define __type(name, type) typeof(type) *name
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC 1
#define BPF_SK_STORAGE_GET_F_CREATE 1
#define FILL(map, words)                                                              \
	do {                                                                          \
		(map).value = (void *)(words);                                        \
		(map).max_entries = (void *)(sizeof(words) / sizeof(*(map).value));   \
	} while (0)
#define bpf_map_lookup_elem(map, key)                                                                          \
	({                                                                                                     \
		unsigned long place = *(key);                                                                  \
		(map)->value && place < (unsigned long)(map)->max_entries ? &(map)->value[place] : (void *)0; \
	})

/*
 * Returns the socket's state, which is allocated: the socket's own room for a congestion control
 * (ICSK_CA_PRIV_SIZE) is too small.
 */
static void *storage_of(struct sock *sk, size_t size, int create)
{
	void **place = inet_csk_ca(sk);

	if (!*place && create)
		*place = kzalloc(size, GFP_ATOMIC);
	return *place;
}

#define bpf_sk_storage_get(map, sk, initial, flags) \
	((typeof((map)->value))storage_of(sk, sizeof(*(map)->value), flags))

static void storage_free(struct sock *sk)
{
	void **place = inet_csk_ca(sk);

	kfree(*place);
	*place = NULL;
}

/*
 * The kernel exports Reno's functions, but no function that changes a socket's congestion control.
 */
static struct tcp_congestion_ops fallback __read_mostly = {
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "reno",
};

static int bpf_setsockopt(struct sock *sk, int level, int option, void *value, int length)
{
	storage_free(sk);
	inet_csk(sk)->icsk_ca_ops = &fallback;
	return 0;
}

static inline int bpf_tcp_send_ack(struct tcp_sock *tp, u32 rcv_nxt)
{
	__tcp_send_ack((struct sock *)tp, rcv_nxt, 0);
	return 0;
}

/* `fill` fills maps before the first connection; it may be empty. */
#define AS_MODULE(scheme, fill)                                        \
	static int __init begin_module(void)                           \
	{                                                              \
		fill;                                                  \
		BUILD_BUG_ON(sizeof(void *) > ICSK_CA_PRIV_SIZE);      \
		scheme.release = storage_free;                         \
		scheme.owner = THIS_MODULE;                            \
		return tcp_register_congestion_control(&scheme);       \
	}                                                              \
	static void __exit end_module(void)                            \
	{                                                              \
		tcp_unregister_congestion_control(&scheme);            \
	}                                                              \
	module_init(begin_module);                                     \
	module_exit(end_module);                                       \
	MODULE_DESCRIPTION("Paceline's " #scheme " as a module");      \
	MODULE_LICENSE("Dual MIT/GPL")

#endif
