/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The few kernel types and members that these programs use. The loader relocates the members to
 * where the running kernel has them (CO-RE), so that no generated vmlinux.h is needed.
 */
#ifndef PACELINE_KERNEL_H
#define PACELINE_KERNEL_H

#include <linux/bpf.h>

/* Variables that the loader sets before a program runs. */
#define LOADED const volatile

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef _Bool bool;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	u16 skc_family;
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	u32 sk_pacing_status;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	struct {
		u8 pending;
	} icsk_ack;
	u32 icsk_rto;
	u8 icsk_ca_state : 5;
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 mss_cache;
	u32 rcv_nxt;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 lost_out;
	u32 sacked_out;
	u32 retrans_out;
	u32 packets_out;
	u32 max_packets_out;
	u32 reordering;
	u8 is_cwnd_limited : 1;
	u8 ecn_flags;
	u32 lsndtime;
	u64 tcp_mstamp;
	u32 srtt_us;
	u32 rttvar_us;
	struct minmax rtt_min;
	u32 delivered;
	u32 delivered_ce;
	u32 delivered_ecn_bytes[3];
};

struct rate_sample {
	u32 prior_delivered;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, int ev);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

#pragma clang attribute pop

#define TCP_CA_CWR 2
#define TCP_CA_Recovery 3
#define TCP_CA_Loss 4
#define CA_EVENT_TX_START 0
#define CA_EVENT_ECN_NO_CE 4
#define CA_EVENT_ECN_IS_CE 5
#define CA_ACK_ECE 4
#define SK_PACING_NEEDED 1
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16

/* tcp_sock.ecn_flags */
#define ECN_OK 1
#define ECN_DEMAND_CWR 4
#define ECN_MODE_ACCECN 16

/* tcp_congestion_ops.flags */
#define CONG_NON_RESTRICTED 1
#define CONG_NEEDS_ECN 2
#define CONG_NEEDS_ACCECN 4
#define CONG_NO_FALLBACK_RFC3168 16

/* The order of delivered_ecn_bytes. */
#define BYTES_ECT1 0
#define BYTES_ECT0 1
#define BYTES_CE 2

#define SOL_TCP 6
#define TCP_CONGESTION 13

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#endif
