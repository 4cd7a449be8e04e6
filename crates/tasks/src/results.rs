//! Records of tasks, by name.

use std::collections::BTreeMap;

use crate::record::Record;

/// The records of a plan's tasks, by name.
#[derive(Debug, Default)]
pub struct Results(BTreeMap<String, Record>);

impl Results {
    /// Adds the record of a task, or replaces it.
    pub fn insert(&mut self, task: &str, record: Record) {
        self.0.insert(task.to_string(), record);
    }

    /// Returns a task's result; an empty record if the task was not planned or has failed.
    pub fn get(&self, task: &str) -> &Record {
        static NOTHING: Record = Record { numbers: BTreeMap::new(), series: BTreeMap::new() };
        self.0.get(task).unwrap_or(&NOTHING)
    }
}
