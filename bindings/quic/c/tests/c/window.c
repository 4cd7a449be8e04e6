/*
 * A sender with a fixed window, as a stack: the smallest useful pair of machines. The client sends
 * numbered packets, the server acknowledges each one, and what is not acknowledged for three round
 * trips is sent again.
 *
 * window run SCENARIO_FILE WINDOW   runs a scenario whose flow names c:window, and prints the result
 * window suite WINDOW CASES FORMAT  runs cases of the suite
 * window mistakes                   makes every mistake that the library reports
 */
#include <paceline_quic.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096     /* largest window in packets */
#define BUFFER 262144 /* bytes that the client takes before they are sent */
#define HEADER 9      /* kind and number */
#define NUMBERS (1 << 22)

typedef struct packet {
  uint64_t number, sent_at;
  size_t length;
  int is_used, is_sent;
} packet;

/* How a machine is broken, for the tests of errors. */
typedef enum fault { NO_FAULT, FAILS, STUCK_TIMER, TOO_LARGE, WRONG_ECN, LONG, LONG_SEGMENT, ENDLESS, SMALL_BUFFER } fault;

typedef struct machine {
  int is_client, wants_hello, is_established, is_reset;
  size_t datagram, window;
  uint64_t rtt, waiting, next, sent, lost, hello_at;
  packet packets[MOST];
  /* At the server: numbers that have arrived, bytes that were not read, acknowledgements to send. */
  uint8_t *seen;
  uint64_t unread, acks[MOST];
  size_t ack_count;
  fault fault;
} machine;

typedef struct context {
  size_t window;
  fault fault;
  int make_fails;
  int living; /* machines that were made and not destroyed */
} context;

static context *the_context;

static uint64_t rto(const machine *m) { return m->rtt ? 3 * m->rtt : 1000000000; }

static void put(uint8_t *place, char kind, uint64_t number) {
  place[0] = (uint8_t)kind;
  memcpy(place + 1, &number, 8);
}

static void connect_(void *self, uint64_t now) {
  machine *m = self;
  m->wants_hello = 1;
  m->hello_at = now;
}

static int is_established(void *self) { return ((machine *)self)->is_established; }

static uint64_t timeout_(void *self) {
  machine *m = self;
  uint64_t first = PACELINE_NEVER;
  size_t i;
  if (m->fault == STUCK_TIMER) return PACELINE_START;
  if (m->is_client && !m->is_established) return m->hello_at + rto(m);
  for (i = 0; i < m->window; i++)
    if (m->packets[i].is_used && m->packets[i].is_sent && m->packets[i].sent_at + rto(m) < first)
      first = m->packets[i].sent_at + rto(m);
  return first;
}

static void on_timeout(void *self, uint64_t now) {
  machine *m = self;
  size_t i;
  if (m->is_client && !m->is_established) {
    m->wants_hello = 1;
    m->hello_at = now;
    return;
  }
  for (i = 0; i < m->window; i++) {
    packet *p = &m->packets[i];
    if (p->is_used && p->is_sent && p->sent_at + rto(m) <= now) {
      p->is_sent = 0;
      m->lost++;
    }
  }
}

static void on_datagram(void *self, uint64_t now, int ecn, const uint8_t *bytes, size_t length,
                        uint8_t *answer, size_t capacity, paceline_transmission *sent) {
  machine *m = self;
  uint64_t number;
  size_t i;
  (void)ecn;
  if (length < HEADER) return;
  memcpy(&number, bytes + 1, 8);
  if (bytes[0] == 'h' && !m->is_client && capacity >= HEADER) {
    m->is_established = 1;
    put(answer, 'H', number);
    sent->size = HEADER;
  } else if (bytes[0] == 'H' && m->is_client) {
    if (!m->is_established) m->rtt = now - m->hello_at;
    m->is_established = 1;
  } else if (bytes[0] == 'd' && !m->is_client && number < NUMBERS && m->ack_count < MOST) {
    if (!m->seen[number]) m->unread += length - HEADER;
    m->seen[number] = 1;
    m->acks[m->ack_count++] = number;
  } else if (bytes[0] == 'a' && m->is_client) {
    for (i = 0; i < m->window; i++) {
      packet *p = &m->packets[i];
      if (p->is_used && p->is_sent && p->number == number) {
        m->rtt = (7 * m->rtt + (now - p->sent_at)) / 8;
        p->is_used = 0;
      }
    }
  }
}

