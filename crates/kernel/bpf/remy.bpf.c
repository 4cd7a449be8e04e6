// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Remy: follows a table of rules, which the loader writes into three maps and a shape. It runs at
 * the sender alone: receiver and network are unchanged.
 *
 * Tables are trained for connections that begin with an empty memory. This program also empties the
 * memory when a connection resumes after a pause longer than its timeout: for the table this is the
 * next period of sending.
 *
 * TCP acknowledges several packets at once. They count as if they had been acknowledged one by one
 * at equal intervals; the rule for the memory after the last packet is applied once per packet.
 */
#include "sockets.h"
#include "remy.h"

char _license[] SEC("license") = "Dual MIT/GPL";

struct remy_socket {
	struct totals totals;
	struct remy remy;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct remy_socket);
} sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct remy_shape);
} remy_shapes SEC(".maps");

/* The loader sets the size of these maps. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} remy_ends SEC(".maps");

struct four_rules {
	u16 rule[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct four_rules);
} remy_cells SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct remy_action);
} remy_actions SEC(".maps");

static __always_inline u64 remy_end(u64 at)
{
	u32 key = at;
	u64 *end = bpf_map_lookup_elem(&remy_ends, &key);

	return end ? *end : NEVER;
}

static __always_inline u64 remy_rule(u64 cell)
{
	u32 key = cell / 4;
	struct four_rules *four = bpf_map_lookup_elem(&remy_cells, &key);

	return four ? four->rule[cell & 3] : REMY_NONE;
}

static __always_inline const struct remy_action *remy_action(u64 rule)
{
	u32 key = rule;

	return bpf_map_lookup_elem(&remy_actions, &key);
}

inline_always const struct remy_shape *shape_of_table(void)
{
	u32 key = 0;

	return bpf_map_lookup_elem(&remy_shapes, &key);
}

inline_always struct remy *find(struct sock *sk)
{
	struct remy_socket *s = bpf_sk_storage_get(&sockets, sk, 0, 0);

	return s ? &s->remy : 0;
}

inline_always void apply(struct remy *r, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	set_window(sk, remy_window(r) * ONE);
	set_pacing(sk, remy_pacing(r, tp->mss_cache));
}

SEC("struct_ops")
void BPF_PROG(remy_start, struct sock *sk)
{
	struct remy_socket *s = bpf_sk_storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	const struct remy_shape *shape = shape_of_table();

	if (!s || !shape) {
		fall_back(sk);
		return;
	}
	__builtin_memset(&s->totals, 0, sizeof(s->totals));
	remy_begin(&s->remy, shape);
	apply(&s->remy, sk);
	count(COUNT_SOCKETS, 1);
}

SEC("struct_ops")
void BPF_PROG(remy_ack, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct remy *r = find(sk);
	const struct remy_shape *shape = shape_of_table();
	struct feedback f;

	if (!r || !shape)
		return;
	tell(&f, sk, rs, flag, TCP_CA_CWR);
	remy_on_feedback(r, shape, &f);
	apply(r, sk);
	count(COUNT_ACKS, 1);
}

/* Counts what the kernel's state machine concludes; the window does not react to it. */
SEC("struct_ops")
void BPF_PROG(remy_state, struct sock *sk, u8 next)
{
	meaning_of(sk, next, TCP_CA_CWR);
}

SEC("struct_ops")
void BPF_PROG(remy_event, struct sock *sk, int event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	const struct remy_shape *shape;
	u64 now = tp->tcp_mstamp;
	struct remy *r;

	if (event != CA_EVENT_TX_START)
		return;
	r = find(sk);
	shape = shape_of_table();
	if (!r || !shape || !r->begun || now <= r->received)
		return;
	if (now - r->received <= (tp->srtt_us >> 3) + tp->rttvar_us)
		return;
	remy_begin(r, shape);
	apply(r, sk);
	count(COUNT_RESTARTS, 1);
}

SEC("struct_ops")
u32 BPF_PROG(remy_undo, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	count(COUNT_UNDONE, 1);
	return tp->snd_cwnd;
}

/* Asks the kernel to send packets one by one. */
SEC("struct_ops")
u32 BPF_PROG(remy_segments, struct sock *sk)
{
	return 1;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops remy = {
	.init = (void *)remy_start,
	.cong_control = (void *)remy_ack,
	.set_state = (void *)remy_state,
	.cwnd_event = (void *)remy_event,
	.ssthresh = (void *)keep_ssthresh,
	.undo_cwnd = (void *)remy_undo,
	.min_tso_segs = (void *)remy_segments,
	.flags = CONG_NON_RESTRICTED,
	.name = "remy",
};
