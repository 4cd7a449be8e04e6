//! Archives from which a kernel fills its first file system, in the format "newc"
//! (`buffer-format.rst` of the kernel), without times, owners and inodes of the host.

/// File types of `st_mode`.
pub(crate) const FOLDER: u32 = 0o040_000;
pub(crate) const FILE: u32 = 0o100_000;
pub(crate) const LINK: u32 = 0o120_000;
pub(crate) const DEVICE: u32 = 0o020_000;

/// An archive under construction.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// Adds a file, folder, symbolic link or character device. `mode` has its type and permissions;
    /// `content` is the target of a link.
    pub(crate) fn add(&mut self, name: &[u8], mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let name_length = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        let (major, minor) = device;
        let inode = self.entries;
        let fields = [inode, mode, 0, 0, 1, 0, length, 0, 0, major, minor, name_length, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend(name);
        self.bytes.push(0);
        self.pad(4);
        self.bytes.extend(content);
        self.pad(4);
    }

    /// Returns the archive with its last entry.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.add(b"TRAILER!!!", 0, (0, 0), &[]);
        self.pad(512);
        self.bytes
    }

    fn pad(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_begin_at_multiples_of_four() {
        let mut archive = Archive::default();
        archive.add(b"dev", FOLDER | 0o755, (0, 0), &[]);
        archive.add(b"dev/console", DEVICE | 0o600, (5, 1), &[]);
        archive.add(b"init", FILE | 0o755, (0, 0), b"program");
        let archive = archive.finish();
        assert_eq!(archive.len() % 512, 0);
        let text = String::from_utf8_lossy(&archive);
        for name in ["dev/console\0", "init\0", "TRAILER!!!\0"] {
            let at = text.find(name).expect(name);
            assert_eq!(&text[at - 110..at - 104], "070701", "{name}");
            assert_eq!((at - 110) % 4, 0, "{name}");
        }
        let at = text.find("program").expect("the content");
        assert_eq!(at % 4, 0);
        // The content's length is the header's seventh field.
        let head = text.find("init\0").expect("init") - 110;
        assert_eq!(&text[head + 6 + 6 * 8..head + 6 + 7 * 8], "00000007");
    }
}
