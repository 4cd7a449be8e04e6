/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Orders are Ethernet frames of the simulator's with the EtherType of telemetry, in the other direction. */
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include "network.h"
#include "orders.h"

#define AF_PACKET 17
#define ORDER 32

static int orders = -1;

void open_orders(int index)
{
	struct sockaddr_ll own = {
		.sll_family = AF_PACKET,
		.sll_protocol = __builtin_bswap16(TELEMETRY_TYPE),
		.sll_ifindex = index,
	};
	int is_ordered = 0;
	long result;

	for (usize i = 0; i < settings.plan_count; i++)
		is_ordered |= settings.is_sender && settings.plans[i].work == ORDERED;
	if (!is_ordered)
		return;
	/* Protocol 0 until bind(): no frame of another device is received. */
	result = sys(socket, AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	orders = (int)result;
	if (result >= 0)
		result = sys(bind, orders, &own, sizeof(own));
	if (result < 0)
		refuse(HOST, "ordered", "1", result);
	watch(orders, EPOLLIN, ORDERS, 0);
}

void read_orders(void)
{
	u8 frame[ETH_ZLEN + 64];
	long length;

	while ((length = sys(recvfrom, orders, frame, sizeof(frame), 0, 0, 0)) > 0) {
		const u8 *at = frame + ETH_HLEN;
		u64 bytes;

		if (length < ETH_HLEN + 24 || memcmp(at, "PLG1", 4) || at[4] != ORDER)
			continue;
		memcpy(&bytes, at + 16, 8);
		order(at[5], bytes, now());
	}
}
