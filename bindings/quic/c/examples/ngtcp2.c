/*
 * ngtcp2, whole and unchanged, over Paceline's links: its handshake by GnuTLS, packets, loss
 * recovery, flow control and congestion control, in virtual time. Tried with ngtcp2 0.12.1
 * (Debian's libngtcp2-dev, libngtcp2-crypto-gnutls-dev); versions from 1.0 on have other functions.
 *
 *   cargo build --release -p paceline-quic-c
 *   cc -std=c99 -D_DEFAULT_SOURCE -I bindings/quic/c/include bindings/quic/c/examples/ngtcp2.c \
 *     -L target/release -lpaceline_quic_c -Wl,-rpath,$PWD/target/release -o ngtcp2 \
 *     $(pkg-config --cflags --libs libngtcp2 libngtcp2_crypto_gnutls gnutls)
 *   ./ngtcp2 run SCENARIO.toml          flows name c:ngtcp2-reno, -cubic, -bbr or -bbr2
 *   ./ngtcp2 suite cubic                the whole suite, as a table
 *   ./ngtcp2 suite reno startup,ecn 5   some cases, five runs each
 */
#include <paceline_quic.h>

#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <netinet/in.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Windows larger than any of the simulated paths, so that congestion control limits sending. */
#define WINDOW (256u << 20)
/* Bytes that a client takes before they are sent. */
#define BUFFER (256u << 10)
#define CID_LENGTH 8

