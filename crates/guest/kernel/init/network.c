/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sets the network device up through rtnetlink. */
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "network.h"
#include "settings.h"

#define PF_NETLINK 16
#define SOL_NETLINK 270
#define IFF_UP 1

/* The netlink request under construction. */
static union {
	struct nlmsghdr head;
	u8 bytes[1024];
} request;
static union {
	struct nlmsghdr head;
	u8 bytes[4096];
} reply;

static void begin(u16 type, u16 flags, const void *body, usize length)
{
	memset(&request, 0, sizeof(request));
	request.head.nlmsg_len = (u32)NLMSG_LENGTH(length);
	request.head.nlmsg_type = type;
	request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	memcpy(NLMSG_DATA(&request.head), body, length);
}

static void add(u16 type, const void *value, usize length)
{
	struct rtattr *attribute = (void *)(request.bytes + NLMSG_ALIGN(request.head.nlmsg_len));

	attribute->rta_type = type;
	attribute->rta_len = (u16)RTA_LENGTH(length);
	memcpy(RTA_DATA(attribute), value, length);
	request.head.nlmsg_len = NLMSG_ALIGN(request.head.nlmsg_len) + (u32)RTA_ALIGN(attribute->rta_len);
}

/* Returns the kernel's text for an error (NLMSGERR_ATTR_MSG), or null. */
static const char *kernel_words(const struct nlmsgerr *error)
{
	usize used = NLMSG_LENGTH(sizeof(*error));

	if (!(reply.head.nlmsg_flags & NLM_F_ACK_TLVS))
		return 0;
	if (!(reply.head.nlmsg_flags & NLM_F_CAPPED))
		used += NLMSG_ALIGN(error->msg.nlmsg_len) - NLMSG_HDRLEN;
	while (used + sizeof(struct rtattr) <= reply.head.nlmsg_len) {
		const struct rtattr *attribute = (const void *)(reply.bytes + used);

		if (attribute->rta_len < sizeof(*attribute) || used + attribute->rta_len > reply.head.nlmsg_len)
			return 0;
		if (attribute->rta_type == NLMSGERR_ATTR_MSG)
			return RTA_DATA(attribute);
		used += RTA_ALIGN(attribute->rta_len);
	}
	return 0;
}

/*
 * Sends the request and waits for the kernel's answer. Returns 0, or 1 with `value`, `what` and the
 * reason in *problem.
 */
static int ask(int fd, const char *what, const char *value, struct text *problem)
{
	const struct nlmsgerr *error = NLMSG_DATA(&reply.head);
	long result = sys(sendto, fd, &request, request.head.nlmsg_len, 0, 0, 0);
	const char *words;

	if (result >= 0) {
		memset(&reply, 0, sizeof(reply));
		result = sys(recvfrom, fd, &reply, sizeof(reply) - 1, 0, 0, 0);
	}
	if (result >= 0)
		result = reply.head.nlmsg_type == NLMSG_ERROR ? error->error : -EIO;
	if (!result)
		return 0;
	put(problem, what);
	put(problem, value);
	put(problem, ": ");
	put_error(problem, result);
	words = kernel_words(error);
	if (words) {
		put(problem, " (");
		put(problem, words);
		put(problem, ")");
	}
	return 1;
}

/* Returns the index of the device with this name, or 0. */
static int number_of(int fd, const char *name)
{
	struct ifinfomsg link = {};

	begin(RTM_GETLINK, 0, &link, sizeof(link));
	request.head.nlmsg_flags = NLM_F_REQUEST;
	add(IFLA_IFNAME, name, strlen(name) + 1);
	if (sys(sendto, fd, &request, request.head.nlmsg_len, 0, 0, 0) < 0)
		return 0;
	memset(&reply, 0, sizeof(reply));
	if (sys(recvfrom, fd, &reply, sizeof(reply), 0, 0, 0) < 0 || reply.head.nlmsg_type != RTM_NEWLINK)
		return 0;
	return ((const struct ifinfomsg *)NLMSG_DATA(&reply.head))->ifi_index;
}

static void begin_link(int index)
{
	struct ifinfomsg link = { .ifi_index = index };

	begin(RTM_NEWLINK, 0, &link, sizeof(link));
}

static int set_up(int fd, int index, const char *name, struct text *problem)
{
	struct ifinfomsg link = { .ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };

	begin(RTM_NEWLINK, 0, &link, sizeof(link));
	return ask(fd, name, " cannot be set up", problem);
}

static int set_device(int fd, int index, struct text *problem)
{
	u32 mtu = (u32)settings.mtu, length = (u32)settings.txqueuelen;

	begin_link(index);
	add(IFLA_MTU, &mtu, sizeof(mtu));
	if (ask(fd, "pl.mtu", "", problem))
		return 1;
	if (settings.txqueuelen == NEVER)
		return 0;
	begin_link(index);
	add(IFLA_TXQLEN, &length, sizeof(length));
	return ask(fd, "pl.txqueuelen", "", problem);
}

static int set_address(int fd, int index, struct text *problem)
{
	struct ifaddrmsg address = { .ifa_family = AF_INET, .ifa_prefixlen = settings.prefix, .ifa_index = (u32)index };
	struct ndmsg neighbour = { .ndm_family = AF_INET, .ndm_ifindex = index, .ndm_state = NUD_PERMANENT };

	begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &address, sizeof(address));
	add(IFA_LOCAL, settings.address, 4);
	add(IFA_ADDRESS, settings.address, 4);
	if (ask(fd, "pl.address", "", problem) || set_up(fd, index, "eth0", problem))
		return 1;
	begin(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &neighbour, sizeof(neighbour));
	add(NDA_DST, settings.peer, 4);
	add(NDA_LLADDR, settings.peer_mac, 6);
	return ask(fd, "pl.peer_mac", "", problem);
}

static int set_qdisc(int fd, int index, struct text *problem)
{
	struct tcmsg qdisc = { .tcm_family = 0, .tcm_ifindex = index, .tcm_parent = TC_H_ROOT, .tcm_handle = 0x10000 };

	begin(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &qdisc, sizeof(qdisc));
	add(TCA_KIND, settings.qdisc, strlen(settings.qdisc) + 1);
	return ask(fd, "pl.qdisc=", settings.qdisc, problem);
}

int set_network_up(struct text *problem, int *index)
{
	int fd = (int)sys(socket, PF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), one = 1, failed, lo;

	if (fd < 0) {
		put(problem, "rtnetlink: ");
		put_error(problem, fd);
		return 1;
	}
	/* Asks for errors as text, which kernels before 4.12 do not have. */
	sys(setsockopt, fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	lo = number_of(fd, "lo");
	*index = number_of(fd, "eth0");
	if (!*index) {
		put(problem, "eth0: there is no such device: the simulator's device was not accepted, or the kernel lacks VIRTIO_NET or VIRTIO_UML");
		failed = 1;
	} else {
		failed = (lo && set_up(fd, lo, "lo", problem)) || set_device(fd, *index, problem) ||
			 (settings.qdisc && strlen(settings.qdisc) > 32 ? (put(problem, "pl.qdisc: too long"), 1) : 0) ||
			 set_address(fd, *index, problem) || (settings.qdisc && set_qdisc(fd, *index, problem));
	}
	sys(close, fd);
	return failed;
}

int find_device(void)
{
	int fd = (int)sys(socket, PF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), index;
	struct text ignored = { .length = 0 };

	if (fd < 0)
		return 0;
	index = number_of(fd, "eth0");
	if (index && set_up(fd, index, "eth0", &ignored))
		index = 0;
	sys(close, fd);
	return index;
}
