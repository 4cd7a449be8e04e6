//! Output of `paceline send` in words.

use paceline_transfer::udp::{FileRow, SentRow};

use crate::output::{self, Error};

/// Most problems that standard error names.
const MOST_NAMED: usize = 20;

/// Returns an error that names the entries that the receiver did not keep, if there are any.
pub(super) fn missing(row: &SentRow) -> Result<(), Error> {
    let name = |file: &FileRow| file.path.clone().unwrap_or_else(|| "standard input".into());
    let files = row.files.iter().filter_map(|file| {
        Some(format!("{}: did not arrive: {}", name(file), file.problem.as_ref()?))
    });
    let within = row.problems.iter().map(|one| format!("{}: {}", one.path, one.problem));
    let mut problems: Vec<String> = files.chain(within).collect();
    if problems.len() > MOST_NAMED {
        let more = problems.split_off(MOST_NAMED).len();
        problems.push(format!("and {more} more (--json names all)"));
    }
    output::all_of(&problems)
}

pub(super) fn words(row: &SentRow) -> String {
    let several = row.files.len() > 1;
    let mut files = String::new();
    for FileRow { path, bytes, kept, .. } in &row.files {
        let name = match path {
            Some(path) if several => format!("{path}: "),
            _ => String::new(),
        };
        if let Some(kept) = kept {
            files += &format!("{name}{bytes} bytes are whole at the receiver ({kept})\n");
        }
    }
    if row.skipped {
        return format!("{files}everything was there before: nothing was sent\n");
    }
    if row.resumed_bytes > 0 {
        files += &format!("{} bytes of this were there before\n", row.resumed_bytes);
    }
    if row.connections > 1 {
        let (count, repeated) = (row.connections, row.repeated_bytes);
        files += &format!("{count} connections, {repeated} bytes sent twice\n");
    }
    format!(
        "{files}{}: {:.2} Mbit/s in {:.2} s; round trip {:.1} ms, 95% {:.1} ms; queues 95% {:.1} ms; \
         {} packets sent, {} lost, {} marked\n",
        row.scheme,
        row.goodput_mbps,
        row.duration_s,
        row.rtt_ms.p50,
        row.rtt_ms.p95,
        row.queue_delay_ms.p95,
        row.sent,
        row.lost,
        row.marks,
    )
}
