//! Shards: which of a sweep's runs one machine makes.

use std::fmt;
use std::str::FromStr;

/// Part `number` of `of` parts of a sweep, both from 1 on. Its runs are spread evenly over the sweep, so that parts
/// take about equally long.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    of: u32,
}

impl Shard {
    /// The whole sweep.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Number of parts.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Returns true if this part makes the run with this index, from 0 on.
    pub fn has(self, job: u64) -> bool {
        job % u64::from(self.of) == u64::from(self.number - 1)
    }

    /// Returns the name of this part's file without its suffix: `part-1-of-4`.
    pub fn file_stem(self) -> String {
        format!("part-{}-of-{}", self.number, self.of)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let expected = || format!("`{text}`: expected I/N with I from 1 to N, such as 3/100");
        let (number, of) = text.trim().split_once('/').ok_or_else(expected)?;
        let number: u32 = number.trim().parse().map_err(|_| expected())?;
        let of: u32 = of.trim().parse().map_err(|_| expected())?;
        if number == 0 || number > of {
            return Err(expected());
        }
        Ok(Shard { number, of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_all_runs() {
        let shards: Vec<Shard> = (1..=3).map(|number| Shard { number, of: 3 }).collect();
        for job in 0..10 {
            assert_eq!(shards.iter().filter(|shard| shard.has(job)).count(), 1, "{job}");
        }
        assert!((0..10).all(|job| Shard::WHOLE.has(job)));
    }

    #[test]
    fn shards_are_read_as_they_are_written() {
        let shard: Shard = " 3/100 ".parse().expect("a shard");
        assert_eq!(
            (shard.to_string(), shard.file_stem()),
            ("3/100".into(), "part-3-of-100".into())
        );
        for text in ["", "3", "0/4", "5/4", "-1/4", "1/0", "a/b"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
