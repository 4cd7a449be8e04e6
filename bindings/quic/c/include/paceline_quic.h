/*
 * paceline_quic.h: QUIC stacks written in C over Paceline's links, in virtual time.
 *
 * A stack without input and output, such as ngtcp2, picoquic or lsquic, becomes a pair of machines:
 * a client, which sends a flow's data, and a server. Paceline calls the machines with datagrams and
 * times, and sends the datagrams that they write over simulated links. Equal scenarios and seeds
 * give equal runs, if the machines take their random numbers from the seed that they get.
 *
 * Threads. Paceline calls a stack's functions only during paceline_run_scenario or
 * paceline_run_suite, and only on the thread that called it. Different threads may run different
 * stacks at the same time. A stack's functions must not throw C++ exceptions or longjmp out of a
 * call.
 *
 * Time. Times are in nanoseconds of virtual time. They begin with PACELINE_START when the client
 * connects, are equal at both ends, never decrease, and stand still while a machine works.
 *
 * Memory. Paceline reads what a caller passes only during the call, and keeps none of it. A text
 * that a function returns through `result` belongs to the caller, who frees it with paceline_free.
 * A machine that `make` has returned belongs to Paceline, which calls its `destroy` exactly once,
 * before paceline_run_scenario or paceline_run_suite returns. Buffers that a machine's functions
 * get are valid during that call.
 *
 * Errors. A function that returns PACELINE_ERROR has written the reason in words to `result`.
 * No panic of Paceline leaves the library: it is an error, too.
 */
#ifndef PACELINE_QUIC_H
#define PACELINE_QUIC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Virtual time at which the client connects: 1 s, so that times minus short spans are positive. */
#define PACELINE_START UINT64_C(1000000000)
/* The time that never comes. */
#define PACELINE_NEVER UINT64_MAX

/* Results of functions. */
#define PACELINE_OK 0     /* the run was made; of a suite: all bounds hold */
#define PACELINE_MISSED 1 /* of a suite: bounds are missed, or figures are worse than the baseline's */
#define PACELINE_ERROR -1 /* `result` has the reason */

/* ECN fields of datagrams (RFC 3168). */
#define PACELINE_NOT_ECT 0
#define PACELINE_ECT1 1
#define PACELINE_ECT0 2
#define PACELINE_CE 3

/* Datagrams that a machine has written into a buffer, one after the other. */
typedef struct paceline_transmission {
  size_t size;    /* bytes of all of them together; 0 if there are none */
  size_t segment; /* bytes of each but the last; 0 for a single datagram */
  int ecn;        /* their ECN field */
} paceline_transmission;

/* Counters of a connection, and the state of its congestion control. */
typedef struct paceline_machine_stats {
  uint64_t cwnd;       /* congestion window in bytes of UDP payload */
  uint64_t pacing_bps; /* rate that the congestion control computes, in bit/s; 0 if it has none */
  uint64_t sent;       /* packets sent since the start */
  uint64_t lost;       /* packets declared lost since the start */
  uint16_t mtu;        /* largest datagram in bytes of UDP payload */
} paceline_machine_stats;

/* What a flow's machines are made from. */
typedef struct paceline_setup {
  const char *flow;       /* name of the flow, valid during `make` */
  uint16_t datagram_size; /* largest UDP payload in bytes, at least 1200 */
  uint8_t seed[32];       /* seed of the machines' random numbers: equal runs have equal seeds */
} paceline_setup;

/*
 * The functions of a stack's machines. `self` is a pointer that `make` returned. All functions are
 * required, except `failure`.
 */
