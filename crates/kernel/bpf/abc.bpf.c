// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * ABC over Accurate ECN: the receiver's TCP reports how many bytes arrived as accelerates
 * (ECT(1)), as brakes (ECT(0)) and with CE, so that the receiver needs no code of its own.
 *
 * Both ends must ask for Accurate ECN: the receiver's listening socket uses this congestion
 * control too. A connection without it is given to Cubic, and counted.
 */
#include "abc_sender.h"

char _license[] SEC("license") = "Dual MIT/GPL";

SEC("struct_ops")
void BPF_PROG(abc_start, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct abc_socket *s = 0;

	if (tp->ecn_flags & ECN_MODE_ACCECN)
		s = begin(sk);
	if (!s) {
		fall_back(sk);
		return;
	}
	s->accelerated = tp->delivered_ecn_bytes[BYTES_ECT1];
	s->braked = tp->delivered_ecn_bytes[BYTES_ECT0];
	s->ce = tp->delivered_ecn_bytes[BYTES_CE];
}

SEC("struct_ops")
void BPF_PROG(abc_ack, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct abc_socket *s = find(sk);
	struct feedback f;
	u32 accelerated, braked, ce;
	u64 mss;

	if (!s)
		return;
	tell(&f, sk, rs, flag, TCP_CA_CWR);
	accelerated = tp->delivered_ecn_bytes[BYTES_ECT1] - s->accelerated;
	braked = tp->delivered_ecn_bytes[BYTES_ECT0] - s->braked;
	ce = tp->delivered_ecn_bytes[BYTES_CE] - s->ce;
	s->accelerated += accelerated;
	s->braked += braked;
	s->ce += ce;
	mss = larger(f.mss, 1);
	f.accelerates = ((u64)accelerated << 16) / mss;
	f.brakes = ((u64)braked << 16) / mss;
	f.round_start = round_starts(&s->round_end, sk, rs);
	s->totals.accelerated += accelerated;
	s->totals.braked += braked;
	s->totals.ce += ce;
	count(COUNT_ACCELERATED, accelerated);
	count(COUNT_BRAKED, braked);
	count(COUNT_CE, ce);
	apply(s, sk, &f);
}

SEC("struct_ops")
void BPF_PROG(abc_state, struct sock *sk, u8 next)
{
	react(sk, meaning_of(sk, next, TCP_CA_CWR));
}

SEC("struct_ops")
void BPF_PROG(abc_event, struct sock *sk, int event)
{
	if (event == CA_EVENT_TX_START)
		resume(sk);
}

#include "undo.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops abc = {
	.init = (void *)abc_start,
	.cong_control = (void *)abc_ack,
	.set_state = (void *)abc_state,
	.cwnd_event = (void *)abc_event,
	.ssthresh = (void *)keep_ssthresh,
	.undo_cwnd = (void *)undo_reaction,
	.flags = CONG_NON_RESTRICTED | CONG_NEEDS_ECN | CONG_NEEDS_ACCECN |
		 CONG_NO_FALLBACK_RFC3168,
	.name = "abc",
};

#include "accelerate.h"
