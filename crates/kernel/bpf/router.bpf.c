// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Redirects the packets that leave a device through a router in a user program: `to_router` sends
 * IP packets at the device's egress to a TAP device, from which the router reads; `from_router`
 * sends the packets that the router writes there out of the device. All other packets, above all
 * ARP, and multicast leave at once: IPv6 asks for its neighbours' addresses by multicast.
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
/* Bit in the first byte of an Ethernet address that marks a group of hosts. */
#define GROUP 1

/* Set by the loader: index of the device to route, and index of the TAP device. */
const volatile u32 devices[2] SEC(".rodata.devices") = {};

SEC("tcx/egress")
int to_router(struct __sk_buff *skb)
{
	u8 first;

	if (skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6))
		return NEXT;
	if (bpf_skb_load_bytes(skb, 0, &first, 1) || (first & GROUP))
		return NEXT;
	/* This packet comes from the router. */
	if (skb->ingress_ifindex == devices[1])
		return NEXT;
	return bpf_redirect(devices[1], 0);
}

SEC("tcx/ingress")
int from_router(struct __sk_buff *skb)
{
	/* Lets the kernel find the next hop and its Ethernet address. */
	return bpf_redirect_neigh(devices[0], 0, 0, 0);
}