typedef struct paceline_machine_calls {
  /* Opens the connection, as a client. Called once, at the client only. */
  void (*connect)(void *self, uint64_t now);
  /* Returns nonzero once the handshake is over. */
  int (*is_established)(void *self);
  /* Returns the expiry of the next timer, or PACELINE_NEVER. */
  uint64_t (*timeout)(void *self);
  /* Handles the timers that have expired. Afterwards the next timer expires later than `now`, or
   * the machine has datagrams to send. */
  void (*on_timeout)(void *self, uint64_t now);
  /* Processes a datagram that has arrived. An answer of the endpoint itself, such as a refusal, may
   * be written to `answer`, of `capacity` bytes, and described in `sent`, which is zeroed before. */
  void (*on_datagram)(void *self, uint64_t now, int ecn, const uint8_t *datagram, size_t length,
                      uint8_t *answer, size_t capacity, paceline_transmission *sent);
  /* Writes the datagrams that leave next to `buffer`, of `capacity` bytes (at least ten datagrams),
   * and describes them in `sent`, which is zeroed before: `size` remains 0 if there are none. No
   * datagram is larger than `datagram_size`. Called again until there are none, for at most 100,000
   * datagrams at one time. */
  void (*transmit)(void *self, uint64_t now, uint8_t *buffer, size_t capacity,
                   paceline_transmission *sent);
  /* Writes to the connection's stream, which it opens at the first write. Returns the number of
   * bytes taken, which the machine copies; 0 if it can take no more at present. */
  size_t (*write)(void *self, const uint8_t *bytes, size_t length);
  /* Ends the stream. */
  void (*finish)(void *self);
  /* Resets the stream: bytes that were written but not sent are dropped. */
  void (*reset)(void *self);
  /* Reads all data that has arrived; returns its number of bytes, each counted once. */
  uint64_t (*read)(void *self);
  /* Returns the smoothed RTT in nanoseconds. */
  uint64_t (*rtt)(void *self);
  /* Writes the counters to `stats`, which is zeroed before. */
  void (*stats)(void *self, paceline_machine_stats *stats);
  /* Returns why the connection ended before its data had arrived, as text that is valid until the
   * next call of this machine; NULL while all is well. The run then fails with this text. May be
   * NULL. */
  const char *(*failure)(void *self);
  /* Frees the machine. */
  void (*destroy)(void *self);
} paceline_machine_calls;

/* A stack with a congestion control. */
typedef struct paceline_stack {
  const char *label; /* its name in results; scenarios name it as c:LABEL */
  const paceline_machine_calls *calls;
  void *context; /* passed to `make` */
  /* Makes the machines of a client and of a server for a flow. Returns 0, or another number, which
   * the run's error then names; in that case there are no machines to destroy. */
  int (*make)(void *context, const paceline_setup *setup, void **client, void **server);
} paceline_stack;

/*
 * Runs a scenario, in TOML as for `paceline run`, whose flows may name `count` stacks as
 * scheme = "c:LABEL". Writes the result to `result`: JSON, as `paceline run --json` prints, or the
 * reason for PACELINE_ERROR. With `result` NULL nothing is written.
 */
int paceline_run_scenario(const paceline_stack *stacks, size_t count, const char *scenario,
                          char **result);

/* Purposes of congestion control. */
#define PACELINE_FILLS_BUFFERS 0 /* only loss is a sign of congestion: Cubic, NewReno */
#define PACELINE_LIMITS_DELAY 1  /* keeps queues short in any buffer: BBR, Copa */

/* Formats of a suite's report. */
#define PACELINE_TEXT 0     /* a table */
#define PACELINE_JSON 1     /* docs/quic.md has the fields */
#define PACELINE_JUNIT 2    /* JUnit's XML: a test for each bound */
#define PACELINE_BASELINE 3 /* JSON with the figures, for `baseline` */

/* How the suite is run. Zeroed, it runs all cases for PACELINE_FILLS_BUFFERS and returns a table. */
typedef struct paceline_suite {
  const char *cases;    /* names of cases, separated by commas; NULL for all */
  uint32_t runs;        /* runs of each case; 0 for 5 */
  int aim;              /* purpose of the congestion control */
  int format;           /* format of the report */
  const char *baseline; /* an earlier report as PACELINE_BASELINE, which the verdict is against; or NULL */
} paceline_suite;

/*
 * Runs the suite of congestion control on a stack. Writes the report to `result`, or the reason for
 * PACELINE_ERROR. `suite` NULL is a zeroed one.
 */
int paceline_run_suite(const paceline_stack *stack, const paceline_suite *suite, char **result);

/* Frees a text that a function returned. NULL is ignored. */
void paceline_free(char *text);

/* Returns the library's version; valid for ever, and not to be freed. */
const char *paceline_version(void);

#ifdef __cplusplus
}
#endif

#endif
