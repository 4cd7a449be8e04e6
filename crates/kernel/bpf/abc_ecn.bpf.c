// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * ABC over the ECN of RFC 3168 ("proxied" in the paper, section 4.2): packets leave as ECT(0),
 * routers mark a brake with CE, and the ECE bit of an acknowledgement says whether its packets were
 * marked.
 *
 * TCP's own receiver would set ECE from the first CE on until the sender answers with CWR. This
 * program replaces that at the receiver, which must use this congestion control too. A connection
 * whose receiver does not ask for ECN gets Cubic instead, and is counted.
 */
#include "abc_sender.h"

char _license[] SEC("license") = "Dual MIT/GPL";

SEC("struct_ops")
void BPF_PROG(ecn_start, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct abc_socket *s = 0;
	u8 flags = tp->ecn_flags;

	if ((flags & ECN_OK) && !(flags & ECN_MODE_ACCECN))
		s = begin(sk);
	if (!s)
		fall_back(sk);
	else
		s->expected = tp->rcv_nxt;
}

/* Notes the ECE bit. The kernel calls this before `ecn_ack` of the same acknowledgement. */
SEC("struct_ops")
void BPF_PROG(ecn_echo, struct sock *sk, u32 flags)
{
	struct abc_socket *s = find(sk);

	if (s)
		s->echo = flags & CA_ACK_ECE;
}

SEC("struct_ops")
void BPF_PROG(ecn_ack, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct abc_socket *s = find(sk);
	struct feedback f;
	u64 bytes;

	if (!s)
		return;
	tell(&f, sk, rs, flag, TCP_CA_Recovery);
	bytes = (u64)rs->acked_sacked * f.mss;
	if (s->echo) {
		f.brakes = f.acked;
		s->totals.braked += bytes;
		count(COUNT_BRAKED, bytes);
	} else {
		f.accelerates = f.acked;
		s->totals.accelerated += bytes;
		count(COUNT_ACCELERATED, bytes);
	}
	f.round_start = round_starts(&s->round_end, sk, rs);
	apply(s, sk, &f);
}

/* Sets the mark that acknowledgements report from now on. */
inline_always void echo_mark(struct tcp_sock *tp, u32 marked)
{
	if (marked)
		tp->ecn_flags |= ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~ECN_DEMAND_CWR;
}

/*
 * Handles a packet whose mark differs from the previous packet's: first sends the delayed
 * acknowledgement, if one is waiting, with the old mark; then has this packet acknowledged at once.
 */
inline_always void mark_changes(struct abc_socket *s, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (tp->inet_conn.icsk_ack.pending & ICSK_ACK_TIMER) {
		echo_mark(tp, s->marked);
		bpf_tcp_send_ack(tp, s->expected);
		count(COUNT_FLUSHED, 1);
	}
	tp->inet_conn.icsk_ack.pending |= ICSK_ACK_NOW;
}

SEC("struct_ops")
void BPF_PROG(ecn_event, struct sock *sk, int event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct abc_socket *s;
	u32 marked = event == CA_EVENT_ECN_IS_CE;

	if (event == CA_EVENT_TX_START)
		resume(sk);
	if (!marked && event != CA_EVENT_ECN_NO_CE)
		return;
	s = find(sk);
	if (!s)
		return;
	if (s->marked != marked)
		mark_changes(s, sk);
	s->marked = marked;
	s->expected = tp->rcv_nxt;
	echo_mark(tp, marked);
}

SEC("struct_ops")
void BPF_PROG(ecn_state, struct sock *sk, u8 next)
{
	react(sk, meaning_of(sk, next, TCP_CA_Recovery));
}

#include "undo.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops abc_ecn = {
	.init = (void *)ecn_start,
	.in_ack_event = (void *)ecn_echo,
	.cong_control = (void *)ecn_ack,
	.cwnd_event = (void *)ecn_event,
	.set_state = (void *)ecn_state,
	.ssthresh = (void *)keep_ssthresh,
	.undo_cwnd = (void *)undo_reaction,
	.flags = CONG_NON_RESTRICTED | CONG_NEEDS_ECN,
	.name = "abc_ecn",
};
