/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Filter for the egress of a device: marks packets of ABC's sockets as accelerates.
 *
 * Linux sends data as ECT(0), which an ABC router takes for a brake; a congestion control cannot
 * choose ECT(1). This filter turns ECT(0) into ECT(1). It sees a packet before segmentation, so all
 * of its segments get the mark. ABC wants that: every packet starts as an accelerate.
 */
#ifndef PACELINE_ACCELERATE_H
#define PACELINE_ACCELERATE_H

#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define TC_ACT_UNSPEC -1
#define ECN_MASK 3
#define ECT_0 2
#define ECT_1 1

inline_always u16 swapped(u16 value)
{
	return __builtin_bswap16(value);
}

/*
 * Returns the offset of the IP header: 0 behind TUN devices, 14 behind Ethernet; negative if
 * unknown.
 */
inline_always int ip_offset(struct __sk_buff *skb)
{
	u64 there[2] = {}, here[2] = {};

	if (bpf_skb_load_bytes_relative(skb, 0, there, sizeof(there), BPF_HDR_START_NET))
		return -1;
	if (!bpf_skb_load_bytes(skb, 0, here, sizeof(here)) && here[0] == there[0] &&
	    here[1] == there[1])
		return 0;
	if (!bpf_skb_load_bytes(skb, 14, here, sizeof(here)) && here[0] == there[0] &&
	    here[1] == there[1])
		return 14;
	return -1;
}

inline_always int accelerate_ipv4(struct __sk_buff *skb, int at)
{
	u8 old[2], new[2];
	u16 from, to;

	if (bpf_skb_load_bytes(skb, at, old, sizeof(old)) || (old[1] & ECN_MASK) != ECT_0)
		return 0;
	new[0] = old[0];
	new[1] = (old[1] & ~ECN_MASK) | ECT_1;
	__builtin_memcpy(&from, old, 2);
	__builtin_memcpy(&to, new, 2);
	if (bpf_l3_csum_replace(skb, at + 10, from, to, 2))
		return 0;
	return !bpf_skb_store_bytes(skb, at, new, sizeof(new), 0);
}

inline_always int accelerate_ipv6(struct __sk_buff *skb, int at)
{
	u8 byte;

	if (bpf_skb_load_bytes(skb, at + 1, &byte, 1) || ((byte >> 4) & ECN_MASK) != ECT_0)
		return 0;
	byte = (byte & ~(ECN_MASK << 4)) | (ECT_1 << 4);
	return !bpf_skb_store_bytes(skb, at + 1, &byte, 1, 0);
}

SEC("tc")
int accelerate(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	u64 segments = skb->gso_segs > 1 ? skb->gso_segs : 1;
	u16 protocol = swapped(skb->protocol);
	int at, done = 0;

	if (!sk)
		return TC_ACT_UNSPEC;
	sk = bpf_sk_fullsock(sk);
	if (!sk || !bpf_sk_storage_get(&sockets, sk, 0, 0))
		return TC_ACT_UNSPEC;
	at = ip_offset(skb);
	if (at < 0)
		return TC_ACT_UNSPEC;
	if (protocol == ETH_P_IP)
		done = accelerate_ipv4(skb, at);
	else if (protocol == ETH_P_IPV6)
		done = accelerate_ipv6(skb, at);
	if (done)
		count(COUNT_REWRITTEN, segments);
	return TC_ACT_UNSPEC;
}

#endif
