//! Tests, a module for each subject, in one executable; those of the account and the sender, with many parts, have their own.

mod connections;
mod cwr;
mod receiver;
mod sizes;
mod without_sack;
