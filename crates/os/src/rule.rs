//! Policy rules: which packets look for their route in which table (`ip rule`).

use std::io;

use nix::sys::socket::SockProtocol;
use serde::{Deserialize, Serialize};

use crate::RealTimeError;

use super::netlink::{Message, Netlink, attributes, u32_at};

// linux/fib_rules.h
const PRIORITY: u16 = 6;
const MARK: u16 = 10;
const SUPPRESS_PREFIX_LENGTH: u16 = 14;
const TABLE: u16 = 15;
const MARK_MASK: u16 = 16;
const ACTION_TABLE: u8 = 1;
const ACTION_UNREACHABLE: u8 = 7;
const FLAG_INVERT: u32 = 2;
/// The header's table number if the table's own has more than eight bits.
const TABLE_COMPATIBLE: u8 = 252;

/// What a rule does with the packets that it matches.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Looks in the main table, and ignores its default routes.
    MainWithoutDefault,
    /// Looks in this table.
    Table(u32),
    /// Answers that there is no route.
    Unreachable,
}

/// A policy rule.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// True if it matches IPv6; else it matches IPv4.
    pub six: bool,
    /// Its place: rules with lower numbers are asked first.
    pub priority: u32,
    /// The mark of packets that it does not match.
    pub except_mark: Option<u32>,
    /// What it does.
    pub action: Action,
}

/// A policy rule as the kernel lists it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedRule {
    /// Its place.
    pub priority: u32,
    /// The table that it names; 0 for none.
    pub table: u32,
    /// The mark that it matches; 0 for none.
    pub mark: u32,
}

/// The policy rules of the network namespace in which this was opened.
#[derive(Debug)]
pub struct Rules {
    netlink: Netlink,
}

impl Rules {
    /// Opens a socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The system gives no such socket.
    pub fn open() -> Result<Rules, RealTimeError> {
        let netlink = Netlink::open(SockProtocol::NetlinkRoute)
            .map_err(RealTimeError::system("netlink socket for policy rules"))?;
        Ok(Rules { netlink })
    }

    /// Adds a rule; false if the kernel has no rules for this family, as one without IPv6.
    ///
    /// # Errors
    /// The kernel refuses: there is such a rule already, or the right is missing.
    pub fn add(&mut self, rule: &Rule) -> Result<bool, RealTimeError> {
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        match self.netlink.request(rule.message(libc::RTM_NEWRULE, flags)) {
            Ok(()) => Ok(true),
            Err(error) if is_without_family(&error) => Ok(false),
            Err(error) => {
                Err(RealTimeError::system(format!("policy rule {}", rule.priority))(error))
            }
        }
    }

    /// Deletes exactly this rule; false if there is none.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn delete(&mut self, rule: &Rule) -> Result<bool, RealTimeError> {
        match self.netlink.request(rule.message(libc::RTM_DELRULE, libc::NLM_F_ACK)) {
            Ok(()) => Ok(true),
            Err(error)
                if error.raw_os_error() == Some(libc::ENOENT) || is_without_family(&error) =>
            {
                Ok(false)
            }
            Err(error) => {
                Err(RealTimeError::system(format!("deleting policy rule {}", rule.priority))(error))
            }
        }
    }

    /// Returns every rule of a family; none if the kernel lacks the family.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn list(&mut self, six: bool) -> Result<Vec<ListedRule>, RealTimeError> {
        let mut fixed = [0; 12];
        fixed[0] = family(six);
        let message = Message::new(libc::RTM_GETRULE, libc::NLM_F_DUMP, &fixed);
        let mut found = Vec::new();
        let dumped = self.netlink.dump(message, |answer| {
            let mut rule = ListedRule::default();
            for (kind, value) in attributes(answer.body.get(12..).unwrap_or(&[])) {
                match kind {
                    PRIORITY => rule.priority = u32_at(value, 0),
                    TABLE => rule.table = u32_at(value, 0),
                    MARK => rule.mark = u32_at(value, 0),
                    _ => {}
                }
            }
            found.push(rule);
        });
        match dumped {
            Err(error) if !is_without_family(&error) => {
                Err(RealTimeError::system("list of policy rules")(error))
            }
            _ => Ok(found),
        }
    }
}

fn family(six: bool) -> u8 {
    if six { libc::AF_INET6 as u8 } else { libc::AF_INET as u8 }
}

fn is_without_family(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP))
}

impl Rule {
    fn message(&self, kind: u16, flags: i32) -> Message {
        let (action, table) = match self.action {
            Action::MainWithoutDefault => (ACTION_TABLE, u32::from(libc::RT_TABLE_MAIN)),
            Action::Table(table) => (ACTION_TABLE, table),
            Action::Unreachable => (ACTION_UNREACHABLE, 0),
        };
        // `struct fib_rule_hdr`: family, lengths of destination and source, TOS, table, two reserved, action, flags.
        let short = u8::try_from(table).unwrap_or(TABLE_COMPATIBLE);
        let mut fixed = vec![family(self.six), 0, 0, 0, short, 0, 0, action];
        let invert = if self.except_mark.is_some() { FLAG_INVERT } else { 0 };
        fixed.extend(invert.to_ne_bytes());
        let mut message = Message::new(kind, flags, &fixed);
        message.number(PRIORITY, self.priority);
        if table != 0 {
            message.number(TABLE, table);
        }
        if let Some(mark) = self.except_mark {
            message.number(MARK, mark).number(MARK_MASK, u32::MAX);
        }
        if self.action == Action::MainWithoutDefault {
            message.number(SUPPRESS_PREFIX_LENGTH, 0);
        }
        message
    }
}
