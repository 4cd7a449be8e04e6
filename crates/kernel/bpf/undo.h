/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Undoes the reaction to a loss that was none. Included after the program's react(). */
#ifndef PACELINE_UNDO_H
#define PACELINE_UNDO_H

#include "sockets.h"

SEC("struct_ops")
u32 BPF_PROG(undo_reaction, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	count(COUNT_UNDONE, 1);
	react(sk, CONGESTION_UNDO);
	return tp->snd_cwnd;
}

#endif