static const char PRIORITY[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:-GROUP-ALL:+GROUP-X25519:"
    "%DISABLE_TLS13_COMPAT_MODE";
static const uint8_t ZEROS[65536];
static gnutls_certificate_credentials_t server_credentials, client_credentials;

typedef struct machine {
  ngtcp2_conn *conn;
  ngtcp2_crypto_conn_ref ref;
  gnutls_session_t session;
  ngtcp2_cc_algo algorithm;
  ngtcp2_path path;
  struct sockaddr_in addresses[2];
  int is_client;
  size_t datagram_size;
  uint64_t random;
  /* The client's stream, bytes to send, whether to end it, and whether its end was sent. */
  int64_t stream;
  uint64_t waiting;
  int is_finished, has_sent_end, is_reset, is_delivered;
  /* Bytes that arrived and were not read. */
  uint64_t unread;
  uint64_t sent, lost;
  /* Bytes of the present burst, for pacing. */
  size_t burst;
  char failure[160];
} machine;

static void fail(machine *m, const char *what, int error) {
  if (!m->failure[0]) snprintf(m->failure, sizeof m->failure, "%s: %s", what, ngtcp2_strerror(error));
}

/* xorshift64*, from the run's seed. */
static uint8_t random_byte(machine *m) {
  m->random ^= m->random >> 12;
  m->random ^= m->random << 25;
  m->random ^= m->random >> 27;
  return (uint8_t)((m->random * 0x2545f4914f6cdd1dull) >> 56);
}

static void fill_random(machine *m, uint8_t *place, size_t length) {
  while (length--) *place++ = random_byte(m);
}

/* Callbacks of ngtcp2. */

static void on_rand(uint8_t *place, size_t length, const ngtcp2_rand_ctx *context) {
  fill_random(context->native_handle, place, length);
}

static int on_new_cid(ngtcp2_conn *conn, ngtcp2_cid *cid, uint8_t *token, size_t length, void *self) {
  (void)conn;
  fill_random(self, cid->data, length);
  cid->datalen = length;
  fill_random(self, token, NGTCP2_STATELESS_RESET_TOKENLEN);
  return 0;
}

static int on_stream_data(ngtcp2_conn *conn, uint32_t flags, int64_t stream, uint64_t offset,
                          const uint8_t *data, size_t length, void *self, void *stream_data) {
  machine *m = self;
  (void)flags, (void)offset, (void)data, (void)stream_data;
  m->unread += length;
  ngtcp2_conn_extend_max_stream_offset(conn, stream, length);
  ngtcp2_conn_extend_max_offset(conn, length);
  return 0;
}

static int on_stream_close(ngtcp2_conn *conn, uint32_t flags, int64_t stream, uint64_t error,
                           void *self, void *stream_data) {
  (void)conn, (void)flags, (void)stream, (void)error, (void)stream_data;
  ((machine *)self)->is_delivered = 1;
  return 0;
}

/* ngtcp2 reports lost packets in its log only. */
static void on_log(void *self, uint32_t flags, const void *data, size_t length) {
  static const char EVENT[] = "packet_lost";
  const char *at = data, *end = at + length;
  (void)flags;
  while (at + sizeof EVENT - 1 <= end) {
    if (!memcmp(at, EVENT, sizeof EVENT - 1)) ((machine *)self)->lost++;
    at++;
  }
}

static ngtcp2_conn *conn_of(ngtcp2_crypto_conn_ref *ref) { return ((machine *)ref->user_data)->conn; }

/* Makes the TLS session and the connection; at a server, for the header of a first packet. */
static int open_connection(machine *m, uint64_t now, const ngtcp2_pkt_hd *first) {
  static const gnutls_datum_t PROTOCOL = {(unsigned char *)"paceline", 8};
  ngtcp2_callbacks calls = {0};
  ngtcp2_settings settings;
  ngtcp2_transport_params params;
  ngtcp2_cid own = {0}, other = {0};
  int error;

  calls.client_initial = ngtcp2_crypto_client_initial_cb;
  calls.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb;
  calls.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb;
  calls.encrypt = ngtcp2_crypto_encrypt_cb;
  calls.decrypt = ngtcp2_crypto_decrypt_cb;
  calls.hp_mask = ngtcp2_crypto_hp_mask_cb;
  calls.recv_retry = ngtcp2_crypto_recv_retry_cb;
  calls.update_key = ngtcp2_crypto_update_key_cb;
  calls.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb;
  calls.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
  calls.get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb;
  calls.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
  calls.rand = on_rand;
  calls.get_new_connection_id = on_new_cid;
  calls.recv_stream_data = on_stream_data;
  calls.stream_close = on_stream_close;

  ngtcp2_settings_default(&settings);
  settings.initial_ts = now;
  settings.cc_algo = m->algorithm;
  settings.max_tx_udp_payload_size = m->datagram_size;
  settings.no_tx_udp_payload_size_shaping = 1;
  settings.no_pmtud = 1;
  settings.handshake_timeout = UINT64_MAX;
  settings.rand_ctx.native_handle = m;
  settings.qlog.write = on_log;

  ngtcp2_transport_params_default(&params);
  params.initial_max_stream_data_uni = WINDOW;
  params.initial_max_data = WINDOW;
  params.initial_max_streams_uni = 1;
  params.max_idle_timeout = 30 * NGTCP2_SECONDS;

  gnutls_init(&m->session, m->is_client ? GNUTLS_CLIENT : GNUTLS_SERVER);
  gnutls_priority_set_direct(m->session, PRIORITY, NULL);
  gnutls_session_set_ptr(m->session, &m->ref);
  gnutls_alpn_set_protocols(m->session, &PROTOCOL, 1, 0);
  own.datalen = CID_LENGTH;
  fill_random(m, own.data, CID_LENGTH);
  if (m->is_client) {
    ngtcp2_crypto_gnutls_configure_client_session(m->session);
    gnutls_credentials_set(m->session, GNUTLS_CRD_CERTIFICATE, client_credentials);
    other.datalen = NGTCP2_MIN_INITIAL_DCIDLEN;
    fill_random(m, other.data, other.datalen);
    error = ngtcp2_conn_client_new(&m->conn, &other, &own, &m->path, NGTCP2_PROTO_VER_V1, &calls,
                                   &settings, &params, NULL, m);
  } else {
    ngtcp2_crypto_gnutls_configure_server_session(m->session);
    gnutls_credentials_set(m->session, GNUTLS_CRD_CERTIFICATE, server_credentials);
    params.original_dcid = first->dcid;
    settings.qlog.odcid = first->dcid;
    error = ngtcp2_conn_server_new(&m->conn, &first->scid, &own, &m->path, first->version, &calls,
                                   &settings, &params, NULL, m);
  }
  if (error) {
    fail(m, "no connection", error);
    return error;
  }
  ngtcp2_conn_set_tls_native_handle(m->conn, m->session);
  return 0;
}

/* The functions that Paceline calls. */

static void connect_(void *self, uint64_t now) { open_connection(self, now, NULL); }

static int is_established(void *self) {
  machine *m = self;
  return m->conn && ngtcp2_conn_get_handshake_completed(m->conn);
}

static uint64_t timeout_(void *self) {
  machine *m = self;
  return m->conn && !m->failure[0] ? ngtcp2_conn_get_expiry(m->conn) : PACELINE_NEVER;
}

static void on_timeout(void *self, uint64_t now) {
  machine *m = self;
  int error = m->conn ? ngtcp2_conn_handle_expiry(m->conn, now) : 0;
  if (error) fail(m, "a timer ended the connection", error);
}

static void on_datagram(void *self, uint64_t now, int ecn, const uint8_t *datagram, size_t length,
                        uint8_t *answer, size_t capacity, paceline_transmission *sent) {
  machine *m = self;
  ngtcp2_pkt_info info = {0};
  ngtcp2_pkt_hd first;
  int error;
  (void)answer, (void)capacity, (void)sent;
  if (m->failure[0]) return;
  if (!m->conn) {
    if (m->is_client || ngtcp2_accept(&first, datagram, length) || open_connection(m, now, &first)) return;
  }
  info.ecn = (uint32_t)ecn;
  error = ngtcp2_conn_read_pkt(m->conn, &m->path, &info, datagram, length, now);
  if (error) fail(m, "a packet ended the connection", error);
}

static void transmit(void *self, uint64_t now, uint8_t *buffer, size_t capacity,
                     paceline_transmission *sent) {
  machine *m = self;
  ngtcp2_pkt_info info = {0};
  ngtcp2_conn_stat stat;
  ngtcp2_ssize written = 0, taken = -1;
  if (!m->conn || m->failure[0]) return;
  if (m->stream < 0 && m->is_client && m->waiting > 0 && is_established(m))
    ngtcp2_conn_open_uni_stream(m->conn, &m->stream, NULL);
  ngtcp2_conn_get_conn_stat(m->conn, &stat);
  if (capacity > m->datagram_size) capacity = m->datagram_size;
  if (m->burst < stat.send_quantum || m->burst == 0) {
    int has_data = m->stream >= 0 && !m->has_sent_end && !m->is_reset;
    ngtcp2_vec data = {(uint8_t *)ZEROS, m->waiting < sizeof ZEROS ? m->waiting : sizeof ZEROS};
    int is_last = m->is_finished && m->waiting <= sizeof ZEROS;
    uint32_t flags = is_last ? NGTCP2_WRITE_STREAM_FLAG_FIN : NGTCP2_WRITE_STREAM_FLAG_NONE;
    if (has_data && (data.len > 0 || is_last))
      written = ngtcp2_conn_writev_stream(m->conn, NULL, &info, buffer, capacity, &taken, flags,
                                          m->stream, &data, 1, now);
    else
      written = ngtcp2_conn_writev_stream(m->conn, NULL, &info, buffer, capacity, NULL, 0, -1, NULL, 0, now);
    if (written == NGTCP2_ERR_STREAM_DATA_BLOCKED || written == NGTCP2_ERR_STREAM_SHUT_WR)
      written = ngtcp2_conn_writev_stream(m->conn, NULL, &info, buffer, capacity, NULL, 0, -1, NULL, 0, now);
    if (taken >= 0) {
      if (is_last && (uint64_t)taken == m->waiting) m->has_sent_end = 1;
      m->waiting -= (uint64_t)taken;
    }
  }
  if (written < 0) fail(m, "nothing can be sent", (int)written);
  if (written <= 0) {
    if (m->burst > 0) ngtcp2_conn_update_pkt_tx_time(m->conn, now);
    m->burst = 0;
    return;
  }
  m->burst += (size_t)written;
  m->sent++;
  sent->size = (size_t)written;
  sent->ecn = (int)info.ecn;
}

static size_t write_(void *self, const uint8_t *bytes, size_t length) {
  machine *m = self;
  size_t room = m->waiting < BUFFER ? BUFFER - m->waiting : 0;
  (void)bytes; /* zeros, as ZEROS has */
  if (m->failure[0]) return 0;
  if (length > room) length = room;
  m->waiting += length;
  return length;
}

static void finish(void *self) { ((machine *)self)->is_finished = 1; }

static void reset(void *self) {
  machine *m = self;
  m->waiting = 0;
  m->is_reset = m->is_delivered = 1;
  if (m->conn && m->stream >= 0) ngtcp2_conn_shutdown_stream(m->conn, m->stream, 0);
}

static uint64_t read_(void *self) {
  machine *m = self;
  uint64_t unread = m->unread;
  m->unread = 0;
  return unread;
}

static void stats(void *self, paceline_machine_stats *stats) {
  machine *m = self;
  ngtcp2_conn_stat stat;
  if (!m->conn) return;
  ngtcp2_conn_get_conn_stat(m->conn, &stat);
  stats->cwnd = stat.cwnd;
  stats->pacing_bps = (uint64_t)(stat.pacing_rate * 8e9);
  stats->mtu = (uint16_t)m->datagram_size;
  stats->sent = m->sent;
  stats->lost = m->lost;
}

static uint64_t rtt(void *self) {
  machine *m = self;
  ngtcp2_conn_stat stat;
  if (!m->conn) return 0;
  ngtcp2_conn_get_conn_stat(m->conn, &stat);
  return stat.smoothed_rtt;
}

/* The end of an idle connection is no failure after the data has arrived, and at the server. */
static const char *failure(void *self) {
  machine *m = self;
  int is_idle = strstr(m->failure, "IDLE_CLOSE") != NULL;
  return m->failure[0] && !(is_idle && (m->is_delivered || !m->is_client)) ? m->failure : NULL;
}

static void destroy(void *self) {
  machine *m = self;
  if (m->conn) ngtcp2_conn_del(m->conn);
  if (m->session) gnutls_deinit(m->session);
  free(m);
}

static const paceline_machine_calls CALLS = {
    connect_, is_established, timeout_, on_timeout, on_datagram, transmit, write_,
    finish,   reset,          read_,    rtt,        stats,       failure,  destroy};

static machine *make_one(const paceline_setup *setup, ngtcp2_cc_algo algorithm, int is_client) {
  machine *m = calloc(1, sizeof *m);
  int i;
  if (!m) return NULL;
  m->is_client = is_client;
  m->algorithm = algorithm;
  m->datagram_size = setup->datagram_size;
  m->stream = -1;
  m->ref.get_conn = conn_of;
  m->ref.user_data = m;
  memcpy(&m->random, setup->seed + (is_client ? 0 : 8), 8);
  m->random |= 1;
  for (i = 0; i < 2; i++) {
    m->addresses[i].sin_family = AF_INET;
    m->addresses[i].sin_port = htons(4433);
    m->addresses[i].sin_addr.s_addr = htonl(0xc0000201u + (uint32_t)(is_client ? i : 1 - i));
  }
  m->path.local.addr = (ngtcp2_sockaddr *)&m->addresses[0];
  m->path.remote.addr = (ngtcp2_sockaddr *)&m->addresses[1];
  m->path.local.addrlen = m->path.remote.addrlen = sizeof(struct sockaddr_in);
  return m;
}

static int make(void *context, const paceline_setup *setup, void **client, void **server) {
  ngtcp2_cc_algo algorithm = *(const ngtcp2_cc_algo *)context;
  machine *a = make_one(setup, algorithm, 1), *b = make_one(setup, algorithm, 0);
  if (!a || !b) {
    free(a);
    free(b);
    return 1;
  }
  *client = a;
  *server = b;
  return 0;
}

/* Makes a certificate, of Ed25519, whose signatures have one length: so equal runs are equal. */
static int make_certificate(void) {
  gnutls_x509_privkey_t key;
  gnutls_x509_crt_t certificate;
  int ok = gnutls_x509_privkey_init(&key) == 0 && gnutls_x509_crt_init(&certificate) == 0 &&
           gnutls_x509_privkey_generate(key, GNUTLS_PK_EDDSA_ED25519, 256, 0) == 0 &&
           gnutls_x509_crt_set_version(certificate, 3) == 0 &&
           gnutls_x509_crt_set_serial(certificate, "\1", 1) == 0 &&
           gnutls_x509_crt_set_dn(certificate, "CN=paceline.test", NULL) == 0 &&
           gnutls_x509_crt_set_activation_time(certificate, 1000000000) == 0 &&
           gnutls_x509_crt_set_expiration_time(certificate, 2000000000) == 0 &&
           gnutls_x509_crt_set_key(certificate, key) == 0 &&
           gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA512, 0) == 0 &&
           gnutls_certificate_allocate_credentials(&server_credentials) == 0 &&
           gnutls_certificate_allocate_credentials(&client_credentials) == 0 &&
           gnutls_certificate_set_x509_key(server_credentials, &certificate, 1, key) == 0;
  gnutls_x509_crt_deinit(certificate);
  gnutls_x509_privkey_deinit(key);
  return ok;
}

