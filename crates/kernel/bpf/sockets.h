/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * State of the programs: one storage per socket, and counters over all sockets. The kernel frees a
 * socket's storage when the socket closes.
 */
#ifndef PACELINE_SOCKETS_H
#define PACELINE_SOCKETS_H

#include "kernel.h"
#include "feedback.h"

/* Counters, in the order of `COUNTERS` in `src/programs.rs`. */
enum counter {
	COUNT_SOCKETS,
	COUNT_FALLBACKS,
	COUNT_ACKS,
	COUNT_ACCELERATED,
	COUNT_BRAKED,
	COUNT_CE,
	COUNT_LOSSES,
	COUNT_MARKED,
	COUNT_TIMEOUTS,
	COUNT_UNDONE,
	COUNT_BACKOFFS,
	COUNT_REWRITTEN,
	COUNT_FLUSHED,
	COUNT_RESTARTS,
	COUNTERS,
};

/*
 * Counts of one socket, which `src/watch.rs` reads. The storage of every program's sockets begins
 * with them.
 */
struct totals {
	/* Acknowledged bytes that arrived as accelerates, as brakes, and with CE. */
	u64 accelerated;
	u64 braked;
	u64 ce;
	/* Number of times that C2TCP has reduced the window to one packet. */
	u64 backoffs;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, u32);
	__type(value, u64);
} counters SEC(".maps");

inline_always void count(u32 which, u64 more)
{
	u64 *value = bpf_map_lookup_elem(&counters, &which);

	if (value && more)
		__sync_fetch_and_add(value, more);
}

/* Gives the socket to the kernel's Cubic. */
inline_always void fall_back(struct sock *sk)
{
	char cubic[] = "cubic";

	bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, cubic, sizeof(cubic));
	count(COUNT_FALLBACKS, 1);
}

/* The kernel's flag of an acknowledgement that moves the cumulative point (FLAG_DATA_ACKED). */
#define ACK_OF_DATA 0x04
/* Value of `tp->reordering` before any larger reordering was seen (sysctl tcp_reordering). */
#define REORDERING 3

/*
 * Fills `f`, without marks, at the end of an acknowledgement's processing. `flag` is cong_control's
 * argument, `repairs` as for meaning_of().
 */
inline_always void tell(struct feedback *f, struct sock *sk, const struct rate_sample *rs,
			int flag, u32 repairs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	u64 flight = (u64)tp->packets_out + tp->retrans_out;
	u64 out = (u64)tp->sacked_out + tp->lost_out;

	f->now = tp->tcp_mstamp;
	f->acked = (u64)rs->acked_sacked * ONE;
	f->accelerates = 0;
	f->brakes = 0;
	f->prior_in_flight = (u64)rs->prior_in_flight * ONE;
	f->in_flight = (flight > out ? flight - out : 0) * ONE;
	f->delivered = (u64)tp->delivered * ONE;
	f->rtt = rs->rtt_us > 0 ? rs->rtt_us : 0;
	f->srtt = tp->srtt_us >> 3;
	f->mss = tp->mss_cache;
	f->congestion = CONGESTION_NONE;
	f->in_recovery = state >= repairs;
	f->cwnd_limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
	f->max_in_flight = (u64)tp->max_packets_out * ONE;
	/* As tcp_may_raise_cwnd() in the kernel. */
	f->may_raise_cwnd = (flag & ACK_OF_DATA) || tp->reordering > REORDERING;
	f->round_start = 0;
	f->ahead = 1;
	f->min_rtt = tp->rtt_min.s[0].v;
}

/*
 * Returns the meaning for a window of the connection's next state: one of `enum congestion`.
 * `repairs` is the lowest state in which the window has reacted already: TCP_CA_CWR, or
 * TCP_CA_Recovery for programs that do not treat marks as congestion.
 */
inline_always u64 meaning_of(struct sock *sk, u8 next, u32 repairs)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	u32 state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);

	if (next == TCP_CA_Loss) {
		count(COUNT_TIMEOUTS, 1);
		return CONGESTION_TIMEOUT;
	}
	if (state >= repairs)
		return CONGESTION_NONE;
	if (next == TCP_CA_Recovery) {
		count(COUNT_LOSSES, 1);
		return CONGESTION_LOSS;
	}
	if (next == TCP_CA_CWR && repairs == TCP_CA_CWR) {
		count(COUNT_MARKED, 1);
		return CONGESTION_ECN;
	}
	return CONGESTION_NONE;
}

/*
 * True on the first acknowledgement of a round trip. `round_end` has the count of delivered packets
 * at which the round trip ends.
 */
inline_always u64 round_starts(u32 *round_end, struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if ((s32)(rs->prior_delivered - *round_end) < 0)
		return 0;
	*round_end = tp->delivered;
	return 1;
}

/* Sets the socket's window, given in packets with 16 fraction bits. */
inline_always void set_window(struct sock *sk, u64 window)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	tp->snd_cwnd = smaller(larger(window >> 16, 1), tp->snd_cwnd_clamp);
}

/* Sets the socket's pacing rate in bytes per second; the kernel paces. */
inline_always void set_pacing(struct sock *sk, u64 rate)
{
	if (!rate)
		return;
	sk->sk_pacing_rate = rate;
	if (!sk->sk_pacing_status)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/*
 * The kernel needs a threshold. It moves nothing, since every acknowledgement sets the window.
 */
SEC("struct_ops")
u32 BPF_PROG(keep_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	return tp->snd_cwnd > 2 ? tp->snd_cwnd : 2;
}

#endif