static void transmit(void *self, uint64_t now, uint8_t *buffer, size_t capacity,
                     paceline_transmission *sent) {
  machine *m = self;
  size_t i;
  if (capacity < 10 * m->datagram) {
    m->fault = SMALL_BUFFER;
  } else if (m->fault == TOO_LARGE) {
    sent->size = capacity + 1;
  } else if (m->fault == WRONG_ECN) {
    sent->size = 1;
    sent->ecn = 4;
  } else if (m->fault == LONG || m->fault == LONG_SEGMENT) {
    sent->size = m->fault == LONG ? m->datagram + 1 : 2 * m->datagram + 2;
    sent->segment = m->fault == LONG ? 0 : m->datagram + 1;
  } else if (m->fault == ENDLESS) {
    sent->size = 1;
  } else if (m->wants_hello) {
    m->wants_hello = 0;
    put(buffer, 'h', 0);
    sent->size = HEADER;
  } else if (m->ack_count > 0) {
    put(buffer, 'a', m->acks[--m->ack_count]);
    sent->size = HEADER;
  } else if (m->is_client && m->is_established) {
    for (i = 0; i < m->window; i++) {
      packet *p = &m->packets[i];
      if (!p->is_used && m->waiting > 0 && m->next < NUMBERS) {
        p->is_used = 1;
        p->is_sent = 0;
        p->number = m->next++;
        p->length = m->datagram - HEADER;
        if (p->length > m->waiting) p->length = m->waiting;
        m->waiting -= p->length;
      }
      if (p->is_used && !p->is_sent) {
        put(buffer, 'd', p->number);
        memset(buffer + HEADER, 0, p->length);
        p->is_sent = 1;
        p->sent_at = now;
        m->sent++;
        sent->size = HEADER + p->length;
        sent->ecn = PACELINE_ECT0;
        return;
      }
    }
  }
}

static size_t write_(void *self, const uint8_t *bytes, size_t length) {
  machine *m = self;
  size_t room = BUFFER - m->waiting;
  (void)bytes; /* zeros, which this stack does not keep */
  if (length > room) length = room;
  m->waiting += length;
  return length;
}

static void finish(void *self) { (void)self; }

static void reset(void *self) {
  machine *m = self;
  size_t i;
  m->waiting = 0;
  for (i = 0; i < m->window; i++) m->packets[i].is_used = 0;
}

static uint64_t read_(void *self) {
  machine *m = self;
  uint64_t unread = m->unread;
  m->unread = 0;
  return unread;
}

static uint64_t rtt(void *self) { return ((machine *)self)->rtt; }

static void stats(void *self, paceline_machine_stats *stats) {
  machine *m = self;
  stats->cwnd = m->window * m->datagram;
  stats->mtu = (uint16_t)m->datagram;
  stats->sent = m->sent;
  stats->lost = m->lost;
}

static const char *failure(void *self) {
  if (((machine *)self)->fault == SMALL_BUFFER) return "a buffer for less than ten datagrams";
  return ((machine *)self)->fault == FAILS ? "the machine is tired" : NULL;
}

static void destroy(void *self) {
  machine *m = self;
  the_context->living--;
  free(m->seen);
  free(m);
}

static const paceline_machine_calls CALLS = {
    connect_, is_established, timeout_, on_timeout, on_datagram, transmit, write_,
    finish,   reset,          read_,    rtt,        stats,       failure,  destroy};

static machine *make_one(const context *context, const paceline_setup *setup, int is_client) {
  machine *m = calloc(1, sizeof(machine));
  if (!m) return NULL;
  m->is_client = is_client;
  m->datagram = setup->datagram_size;
  m->window = context->window;
  m->fault = is_client ? context->fault : NO_FAULT;
  m->seen = is_client ? NULL : calloc(1, NUMBERS);
  return m;
}

static int make(void *self, const paceline_setup *setup, void **client, void **server) {
  context *context = self;
  if (context->make_fails) return 7;
  *client = make_one(context, setup, 1);
  *server = make_one(context, setup, 0);
  context->living += 2;
  return *client && *server ? 0 : 1;
}

static char *file(const char *path) {
  static char text[65536];
  FILE *from = fopen(path, "r");
  size_t length;
  if (!from) return NULL;
  length = fread(text, 1, sizeof text - 1, from);
  fclose(from);
  text[length] = 0;
  return text;
}