static char *file(const char *path) {
  static char text[1 << 20];
  FILE *from = fopen(path, "r");
  size_t length;
  if (!from) return NULL;
  length = fread(text, 1, sizeof text - 1, from);
  fclose(from);
  text[length] = 0;
  return text;
}

int main(int argc, char **argv) {
  static const char *const NAMES[] = {"reno", "cubic", "bbr", "bbr2"};
  static const char *const LABELS[] = {"ngtcp2-reno", "ngtcp2-cubic", "ngtcp2-bbr", "ngtcp2-bbr2"};
  static ngtcp2_cc_algo algorithms[] = {NGTCP2_CC_ALGO_RENO, NGTCP2_CC_ALGO_CUBIC,
                                        NGTCP2_CC_ALGO_BBR, NGTCP2_CC_ALGO_BBR2};
  paceline_stack stacks[4];
  char *result = NULL;
  int status = PACELINE_ERROR, i;
  if (!make_certificate()) {
    fprintf(stderr, "GnuTLS makes no certificate\n");
    return 1;
  }
  for (i = 0; i < 4; i++) {
    stacks[i].label = LABELS[i];
    stacks[i].calls = &CALLS;
    stacks[i].context = &algorithms[i];
    stacks[i].make = make;
  }
  if (argc == 3 && !strcmp(argv[1], "run")) {
    status = paceline_run_scenario(stacks, 4, file(argv[2]), &result);
  } else if (argc >= 3 && !strcmp(argv[1], "suite")) {
    paceline_suite suite = {0};
    suite.cases = argc > 3 ? argv[3] : NULL;
    suite.runs = argc > 4 ? (uint32_t)atoi(argv[4]) : 0;
    for (i = 0; i < 4; i++)
      if (!strcmp(argv[2], NAMES[i])) {
        suite.aim = i < 2 ? PACELINE_FILLS_BUFFERS : PACELINE_LIMITS_DELAY;
        status = paceline_run_suite(&stacks[i], &suite, &result);
      }
  }
  if (result) printf("%s\n", result);
  else fprintf(stderr, "usage: ngtcp2 run SCENARIO | suite reno|cubic|bbr|bbr2 [CASES [RUNS]]\n");
  paceline_free(result);
  gnutls_certificate_free_credentials(server_credentials);
  gnutls_certificate_free_credentials(client_credentials);
  return status == PACELINE_OK ? 0 : 1;
}
