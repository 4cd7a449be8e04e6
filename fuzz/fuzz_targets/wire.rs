//! Congestion headers and reports on the wire: no panic, and accepted ones are
//! written as the same bytes, or not at all if there is no room.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_cc::wire;

fuzz_target!(|bytes: &[u8]| {
    let mut again = [0; wire::LONGEST];
    if let Ok((header, length)) = wire::decode_header(bytes) {
        assert!(wire::encode_header(&header, &mut again[..length - 1]).is_err());
        assert_eq!(again, [0; wire::LONGEST]);
        assert_eq!(wire::encode_header(&header, &mut again), Ok(length));
        assert_eq!(again[..length], bytes[..length], "{header:?}");
    }
    if let Ok((report, length)) = wire::decode_report(bytes) {
        assert!(wire::encode_report(&report, &mut again[..length - 1]).is_err());
        assert_eq!(again, [0; wire::LONGEST]);
        assert_eq!(wire::encode_report(&report, &mut again), Ok(length));
        assert_eq!(again[..length], bytes[..length], "{report:?}");
    }
});
