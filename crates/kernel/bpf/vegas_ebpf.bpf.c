// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Vegas, written anew: the shortest of these programs, and an example for your own. It is called
 * `vegas_ebpf` because many kernels have a `vegas`. It runs at the sender alone: receiver and
 * network are unchanged.
 *
 * A program has four parts: a state per socket (`sockets`), and its functions for the begin of a
 * connection (`init`), for each acknowledgement (`cong_control`) and for conclusions of the
 * kernel's state machine (`set_state`, `undo_cwnd`, `cwnd_event`). The arithmetic is in a header of
 * its own, so that tests can run it on the host.
 */
#include "sockets.h"
#include "vegas.h"

char _license[] SEC("license") = "Dual MIT/GPL";

struct vegas_socket {
	struct totals totals;
	struct vegas vegas;
	/* Time of the last acknowledgement in microseconds. */
	u64 last;
	/* Count of delivered packets at which the round trip ends. */
	u32 round_end;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct vegas_socket);
} sockets SEC(".maps");

inline_always struct vegas_socket *find(struct sock *sk)
{
	return bpf_sk_storage_get(&sockets, sk, 0, 0);
}

SEC("struct_ops")
void BPF_PROG(vegas_start, struct sock *sk)
{
	struct vegas_socket *s = bpf_sk_storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (!s) {
		fall_back(sk);
		return;
	}
	__builtin_memset(&s->totals, 0, sizeof(s->totals));
	vegas_init(&s->vegas);
	s->last = 0;
	s->round_end = tp->delivered;
	count(COUNT_SOCKETS, 1);
}

SEC("struct_ops")
void BPF_PROG(vegas_ack, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct vegas_socket *s = find(sk);
	struct feedback f;

	if (!s)
		return;
	tell(&f, sk, rs, flag, TCP_CA_CWR);
	f.round_start = round_starts(&s->round_end, sk, rs);
	s->last = f.now;
	vegas_on_feedback(&s->vegas, &f);
	set_window(sk, s->vegas.window.cwnd);
	count(COUNT_ACKS, 1);
}

/* Moves Vegas' window when the state changes. The next acknowledgement sets the socket's window. */
inline_always void react(struct sock *sk, u64 congestion)
{
	struct vegas_socket *s = find(sk);

	if (!s || congestion == CONGESTION_NONE)
		return;
	reno_react(&s->vegas.window, congestion);
	if (congestion != CONGESTION_UNDO) {
		s->vegas.window.repairing = 1;
		s->vegas.active = 0;
	}
}

SEC("struct_ops")
void BPF_PROG(vegas_state, struct sock *sk, u8 next)
{
	react(sk, meaning_of(sk, next, TCP_CA_CWR));
}

SEC("struct_ops")
void BPF_PROG(vegas_event, struct sock *sk, int event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u64 now = tp->tcp_mstamp;
	struct vegas_socket *s;

	if (event != CA_EVENT_TX_START)
		return;
	s = find(sk);
	if (s && s->last && now > s->last)
		vegas_on_idle(&s->vegas, now - s->last, (tp->srtt_us >> 3) + tp->rttvar_us);
}

#include "undo.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops vegas_ebpf = {
	.init = (void *)vegas_start,
	.cong_control = (void *)vegas_ack,
	.set_state = (void *)vegas_state,
	.cwnd_event = (void *)vegas_event,
	.ssthresh = (void *)keep_ssthresh,
	.undo_cwnd = (void *)undo_reaction,
	.flags = CONG_NON_RESTRICTED,
	.name = "vegas_ebpf",
};
