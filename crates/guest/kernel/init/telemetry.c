/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Telemetry frames, sent on a packet socket so that they bypass the queueing disciplines. */
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/reboot.h>

#include "network.h"
#include "telemetry.h"

#define AF_PACKET 17
#define SOL_PACKET 263
/* Frames kept while the device is busy. Only END, ERROR and EXIT may use the last quarter. */
#define KEPT 256
#define RETRY MILLISECOND

struct frame {
	u16 length;
	u8 bytes[ETH_HLEN + 16 + MAX_BODY];
};

static int packets = -1;
static u8 own_mac[6];
static struct frame kept[KEPT];
static usize first, count;

static const u8 magic[4] = { 'P', 'L', 'G', '1' };
static const u8 simulator[6] = { 2, 0, 0, 0, 0, 0xff };

long open_telemetry(int index)
{
	/* Protocol 0: the socket receives nothing. */
	struct sockaddr_ll own = { .sll_family = AF_PACKET, .sll_ifindex = index };
	int one = 1, length = sizeof(own);
	long result = sys(socket, AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (result < 0)
		return result;
	packets = (int)result;
	result = sys(bind, packets, &own, sizeof(own));
	if (!result)
		result = sys(setsockopt, packets, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one));
	if (!result)
		result = sys(getsockname, packets, &own, &length);
	memcpy(own_mac, own.sll_addr, 6);
	return result;
}

/*
 * Returns 1 if the device is busy. A frame that it can never send (longer than its MTU) is dropped.
 */
static int is_busy(const struct frame *frame)
{
	long result = packets < 0 ? -EAGAIN : sys(sendto, packets, frame->bytes, frame->length, 0, 0, 0);

	return result == -EAGAIN || result == -ENOBUFS;
}

void tell(enum kind kind, u8 connection, const void *body, usize length)
{
	struct frame *frame = &kept[(first + count) % KEPT];
	u8 *at = frame->bytes;
	u64 time = now();
	u16 body_length;

	if (count >= (kind == SAMPLE || kind == SOCKET || kind == NOTE ? KEPT * 3 / 4 : KEPT))
		return;
	if (length > MAX_BODY)
		length = MAX_BODY;
	body_length = (u16)length;
	memcpy(at, simulator, 6);
	memcpy(at + 6, own_mac, 6);
	at[12] = TELEMETRY_TYPE >> 8;
	at[13] = TELEMETRY_TYPE & 0xff;
	memcpy(at + 14, magic, 4);
	at[18] = (u8)kind;
	at[19] = connection;
	memcpy(at + 20, &body_length, 2);
	memcpy(at + 22, &time, 8);
	memcpy(at + 30, body, length);
	length += 30;
	if (length < ETH_ZLEN) {
		memset(at + length, 0, ETH_ZLEN - length);
		length = ETH_ZLEN;
	}
	frame->length = (u16)length;
	/* Frames stay in order, so this one goes behind the kept ones. */
	count++;
	flush_telemetry();
}

int telemetry_has_room(void)
{
	return count < KEPT / 2;
}

void tell_text(enum kind kind, u8 connection, const struct text *text)
{
	tell(kind, connection, text->bytes, text->length);
}

u64 flush_telemetry(void)
{
	while (count && !is_busy(&kept[first])) {
		first = (first + 1) % KEPT;
		count--;
	}
	return count && packets >= 0 ? now() + RETRY : NEVER;
}

void power_off(void)
{
	for (;;) {
		sys(reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_POWER_OFF, 0);
		sleep_until(now() + SECOND);
	}
}

void fail(u8 connection, const struct text *problem)
{
	int index = packets < 0 ? find_device() : 0;

	if (index)
		open_telemetry(index);
	/* Also on the console, which is the only way out if there is no device. */
	sys(write, 1, "init: ", 6);
	sys(write, 1, problem->bytes, problem->length);
	sys(write, 1, "\n", 1);
	tell_text(ERROR, connection, problem);
	/*
	 * Sends the kept frames first: the device may be busy, and the simulator must read the frame
	 * before the guest ends.
	 */
	for (int i = 0; i < 1000 && flush_telemetry() != NEVER; i++)
		sleep_until(now() + MILLISECOND);
	sleep_until(now() + MILLISECOND);
	power_off();
}
