//! Threads that make simulated runs.

use std::thread::{self, JoinHandle};

use clap::Args;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::host;
use crate::output::Error;

/// The option for the number of threads.
#[derive(Args)]
pub(crate) struct ThreadsArgs {
    /// How many runs at the same time; 0 for one per core
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024), help_heading = "Runs")]
    threads: u16,
}

impl ThreadsArgs {
    /// Starts the threads that were asked for.
    ///
    /// # Errors
    /// As [`Threads::new`].
    pub(crate) fn start(&self) -> Result<Threads, Error> {
        Threads::new(self.threads.into())
    }
}

/// Threads that make simulated runs. They have ended when this is dropped.
pub(crate) struct Threads {
    /// `None` only while this is dropped.
    pool: Option<ThreadPool>,
    running: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Starts this many threads; 0 for one per core.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub(crate) fn new(count: usize) -> Result<Threads, Error> {
        let mut running = Vec::new();
        let pool = ThreadPoolBuilder::new()
            .num_threads(count)
            .spawn_handler(|one| {
                let work = Box::new(move || one.run());
                running.push(thread::Builder::new().spawn(move || host::run_thread(work))?);
                Ok(())
            })
            .build();
        let pool = pool.map_err(|error| Error::Message(format!("no threads to run on: {error}")));
        // After an error, rayon ends the threads that were started.
        Ok(Threads { pool: Some(pool?), running })
    }

    /// Runs `work`, whose parallel parts run on these threads.
    pub(crate) fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // The threads end when the pool is dropped.
        self.pool = None;
        for thread in self.running.drain(..) {
            // A panic in a run has been passed on by the pool.
            let _ = thread.join();
        }
    }
}
