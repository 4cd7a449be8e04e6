//! Title and description of a drawing, which its files keep.

use svg2pdf::usvg::roxmltree::{Document, Node};

/// Title and description of a drawing; empty where it has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) title: String,
    pub(crate) description: String,
}

impl About {
    /// Returns the `<title>` and the `<desc>` of an SVG file.
    pub(crate) fn of(svg: &str) -> About {
        let Ok(document) = Document::parse(svg) else { return About::default() };
        let text = |name: &str| {
            let is_named = |node: &Node<'_, '_>| node.tag_name().name() == name;
            let found = document.root_element().children().find(is_named);
            found.and_then(|node| node.text()).unwrap_or_default().to_string()
        };
        About { title: text("title"), description: text("desc") }
    }

    /// Adds the texts to a PNG file, behind its header.
    pub(crate) fn in_png(&self, png: Vec<u8>) -> Vec<u8> {
        // Signature of 8 bytes, then the header's chunk: length, name, 13 bytes, checksum.
        const HEADER_END: usize = 8 + 12 + 13;
        let texts = [("Title", &self.title), ("Description", &self.description)];
        let chunks: Vec<u8> = texts
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .flat_map(|(name, text)| text_chunk(name, text))
            .collect();
        let mut all = png;
        if all.len() >= HEADER_END {
            all.splice(HEADER_END..HEADER_END, chunks);
        }
        all
    }
}

/// Returns a chunk with a text in UTF-8 (PNG specification, `iTXt`): uncompressed, without a language.
fn text_chunk(name: &str, text: &str) -> Vec<u8> {
    let mut chunk = b"iTXt".to_vec();
    chunk.extend(name.as_bytes());
    chunk.extend([0; 5]);
    chunk.extend(text.as_bytes());
    let length = u32::try_from(chunk.len() - 4).unwrap_or(0);
    let checksum = crc32(&chunk);
    [&length.to_be_bytes()[..], &chunk, &checksum.to_be_bytes()].concat()
}

/// Returns the checksum of a chunk (PNG specification, annex D).
fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_specification() {
        // The end chunk of every PNG file.
        assert_eq!(crc32(b"IEND"), 0xae42_6082);
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn texts_are_those_of_the_drawing_itself() {
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><title>a &amp; b</title><desc>c</desc>\
                   <g><title>d</title></g></svg>";
        let about = About::of(svg);
        assert_eq!((about.title.as_str(), about.description.as_str()), ("a & b", "c"));
        assert_eq!(About::of("<svg"), About::default());
        assert_eq!(About::default().in_png(vec![1; 40]), vec![1; 40]);
    }
}
