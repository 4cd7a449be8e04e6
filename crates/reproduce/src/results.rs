//! Results of tasks, by name.

use std::collections::BTreeMap;

use crate::record::Record;

/// The results of an experiment's tasks, by name.
#[derive(Debug, Default)]
pub struct Results(pub(crate) BTreeMap<String, Record>);

impl Results {
    /// Returns a task's result; an empty record if the task was not planned or has failed.
    pub fn get(&self, task: &str) -> &Record {
        static NOTHING: Record = Record { numbers: BTreeMap::new(), series: BTreeMap::new() };
        self.0.get(task).unwrap_or(&NOTHING)
    }
}
