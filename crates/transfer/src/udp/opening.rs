//! Opening the store of a receiving end.

use std::net::SocketAddr;
use std::sync::Arc;

use paceline_os::RealTimeError;

use super::events::Event;
use super::progress::Progress;
use super::stop_signal::StopSignal;
use super::store::{DiskLimits, Store, Target};

/// Opens the store at a target and removes what interrupted transfers left that cannot go on. Then
/// reports `listening`, the address of a server, so that whoever waits for it finds a tidy folder;
/// the disk space in use, if it is limited; and the transfers that can go on. `stop` ends threads
/// that wait in the store.
///
/// # Errors
/// The file system returns an error.
pub(super) fn open_store(
    (target, outside_links, disk): (&Target, bool, DiskLimits),
    progress: Option<&Arc<Progress>>,
    stop: &StopSignal,
    listening: Option<SocketAddr>,
    tell: &mut dyn FnMut(Event),
) -> Result<Arc<Store>, RealTimeError> {
    let asked = stop.asked().try_clone_to_owned();
    let asked = asked.map_err(RealTimeError::system("watching for the end"))?;
    let store = Store::new(target.clone(), outside_links, asked).counting(progress).limited(disk);
    let found = store.unfinished();
    if let Some(address) = listening {
        tell(Event::Listening(address));
    }
    if let Some((used, Some(quota))) = store.count()? {
        tell(Event::Room { used, quota });
    }
    match found {
        Ok(found) if found.transfers > 0 => tell(Event::Unfinished(found)),
        // Senders are told of errors of the folder.
        Ok(_) | Err(_) => {}
    }
    Ok(Arc::new(store))
}
