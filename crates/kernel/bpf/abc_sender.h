/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The code that both senders of ABC share, whether marks arrive by Accurate ECN or by ECE. */
#ifndef PACELINE_ABC_SENDER_H
#define PACELINE_ABC_SENDER_H

#include "sockets.h"
#include "abc.h"

struct abc_socket {
	struct totals totals;
	struct abc abc;
	/* The kernel's Accurate ECN counts at the previous acknowledgement. */
	u32 accelerated;
	u32 braked;
	u32 ce;
	u32 delivered_ce;
	/* Count of delivered packets at which the round trip ends. */
	u32 round_end;
	/* Whether the acknowledgement in progress carries ECE. */
	u32 echo;
	/* As a receiver: whether the last packet had CE, and the sequence number expected after it. */
	u32 marked;
	u32 expected;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct abc_socket);
} sockets SEC(".maps");

inline_always struct abc_socket *find(struct sock *sk)
{
	return bpf_sk_storage_get(&sockets, sk, 0, 0);
}

inline_always struct abc_socket *begin(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct abc_socket *s = bpf_sk_storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!s)
		return 0;
	__builtin_memset(&s->totals, 0, sizeof(s->totals));
	abc_init(&s->abc);
	s->delivered_ce = tp->delivered_ce;
	s->round_end = tp->delivered;
	s->echo = 0;
	s->marked = 0;
	s->expected = 0;
	count(COUNT_SOCKETS, 1);
	return s;
}

/*
 * Lowest pacing rate, in bytes per second: a packet per minimum RTT. After an outage of 10 s the rate
 * of a small window is a packet in seconds, for which the kernel would wait with nothing in flight.
 */
inline_always u64 least_pacing(const struct feedback *f)
{
	return smaller(f->mss, 65536) * 1000000 / larger(f->min_rtt, 1);
}

inline_always void apply(struct abc_socket *s, struct sock *sk, const struct feedback *f)
{
	u64 pacing;

	abc_on_feedback(&s->abc, f);
	set_window(sk, abc_window(&s->abc));
	pacing = abc_pacing(&s->abc, f->mss);
	if (pacing)
		set_pacing(sk, larger(pacing, least_pacing(f)));
	count(COUNT_ACKS, 1);
}

/*
 * Moves Cubic's window when the state changes. The next acknowledgement sets the socket's window.
 */
inline_always void react(struct sock *sk, u64 congestion)
{
	struct abc_socket *s = find(sk);

	if (!s || congestion == CONGESTION_NONE)
		return;
	cubic_react(&s->abc.cubic, congestion);
	if (congestion != CONGESTION_UNDO)
		s->abc.cubic.repairing = 1;
}

/* Resumes sending after a time with nothing in flight. */
inline_always void resume(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct abc_socket *s = find(sk);
	u64 now = tp->tcp_mstamp;
	u64 srtt = tp->srtt_us >> 3;

	if (!s || !s->abc.cubic.last || now <= s->abc.cubic.last)
		return;
	cubic_on_idle(&s->abc.cubic, now, now - s->abc.cubic.last, srtt + tp->rttvar_us);
}

#endif
