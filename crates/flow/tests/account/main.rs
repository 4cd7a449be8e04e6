//! Tests of the account of a connection: scripts of sends and acknowledgements, with the expected
//! answers of the account.
//!
//! A script is a text. Each line is one event:
//!
//! ```text
//! time  event          what the account must answer
//!    0  send 0-4
//!  100  ack 1-2     -> acked 1-2, rtt 100
//!  110  ack 1-3     -> acked 3, lost 0, congestion loss, recovery on
//!  110  again 0 as 5
//! ```
//!
//! Times are milliseconds since the start. Packets are named by their transmission numbers, which
//! count up from 0 with each packet sent; `1-3` are three packets. Packets have 1500 bytes.
//!
//! Events:
//!
//! | event | meaning |
//! | --- | --- |
//! | `send 0-4` | packets with new data leave, and get these numbers |
//! | `again 0 2 as 5 6` | the oldest repairs are those of packets 0 and 2; they leave as 5 and 6 |
//! | `repeat 4 as 5` | the newest packet is 4, and is repeated as 5, for example as a probe |
//! | `beat 5` | a packet without data leaves |
//! | `fill` | as many packets leave as the window allows, repairs first, then new data |
//! | `full` | the window keeps data back |
//! | `open` | no further packet follows the last one, although the window has room |
//! | `idle` | the application has nothing to send |
//! | `window 10` | the controller's window is 10 packets from now on |
//! | `ack 7-9 2-4` | an acknowledgement with these blocks arrives, the newest block first |
//! | `timeout`, `probe`, `loss-timer`, `request` | a deadline is exactly now, and this is its result |
//! | `reconnect 8` | a new connection begins, whose first segment is 8 |
//! | `forget-repairs` | the queued repairs are dropped |
//!
//! The receiver of the script computes which segments have all arrived; `cumulative=2` after the
//! blocks overrides it, for an acknowledgement that was overtaken. `ce=3` is AccECN's counter of
//! marked packets, `ece` the flag of classic ECN.
//!
//! The facts after the arrow are those of `EventOutcome::fact` and `Script::fact`. A loss or a
//! congestion signal that a line does not name is a failure, and so is a deadline that passes
//! without a line of its own.

mod acks;
mod app_limited;
mod corner_cases;
mod corner_cases_of_undo;
mod datagrams;
mod ecn;
mod episodes;
mod fates;
mod loss;
mod model;
mod prr;
mod rack;
mod rate;
mod reconnect;
mod reordering;
mod requests;
mod rtt;
mod script;
mod tail;
mod timeout;
mod undo;
