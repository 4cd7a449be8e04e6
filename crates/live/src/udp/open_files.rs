//! How many files a server has open, for all of its senders.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most files that all senders together have open at a server. A process may have 1024 by default.
const MOST: usize = 256;

/// The open files of a server: clones count together.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenFiles(Arc<AtomicUsize>);

/// One open file in the count, until this is dropped.
#[derive(Debug)]
pub(super) struct OpenFile(Arc<AtomicUsize>);

impl OpenFiles {
    /// Counts one more file.
    ///
    /// # Errors
    /// There are too many: the text is for the sender.
    pub(super) fn count(&self) -> Result<OpenFile, String> {
        let more = |count| (count < MOST).then_some(count + 1);
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(OpenFile(Arc::clone(&self.0))),
            Err(_) => {
                Err(format!("{MOST} files are on their way to this receiver; try again later"))
            }
        }
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_for_all_and_given_back() {
        let all = OpenFiles::default();
        let other = all.clone();
        let mut open: Vec<OpenFile> = (0..MOST).filter_map(|_| all.count().ok()).collect();
        assert_eq!(open.len(), MOST);
        assert!(other.count().is_err_and(|text| text.contains("try again later")));
        open.truncate(7);
        assert!(other.count().is_ok());
    }
}
