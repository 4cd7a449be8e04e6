/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reports of the TCP sockets of the user's programs, which /init reads from the kernel by inet_diag. */
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>

#include "observe.h"
#include "program.h"
#include "telemetry.h"

#define AF_NETLINK 16
#define IPPROTO_TCP 6
/*
 * States of connections whose set-up is complete and that are not in TIME_WAIT: ESTABLISHED, FIN_WAIT1,
 * FIN_WAIT2, CLOSE_WAIT, LAST_ACK, CLOSING (net/tcp_states.h).
 */
#define STATES (1u << 1 | 1u << 4 | 1u << 5 | 1u << 8 | 1u << 9 | 1u << 11)
#define MAX_REPORTS 64
/* Bytes of struct tcp_info, at most: 6.12 has 248. */
#define MAX_INFO 768

/*
 * Returns the connection to which a socket belongs: the one with the receiver's port, or for other
 * ports the first one with a program. Returns HOST for sockets of the built-in sender and receiver.
 */
static u8 connection_of(u16 local, u16 remote)
{
	u16 port = settings.is_sender ? remote : local;

	for (usize i = 0; i < settings.plan_count; i++)
		if (settings.plans[i].port == port)
			return settings.plans[i].run ? (u8)i : HOST;
	for (usize i = 0; i < settings.plan_count; i++)
		if (settings.plans[i].run)
			return (u8)i;
	return HOST;
}

/* Reports one socket, of which inet_diag's message has `length` bytes. Returns the number of reports. */
static int report(const struct inet_diag_msg *message, usize length)
{
	struct {
		u16 local, remote, info_length;
		u8 info[MAX_INFO];
	} body;
	const u8 *at = (const u8 *)message + NLMSG_ALIGN(sizeof(*message)), *end = (const u8 *)message + length;
	u8 connection;

	body.local = __builtin_bswap16(message->id.idiag_sport);
	body.remote = __builtin_bswap16(message->id.idiag_dport);
	body.info_length = 0;
	connection = connection_of(body.local, body.remote);
	if (connection == HOST)
		return 0;
	while (at + sizeof(struct nlattr) <= end) {
		const struct nlattr *attribute = (const void *)at;
		usize size = attribute->nla_len;

		if (size < sizeof(*attribute) || size > (usize)(end - at))
			break;
		if (attribute->nla_type == INET_DIAG_INFO) {
			size -= sizeof(*attribute);
			body.info_length = (u16)(size < MAX_INFO ? size : MAX_INFO);
			memcpy(body.info, attribute + 1, body.info_length);
		}
		at += NLA_ALIGN(attribute->nla_len);
	}
	if (!body.info_length)
		return 0;
	tell(SOCKET, connection, &body, 6 + body.info_length);
	return 1;
}

/* Reports the sockets of one answer. Returns 0 after the last message, or after an error. */
static int read_answer(const u8 *answer, usize length, int *reports)
{
	const u8 *at = answer, *end = answer + length;

	while (at + sizeof(struct nlmsghdr) <= end) {
		const struct nlmsghdr *head = (const void *)at;

		if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY || head->nlmsg_len < sizeof(*head) ||
		    head->nlmsg_len > (usize)(end - at))
			return 0;
		if (head->nlmsg_len >= NLMSG_LENGTH(sizeof(struct inet_diag_msg)) && *reports < MAX_REPORTS)
			*reports += report(NLMSG_DATA(head), head->nlmsg_len - NLMSG_HDRLEN);
		at += NLMSG_ALIGN(head->nlmsg_len);
	}
	return 1;
}

void sample_programs(void)
{
	static u8 answer[16384] __attribute__((aligned(8)));
	static int diag = -1;
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 request;
	} dump = {
		{ sizeof(dump), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 },
		{ AF_INET, IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), 0, STATES, { 0 } },
	};
	int reports = 0;
	long got;

	if (!has_programs())
		return;
	if (diag < 0)
		diag = (int)sys(socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (diag < 0 || sys(sendto, diag, &dump, sizeof(dump), 0, 0, 0) < 0)
		return;
	/* The kernel answers within sendto and recvfrom: recvfrom does not sleep. */
	do
		got = sys(recvfrom, diag, answer, sizeof(answer), 0, 0, 0);
	while (got > 0 && read_answer(answer, (usize)got, &reports));
}
