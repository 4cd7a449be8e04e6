//! Digests of the files that a scenario or another TOML document names.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use toml::{Table, Value};

/// Start and factor of FNV-1a with 64 bits.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// Returns a digest of the content of each regular file that a text in the document names: recordings, delays, tables of
/// rules (`remy[file=PATH]`), files for Linux hosts (`FILE:PLACE`). Names are as written, and relative to `folder`
/// if the file exists there. A file that cannot be read has no digest: its reader reports the error.
pub fn named_files(document: &Table, folder: Option<&Path>) -> BTreeMap<String, u64> {
    let mut digests = BTreeMap::new();
    for value in document.values() {
        collect(value, folder, &mut digests);
    }
    digests
}

fn collect(value: &Value, folder: Option<&Path>, digests: &mut BTreeMap<String, u64>) {
    match value {
        Value::String(text) => {
            for name in names_in(text) {
                if !digests.contains_key(name)
                    && let Some(digest) = digest_of(name, folder)
                {
                    digests.insert(name.to_string(), digest);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, folder, digests)),
        Value::Table(table) => table.values().for_each(|value| collect(value, folder, digests)),
        _ => {}
    }
}

/// Returns what may be a file's name in a text: the text, the part before its last colon, and the values of its
/// parameters in brackets.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let before_colon = text.rsplit_once(':').map(|(file, _)| file);
    let parameters = text.split(['[', ']', ',']).skip(1);
    let values = parameters.filter_map(|one| one.split_once('=').map(|(_, value)| value.trim()));
    std::iter::once(text).chain(before_colon).chain(values).filter(|name| !name.is_empty())
}

fn digest_of(name: &str, folder: Option<&Path>) -> Option<u64> {
    let beside = folder.map(|folder| folder.join(name)).filter(|path| path.exists());
    let path = beside.unwrap_or_else(|| name.into());
    // Opening a pipe would wait for its writer.
    if !path.is_file() {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let (mut digest, mut bytes) = (FNV_START, vec![0; 1 << 16]);
    loop {
        match file.read(&mut bytes).ok()? {
            0 => return Some(digest),
            count => {
                for byte in &bytes[..count] {
                    digest = (digest ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_names_of_files_alone_before_a_colon_and_as_parameters() {
        let names = |text| names_in(text).collect::<Vec<_>>();
        assert_eq!(names("ride.down"), ["ride.down"]);
        assert_eq!(names("a/b:/etc/b"), ["a/b:/etc/b", "a/b"]);
        assert_eq!(names("remy[file=t.toml, x=1]")[1..], ["t.toml", "1"]);
        assert!(names("").is_empty());
    }

    #[test]
    fn a_digest_follows_the_content() {
        let folder = std::env::temp_dir().join(format!("paceline-named-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let document: Table = toml::from_str(
            "seed = 1\n[[link]]\ntrace = \"ride.down\"\nname = \"link\"\n[[flow]]\nscheme = \"remy[file=t.toml]\"\n",
        )
        .expect("TOML");
        let digests = || named_files(&document, Some(&folder));
        assert!(digests().is_empty());
        std::fs::write(folder.join("ride.down"), "1\n2\n").expect("written");
        std::fs::write(folder.join("t.toml"), "").expect("written");
        let before = digests();
        assert_eq!(before.keys().collect::<Vec<_>>(), ["ride.down", "t.toml"]);
        std::fs::write(folder.join("ride.down"), "1\n3\n").expect("written");
        let after = digests();
        assert_ne!(before["ride.down"], after["ride.down"]);
        assert_eq!(before["t.toml"], after["t.toml"]);
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
