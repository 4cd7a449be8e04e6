//! TCP streams between two networks, compared at both ends.

/// Functions of scripts: `stream` sends bytes over the system's TCP from one network to another, and prints how many
/// arrived if they are equal to those that were sent. Needs python3.
pub(crate) const STREAMS: &str = r#"
cat > $TMPDIR/streams.py <<'END'
import hashlib, random, socket, sys
role, host, port, length = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
family = socket.AF_INET6 if ":" in host else socket.AF_INET
if role == "receive":
    listener = socket.create_server((host, port), family=family)
    listener.settimeout(120)
    stream, _ = listener.accept()
    stream.settimeout(120)
    digest, count = hashlib.sha256(), 0
    while True:
        data = stream.recv(1 << 20)
        if not data:
            break
        digest.update(data)
        count += len(data)
else:
    data = random.Random(port).randbytes(length)
    with socket.create_connection((host, port), timeout=120) as stream:
        # Writes of odd sizes, some of them a single short segment.
        at, sizes = 0, random.Random(7)
        while at < length:
            size = sizes.choice([1, 700, 1369, 5000, 65536, 200000])
            stream.sendall(data[at:at + size])
            at += size
    digest, count = hashlib.sha256(data), length
print(count, digest.hexdigest())
END
# stream FROM TO ADDRESS PORT BYTES: FROM and TO are functions that run a program in a network.
stream() {
    $2 python3 $TMPDIR/streams.py receive $3 $4 0 > $TMPDIR/received & local r=$!
    for i in $(seq 600); do $2 grep -qi ":$(printf %04X $4) 0*:0000 0A " /proc/net/tcp /proc/net/tcp6 && break; sleep 0.1; done
    $1 python3 $TMPDIR/streams.py send $3 $4 $5 > $TMPDIR/sent
    wait $r; cmp $TMPDIR/sent $TMPDIR/received && echo "equal $(cut -d' ' -f1 $TMPDIR/received)"
}
"#;
