//! Keys that `[link.wifi]` and `[[medium]]` have alike.

use super::error::ScenarioError;
use super::reader::{Place, Reader};
use super::table::Table;
use crate::scenario::spec::ChannelSpec;

/// Declares a section with [`keys!`](super::keys::keys): the keys in the first braces, those of
/// [`ChannelSpec`], which the section's value has as `channel`,
/// and the keys in the second braces.
macro_rules! keys_with_channel {
    ({ $($before:tt)* } { $($behind:tt)* }) => {
        $crate::scenario::file::keys::keys! {
            $($before)*
            /// 802.11n: maximum number of frames in an A-MPDU
            max_frames: u32, in within(1..=64, "write max_frames = 32") => channel.max_frames;
            /// 802.11n: maximum duration of an A-MPDU, including its preamble
            max_airtime: Span, in within(
                Span::from_micros(100)..=Span::from_millis(10),
                "the standard allows 10 ms; write max_airtime = \"5484us\"",
            ) => channel.max_airtime;
            /// number of stations of other networks that compete for the channel
            contenders: u32,
                in within(0..=100, "write contenders = 3").or("more than {most} contenders")
                => channel.contenders;
            /// mean duration of each of their transmissions
            contender_airtime: Span, in within(
                Span::from_micros(50)..=Span::from_millis(10),
                "write contender_airtime = \"1ms\"",
            ) => channel.contender_airtime;
            /// mean pause between two transmissions of each; with 0 they always have a frame to
            /// send
            contender_gap: Span => channel.contender_gap;
            $($behind)*
        }
    };
}
pub(super) use keys_with_channel;

/// Returns an error if a section has the times of contenders, but not their number.
pub(super) fn check_contenders(
    reader: &Reader<'_>,
    contenders: &impl Place,
    airtime: &impl Place,
    gap: &impl Place,
) -> Result<(), ScenarioError> {
    if contenders.place().is_some() {
        return Ok(());
    }
    let help = "write contenders = 3 beside it, or leave it out";
    reader.needs(("contender_airtime", airtime), "contenders", help)?;
    reader.needs(("contender_gap", gap), "contenders", help)
}

/// Writes the number of contenders where only their times would be written.
pub(super) fn write_contenders(
    channel: &ChannelSpec,
    table: &mut Table,
) -> Result<(), ScenarioError> {
    let usual = ChannelSpec::new(channel.max_frames);
    let has_times = channel.contender_airtime != usual.contender_airtime
        || channel.contender_gap != usual.contender_gap;
    match channel.contenders {
        0 if has_times => table.put("contenders", &0_u32),
        _ => Ok(()),
    }
}
