//! Units of work that run in parallel, once each, and whose results are kept on disk.
//!
//! A [`Task`] is mostly a simulation. Its [`Record`] has numbers and series by name. [`Work`] runs the
//! tasks of one or several plans: equal tasks run once, and a [`Store`] keeps records by a digest of
//! the task's inputs and the program, so that work which was stopped continues where it was.

mod record;
mod repeat;
mod results;
mod store;
mod task;
mod work;

pub use record::Record;
pub use results::Results;
pub use store::Store;
pub use task::Task;
pub use work::{Progress, Spent, TaskTime, Work, WorkResults};
