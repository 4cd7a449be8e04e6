// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What leaves a device goes through a router in a program first: IP packets that are to leave the
 * device go to a TAP device, whose reader is the router; what the router writes there leaves the
 * device at last. The rest, ARP above all, and what is for a group leaves at once: IPv6 asks a group
 * for its neighbours' addresses.
 */
#include <linux/bpf.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "Dual MIT/GPL";

#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define NEXT -1
/* In the first byte of the Ethernet address: for a group of hosts. */
#define GROUP 1

/* The loader says which devices are meant: the one that is routed, and the TAP device. */
const volatile u32 devices[2] SEC(".rodata.devices") = {};

SEC("tcx/egress")
int to_router(struct __sk_buff *skb)
{
	u8 first;

	if (skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6))
		return NEXT;
	if (bpf_skb_load_bytes(skb, 0, &first, 1) || (first & GROUP))
		return NEXT;
	/* It comes from the router. */
	if (skb->ingress_ifindex == devices[1])
		return NEXT;
	return bpf_redirect(devices[1], 0);
}

SEC("tcx/ingress")
int from_router(struct __sk_buff *skb)
{
	/* The kernel finds the next hop and its address on the device. */
	return bpf_redirect_neigh(devices[0], 0, 0, 0);
}
