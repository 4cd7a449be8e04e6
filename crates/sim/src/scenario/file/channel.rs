//! Keys that `[link.wifi]` and `[[medium]]` have alike.

/// Declares a section with [`keys!`](super::keys::keys): the keys in the first braces, those of
/// [`ChannelSpec`](crate::scenario::spec::ChannelSpec), which the section's value has as `channel`,
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
