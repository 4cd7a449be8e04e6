//! Stateless reset (RFC 9000 §10.3): a client learns that its server was restarted and no longer
//! has their connection.
//!
//! The server gives each client a ticket in the handshake's encrypted answer: a nonce, and a token
//! that only the server can compute from the nonce, also after a restart. A client whose packets
//! are not answered sends the nonce in a question. A server without such a connection answers with
//! the token, which proves that it is the same server.

use ring::hmac;

use crate::FormatError;
use crate::bytes::{Reader, Writer};
use crate::key::{Identity, Key, code, random};
use crate::packet::{MAC, QUESTION};

/// The first byte of the answer.
const RESET: u8 = 0x43;
/// Length in bytes of a nonce, and of a token.
const HALF: usize = 16;
/// Length of a question in bytes. It is longer than the answer, so that a forged source address
/// amplifies nothing.
pub(crate) const QUESTION_LENGTH: usize = 1 + 4 + 4 + HALF + MAC;
/// Length of an answer in bytes.
const RESET_LENGTH: usize = 1 + 4 + HALF;
/// Label of the codes of questions, which keeps them apart from those of other datagrams.
const QUESTION_CODE: &[u8] = b"paceline reset question";

/// A nonce and the token that the server answers to it after a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResetTicket {
    nonce: [u8; HALF],
    token: [u8; HALF],
}

impl ResetTicket {
    pub(crate) fn write(&self, writer: &mut Writer<'_>) -> Result<(), FormatError> {
        writer.put(&self.nonce)?;
        writer.put(&self.token)
    }
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<ResetTicket, FormatError> {
        Ok(ResetTicket { nonce: reader.array("a nonce")?, token: reader.array("a token")? })
    }
}

/// The client's half: writes the question and checks the answer.
pub(crate) struct ResetQuestion {
    key: hmac::Key,
    ticket: ResetTicket,
}

impl ResetQuestion {
    pub(crate) fn new(key: &Key, ticket: ResetTicket) -> ResetQuestion {
        ResetQuestion { key: key.mac(QUESTION_CODE), ticket }
    }

    /// Writes the question for the connection of the identifiers `server` and `client`. Returns its
    /// length.
    pub(crate) fn write(&self, server: u32, client: u32, bytes: &mut [u8]) -> Option<usize> {
        let mut writer = Writer::new(bytes);
        writer.u8(QUESTION).ok()?;
        // At the place of the receiver's identifier in transport packets: from it the kernel's
        // filter reads the loop's number.
        writer.u32(server).ok()?;
        writer.u32(client).ok()?;
        writer.put(&self.ticket.nonce).ok()?;
        let end = writer.len();
        let mac = code(&self.key, bytes.get(..end)?);
        bytes.get_mut(end..end + MAC)?.copy_from_slice(&mac);
        Some(end + MAC)
    }

    /// Returns true if `bytes` are the server's answer to the client of this identifier.
    pub(crate) fn is_answered(&self, client: u32, bytes: &[u8]) -> bool {
        let mut reader = Reader::new(bytes);
        let is_ours = reader.u8("the kind") == Ok(RESET) && reader.u32("a receiver") == Ok(client);
        // Compares codes of the tokens, in constant time.
        is_ours
            && bytes.len() == RESET_LENGTH
            && hmac::verify(&self.key, reader.rest(), &code(&self.key, &self.ticket.token)).is_ok()
    }
}

/// The server's half: makes tickets and answers questions. Its secret is derived from the private
/// key, so that it is unchanged after a restart.
pub(crate) struct ResetSecret {
    secret: hmac::Key,
    question: hmac::Key,
}

impl ResetSecret {
    pub(crate) fn new(identity: &Identity) -> ResetSecret {
        let private = hmac::Key::new(hmac::HMAC_SHA256, &identity.private);
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &code(&private, b"paceline reset secret"));
        ResetSecret { secret, question: identity.key().mac(QUESTION_CODE) }
    }

    fn token(&self, nonce: [u8; HALF], server: u32, client: u32) -> [u8; HALF] {
        let mut context = hmac::Context::with_key(&self.secret);
        context.update(&nonce);
        context.update(&server.to_be_bytes());
        context.update(&client.to_be_bytes());
        context.sign().as_ref().first_chunk().copied().unwrap_or_default()
    }

    /// Returns the ticket for the connection with these identifiers. `None` if the system gives no
    /// random numbers.
    pub(crate) fn ticket(&self, server: u32, client: u32) -> Option<ResetTicket> {
        let nonce = random().ok()?;
        Some(ResetTicket { nonce, token: self.token(nonce, server, client) })
    }

    /// Returns the answer to a question. `None` if `bytes` are not a question from an owner of the
    /// server's key string, or if the server still has the connection: `has` gets the identifiers
    /// of the server's end and of the client's.
    pub(crate) fn answer(&self, bytes: &[u8], has: impl Fn(u32, u32) -> bool) -> Option<Vec<u8>> {
        if bytes.first() != Some(&QUESTION) || bytes.len() != QUESTION_LENGTH {
            return None;
        }
        let (covered, mac) = bytes.split_last_chunk::<MAC>()?;
        hmac::verify(&self.question, covered, mac).ok()?;
        let mut reader = Reader::new(covered.get(1..)?);
        let (server, client) = (reader.u32("the server").ok()?, reader.u32("the client").ok()?);
        let nonce = reader.array("a nonce").ok()?;
        if has(server, client) {
            return None;
        }
        let mut answer = vec![RESET];
        answer.extend(client.to_be_bytes());
        answer.extend(self.token(nonce, server, client));
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_server_without_the_connection_answers() {
        let identity = Identity::generate().expect("random numbers");
        let before = ResetSecret::new(&identity);
        let ticket = before.ticket(7, 9).expect("random numbers");
        let client = ResetQuestion::new(identity.key(), ticket);
        let mut question = [0; 100];
        let length = client.write(7, 9, &mut question).expect("room");
        let question = &question[..length];
        // A second process with the same keys answers, too.
        let again = Identity::parse(&identity.to_text()).expect("an identity");
        let after = ResetSecret::new(&again);
        let answer = after.answer(question, |_, _| false).expect("an answer");
        assert!(client.is_answered(9, &answer) && answer.len() < question.len());
        assert!(!client.is_answered(8, &answer));
        for at in 0..answer.len() {
            let mut wrong = answer.clone();
            wrong[at] ^= 1;
            assert!(!client.is_answered(9, &wrong) && !client.is_answered(9, &answer[..at]));
        }
        assert_eq!(after.answer(question, |server, client| (server, client) == (7, 9)), None);
        for at in 0..question.len() {
            let mut wrong = question.to_vec();
            wrong[at] ^= 1;
            assert_eq!(after.answer(&wrong, |_, _| false), None, "byte {at}");
            assert_eq!(after.answer(&question[..at], |_, _| false), None);
        }
        // A server with other keys does not answer, nor does one with this private key and another
        // shared secret.
        let other = Identity::generate().expect("random numbers");
        assert_eq!(ResetSecret::new(&other).answer(question, |_, _| false), None);
        // An owner of the key string without the private key, who asks about other connections,
        // gets no valid token.
        let forged = ResetQuestion::new(identity.key(), ResetTicket::default());
        let mut place = [0; 100];
        let length = forged.write(7, 9, &mut place).expect("room");
        let answer = after.answer(&place[..length], |_, _| false).expect("an answer");
        assert!(!client.is_answered(9, &answer));
    }
}
