// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * C2TCP over Cubic or NewReno, at the sender alone: receiver and network are unchanged. Unlike the
 * kernel's own schemes it does not use Proportional Rate Reduction, because it sets the window at
 * every acknowledgement.
 */
#include "sockets.h"
#include "c2tcp.h"

char _license[] SEC("license") = "Dual MIT/GPL";

/* Set by the loader: 1 for NewReno's window, 0 for Cubic's. */
LOADED u8 over_reno SEC(".rodata.over_reno") = 0;

/*
 * The loader says these, too. The default is twice the smallest RTT, as in the journal version, and at least the
 * 100 ms of the paper: twice a short RTT is less than the delay of acknowledgements of a single packet.
 */
LOADED u64 c2tcp_limits[C2TCP_LIMITS] SEC(".rodata.limits") = { 2 * ONE, 100000, 2 * ONE, 100000 };

struct c2tcp_socket {
	struct totals totals;
	struct c2tcp c2tcp;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct c2tcp_socket);
} sockets SEC(".maps");

inline_always struct c2tcp_socket *find(struct sock *sk)
{
	return bpf_sk_storage_get(&sockets, sk, 0, 0);
}

SEC("struct_ops")
void BPF_PROG(c2tcp_start, struct sock *sk)
{
	struct c2tcp_socket *s = bpf_sk_storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!s) {
		fall_back(sk);
		return;
	}
	__builtin_memset(&s->totals, 0, sizeof(s->totals));
	c2tcp_init(&s->c2tcp);
	count(COUNT_SOCKETS, 1);
}

SEC("struct_ops")
void BPF_PROG(c2tcp_ack, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct c2tcp_socket *s = find(sk);
	struct feedback f;

	if (!s)
		return;
	tell(&f, sk, rs, flag, TCP_CA_CWR);
	if (c2tcp_on_feedback(&s->c2tcp, over_reno, c2tcp_limits, &f)) {
		s->totals.backoffs++;
		count(COUNT_BACKOFFS, 1);
	}
	set_window(sk, c2tcp_cwnd(&s->c2tcp, over_reno));
	count(COUNT_ACKS, 1);
}

inline_always void react(struct sock *sk, u64 congestion)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct c2tcp_socket *s = find(sk);
	struct feedback f = {};

	if (!s || congestion == CONGESTION_NONE)
		return;
	c2tcp_react(&s->c2tcp, over_reno, congestion);
	if (congestion == CONGESTION_TIMEOUT) {
		f.now = tp->tcp_mstamp;
		f.delivered = (u64)tp->delivered * ONE;
		f.prior_in_flight = (u64)tp->packets_out * ONE;
		hystart_time_out(&s->c2tcp.hystart, &f);
		s->c2tcp.timed_out = 1;
	}
}

SEC("struct_ops")
void BPF_PROG(c2tcp_state, struct sock *sk, u8 next)
{
	react(sk, meaning_of(sk, next, TCP_CA_CWR));
}

SEC("struct_ops")
void BPF_PROG(c2tcp_event, struct sock *sk, int event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct c2tcp_socket *s;
	u64 now = tp->tcp_mstamp;
	u64 idle;

	if (event != CA_EVENT_TX_START)
		return;
	s = find(sk);
	if (!s || !s->c2tcp.last || now <= s->c2tcp.last)
		return;
	idle = now - s->c2tcp.last;
	c2tcp_on_idle(&s->c2tcp, over_reno, now, idle, (tp->srtt_us >> 3) + tp->rttvar_us);
}

#include "undo.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops c2tcp = {
	.init = (void *)c2tcp_start,
	.cong_control = (void *)c2tcp_ack,
	.set_state = (void *)c2tcp_state,
	.cwnd_event = (void *)c2tcp_event,
	.ssthresh = (void *)keep_ssthresh,
	.undo_cwnd = (void *)undo_reaction,
	.flags = CONG_NON_RESTRICTED,
	.name = "c2tcp",
};