/* Prints the status and the result of a call, and frees the result. */
static void show(const char *what, int status, char *result) {
  printf("%s: %d: %s\n", what, status, result ? result : "nothing");
  paceline_free(result);
}

/* C does not say which argument is evaluated first: the call comes before its result is passed. */
#define SHOW(what, call) (status = (call), show(what, status, result))

static const char SCENARIO[] =
    "duration = \"2s\"\n[[link]]\nname = \"link\"\nrate = \"12Mbps\"\n"
    "[[flow]]\nscheme = \"c:window\"\npath = [\"link\"]\nrtt = \"100ms\"\n";

static void mistakes(paceline_stack stack, context *context) {
  char *result = NULL;
  int status;
  paceline_machine_calls calls = CALLS;
  paceline_stack other = stack;
  paceline_suite suite = {0};
  int i;
  static const char *const FAULTS[] = {"none", "fails", "stuck", "large", "ecn",
                                       "long", "segment", "endless"};
  SHOW("no scenario", paceline_run_scenario(&stack, 1, NULL, &result));
  SHOW("no stacks", paceline_run_scenario(NULL, 1, SCENARIO, &result));
  SHOW("wrong scenario", paceline_run_scenario(NULL, 0, "duration = 1", &result));
  SHOW("unknown stack", paceline_run_scenario(NULL, 0, SCENARIO, &result));
  printf("no result: %d\n", paceline_run_scenario(&stack, 1, SCENARIO, NULL));
  SHOW("no stack", paceline_run_suite(NULL, NULL, &result));
  other.label = NULL;
  SHOW("no label", paceline_run_suite(&other, NULL, &result));
  other = stack, other.calls = NULL;
  SHOW("no calls", paceline_run_suite(&other, NULL, &result));
  other = stack, other.make = NULL;
  SHOW("no make", paceline_run_suite(&other, NULL, &result));
  other = stack, other.calls = &calls, calls.rtt = NULL;
  SHOW("no rtt", paceline_run_suite(&other, NULL, &result));
  suite.cases = "startup,nonsense";
  SHOW("no case", paceline_run_suite(&stack, &suite, &result));
  suite.cases = "startup", suite.runs = 1, suite.format = 9;
  SHOW("no format", paceline_run_suite(&stack, &suite, &result));
  suite.format = 0, suite.aim = 2;
  SHOW("no aim", paceline_run_suite(&stack, &suite, &result));
  suite.aim = 0, suite.baseline = "{";
  SHOW("no baseline", paceline_run_suite(&stack, &suite, &result));
  context->make_fails = 1;
  SHOW("make fails", paceline_run_scenario(&stack, 1, SCENARIO, &result));
  context->make_fails = 0;
  for (i = FAILS; i <= ENDLESS; i++) {
    context->fault = (fault)i;
    SHOW(FAULTS[i], paceline_run_scenario(&stack, 1, SCENARIO, &result));
  }
  /* The optional function may be missing. */
  context->fault = NO_FAULT;
  calls = CALLS, calls.failure = NULL;
  printf("no failure: %d\n", paceline_run_scenario(&other, 1, SCENARIO, NULL));
  paceline_free(NULL);
}

int main(int argc, char **argv) {
  static context context = {20, NO_FAULT, 0, 0};
  paceline_stack stack = {"window", &CALLS, &context, make};
  char *result = NULL;
  int status = 0;
  the_context = &context;
  if (argc == 4 && !strcmp(argv[1], "run")) {
    context.window = (size_t)atoi(argv[3]);
    status = paceline_run_scenario(&stack, 1, file(argv[2]), &result);
  } else if (argc == 5 && !strcmp(argv[1], "suite")) {
    paceline_suite suite = {0};
    context.window = (size_t)atoi(argv[2]);
    suite.cases = argv[3];
    suite.runs = 1;
    suite.format = atoi(argv[4]);
    status = paceline_run_suite(&stack, &suite, &result);
  } else if (argc == 2 && !strcmp(argv[1], "mistakes")) {
    mistakes(stack, &context);
  } else {
    return 64;
  }
  if (result) printf("%s\n", result);
  paceline_free(result);
  if (context.living != 0) {
    fprintf(stderr, "%d machines were not destroyed\n", context.living);
    return 70;
  }
  return status < 0 ? 65 : status;
}
