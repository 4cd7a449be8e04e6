//! Segments in a script: `[ect0] P. 1:1001(1000) ack 1 win 257 <sack 2001:3001,nop,nop>`.

use super::{Options, Segment};

/// Parses a segment: the text after `<` or `>`.
pub(super) fn segment(text: &str) -> Result<Segment, String> {
    let mut segment = Segment::default();
    let mut text = text.trim();
    // The ECN field, and further fields of the IP header that a script may request.
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some(rest) = text.strip_prefix(open) {
            let (field, rest) = rest.split_once(close).ok_or(format!("`{close}` is missing"))?;
            segment.ecn = field.trim().to_string();
            text = rest.trim();
        }
    }
    let (head, options) = match text.split_once('<') {
        None => (text, None),
        Some((head, options)) => (head, Some(options.trim_end().trim_end_matches('>'))),
    };
    let mut words = head.split_whitespace();
    segment.flags = words.next().ok_or("the flags are missing")?.to_string();
    while let Some(word) = words.next() {
        match word {
            "ack" => segment.ack = Some(number(words.next().unwrap_or(""))?),
            "win" => segment.window = Some(number(words.next().unwrap_or(""))?),
            _ => segment.range = range(word)?,
        }
    }
    if let Some(text) = options {
        segment.options = read_options(text)?;
    }
    Ok(segment)
}

/// Parses `1:1001(1000)` or `1:1001`.
fn range(word: &str) -> Result<(u64, u64), String> {
    let word = word.split('(').next().unwrap_or(word);
    let (first, end) = word.split_once(':').ok_or(format!("`{word}` is not understood"))?;
    Ok((number(first)?, number(end)?))
}

fn number(word: &str) -> Result<u64, String> {
    word.trim_end_matches(',').parse().map_err(|_| format!("`{word}` is no number"))
}

fn read_options(text: &str) -> Result<Options, String> {
    let mut options = Options::default();
    for option in text.split(',') {
        let words: Vec<&str> = option.split_whitespace().collect();
        let value = |word: usize| number(words.get(word).copied().unwrap_or(""));
        match words.first().copied().unwrap_or("") {
            "mss" => options.mss = Some(value(1)?),
            "wscale" => options.window_scale = Some(value(1)?.min(14) as u32),
            "sackOK" => options.sack_permitted = true,
            "sack" => {
                for block in &words[1..] {
                    options.sacks.push(range(block)?);
                }
            }
            // `TS val 100 ecr 200`.
            "TS" => options.timestamp = Some((value(2).unwrap_or(0), value(4).unwrap_or(0))),
            _ => {}
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_with_everything() {
        let text = "[ect0] P. 1:1001(1000) ack 7 win 257 <nop,nop,TS val 9 ecr 8,sack 3:5 7:9>";
        let read = segment(text).expect("a segment");
        assert_eq!((read.ecn.as_str(), read.flags.as_str()), ("ect0", "P."));
        assert_eq!((read.range, read.ack, read.window), ((1, 1001), Some(7), Some(257)));
        assert_eq!(read.options.sacks, [(3, 5), (7, 9)]);
        assert_eq!(read.options.timestamp, Some((9, 8)));
    }

    #[test]
    fn a_syn_with_its_options() {
        let read = segment("S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 8>");
        let options = read.expect("a segment").options;
        assert_eq!((options.mss, options.window_scale), (Some(1000), Some(8)));
        assert!(options.sack_permitted && options.sacks.is_empty());
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for text in ["", ". 1:x(0) ack 1", ". 1:1 ack", ". what", "[ect0 . 1:1"] {
            assert!(segment(text).is_err(), "{text}");
        }
    }
}
