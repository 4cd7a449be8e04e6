//! Tables of rules in files, published (`.dna`) and readable: no panic, bounded memory, and
//! accepted tables survive both forms.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_remy::{Dna, parse};
use paceline_schemes::remy::{Memory, SIGNALS};

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let extension = ["dna", "toml", "json"][usize::from(kind % 3)];
    let Ok(loaded) = parse(bytes, extension) else { return };
    let _ = loaded.table.rule_for(&Memory::default());
    let _ = loaded.table.rule_for(&Memory { values: [f64::NAN; SIGNALS] });
    // A readable table may have a signal that published files lack; then writing fails.
    if let Ok(written) = loaded.dna.write() {
        let again = Dna::read(&written).expect("its own bytes");
        assert_eq!(again.write(), Ok(written));
    }
    let readable = parse(loaded.readable().to_toml().as_bytes(), "toml").expect("its own form");
    assert!(readable.table == loaded.table);
});
